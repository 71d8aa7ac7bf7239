/**
 * A point in time as clients write it: ISO 8601 with an offset (`2026-11-20T08:00:00Z`, `…+01:00`), or Unix seconds.
 * Takes any outside value and returns milliseconds since the Unix epoch, or null if it is not such a time: a missing
 * offset would have to be guessed, and a day that its month does not have is a mistake. Never throws.
 */

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-](\d{2}):?(\d{2}))$/;

/** The last second of the year 9999. */
export const MAX_SECONDS = 253_402_300_799;

/** Milliseconds since the Unix epoch; null = not a point in time. With `digits`, a text of digits counts as seconds. */
export function parseInstant(value: unknown, digits = false): number | null {
  if (typeof value === 'number') {
    return value >= 0 && value <= MAX_SECONDS ? Math.round(value * 1000) : null;
  }
  if (typeof value !== 'string' || value.length > 40) return null;
  const text = value.trim();
  if (digits && /^\d{1,12}$/.test(text)) return parseInstant(Number(text));
  const found = ISO.exec(text);
  if (found === null) return null;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const fraction = Number((found[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const [offsetHours, offsetMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return null;
  const local = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second, fraction);
  const back = new Date(local);
  // Date.UTC does not refuse: it reads the 31st of February as a day in March and the year 99 as 1999.
  if (
    back.getUTCFullYear() !== year ||
    back.getUTCMonth() + 1 !== month ||
    back.getUTCDate() !== day ||
    back.getUTCHours() !== hour ||
    back.getUTCMinutes() !== minute ||
    back.getUTCSeconds() !== second
  ) {
    return null;
  }
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000;
  const at = found[8]?.startsWith('-') === true ? local + offset : local - offset;
  return at >= 0 && at <= MAX_SECONDS * 1000 + 999 ? at : null;
}

/** The day of a time in UTC: `2026-01-31`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
