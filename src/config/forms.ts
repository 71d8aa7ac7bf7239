/**
 * The formats of values: lists, switches, numbers, durations, addresses to listen at. Each reader takes trimmed text
 * and returns the value, or a sentence that says what to write instead. None throws.
 */
import { isIP } from 'node:net';

/** What reading a value gives: the value, or what to write instead. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; fix: string };

/** An address to listen at. */
export interface ListenAddress {
  host: string;
  /** 0 = any free port. */
  port: number;
}

/** A value that is right. */
export function good<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** A value that is wrong, and what to write instead. */
export function bad(fix: string): { ok: false; fix: string } {
  return { ok: false, fix };
}

/** Any URL may contain a user and a password. */
export function withoutUser(text: string): string {
  return text.replace(/:\/\/.*@/s, '://(secret)@');
}

/** Any text that is not empty; `what` names the value in the message. */
export function nonEmpty(text: string, what: string): Parsed<string> {
  return text === '' ? bad(`needs ${what}`) : good(text);
}

/** A name that the operator gave to a node. */
export function isNodeName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
}

/** The name of a file, or `off` = null. */
export function parseFile(text: string): Parsed<string | null> {
  return text === 'off' ? good(null) : nonEmpty(text, 'a file, or off');
}

/** The items of a list, trimmed; none of them empty. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** `host:port`, `[v6]:port` or `:port` (loopback). */
export function parseListen(text: string): Parsed<ListenAddress> {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:\s]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    return bad('use host:port, e.g. 127.0.0.1:8025, or :0 for a free port');
  const host = match[1] ?? match[2] ?? '';
  return good({ host: host === '' ? '127.0.0.1' : host, port });
}

/**
 * Whether the system lets only one of both listen, because the other has its port, at all addresses or at this one: a
 * wildcard of IPv6 takes IPv4 too. Names are not looked up.
 */
export function meet(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const takes = (all: string, one: string) => all === '::' || (all === '0.0.0.0' && isIP(one) === 4);
  return a.host === b.host || takes(a.host, b.host) || takes(b.host, a.host);
}

/** As parseListen, or `off` = null. */
export function parseOptionalListen(text: string): Parsed<ListenAddress | null> {
  return text === 'off' ? good(null) : parseListen(text);
}

/** A host or domain name in ASCII, lower-cased. */
export function domainText(text: string): Parsed<string> {
  return /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text) &&
    text.length <= 253
    ? good(text.toLowerCase())
    : bad('use a host or domain name in ASCII, e.g. mail.example.com');
}

/** A list of networks or addresses; none is an empty list. */
export function parseCidrs(text: string): Parsed<readonly string[]> {
  const list = splitList(text);
  const wrong = list.find((item) => {
    const slash = item.lastIndexOf('/');
    const address = slash < 0 ? item : item.slice(0, slash);
    const bits = slash < 0 ? '0' : item.slice(slash + 1);
    // A zone (`%eth0`) belongs to an address of this machine, not to a network.
    const family = address.includes('%') ? 0 : isIP(address);
    return family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32);
  });
  return wrong === undefined ? good(list) : bad(`"${wrong}" is not a network, e.g. 10.0.0.0/8`);
}

/** `on`, `off` and common other spellings. */
export function parseSwitch(text: string): Parsed<boolean> {
  if (/^(on|true|yes|1)$/i.test(text)) return good(true);
  if (/^(off|false|no|0)$/i.test(text)) return good(false);
  return bad('use on or off');
}

/** A whole number within bounds, both included. */
export function parseInteger(text: string, low: number, high: number): Parsed<number> {
  const n = Number(text);
  return /^\d+$/.test(text) && n >= low && n <= high
    ? good(n)
    : bad(`use a whole number from ${low} to ${high}`);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `250ms`, `10s`, `5m`, `5min`, `72h`, `3d` as milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|min|h|d)$/.exec(text.trim());
  if (match === null) return null;
  return Math.round(Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0));
}

/** A duration within limits, as milliseconds. `range` says the limits and an example, behind "use a duration". */
export function durationWithin(
  text: string,
  {
    leastMs = 0,
    mostMs = Number.POSITIVE_INFINITY,
    range,
  }: { leastMs?: number; mostMs?: number; range: string },
): Parsed<number> {
  const ms = parseDuration(text);
  if (ms !== null && ms >= leastMs && ms <= mostMs) return good(ms);
  const isNumber = /^[\d.]+$/.test(text.trim());
  return bad(isNumber ? `add the unit (ms, s, m, h or d), e.g. ${text.trim()}s` : `use a duration ${range}`);
}

/** At least one duration, as milliseconds. */
export function parseDurations(text: string): Parsed<readonly number[]> {
  const waits: number[] = [];
  for (const item of splitList(text)) {
    const ms = parseDuration(item);
    if (ms === null) return bad(`"${item}" is not a duration; use e.g. 1s,2s,5m`);
    waits.push(ms);
  }
  return waits.length === 0 ? bad('use at least one wait, e.g. 1s,2s,5s') : good(waits);
}
