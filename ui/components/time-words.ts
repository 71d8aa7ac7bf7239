/** How long ago something was and how far ahead it is, in the few words of a list or of a sentence. Pure. */

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const dayText = (atMs: number, nowMs: number): string =>
  (Math.abs(nowMs - atMs) < 300 * 24 * HOUR ? DAY : DATE).format(atMs);

/** `5 min`, `3 h`; null from a day on. A clock that is behind counts as no time. */
function span(ms: number): string | null {
  if (ms >= 24 * HOUR) return null;
  return ms < HOUR ? `${Math.floor(Math.max(0, ms) / MINUTE)} min` : `${Math.floor(ms / HOUR)} h`;
}

/** For a column, or a list beside its rows: `now`, `5 min`, `3 h`, `Nov 21`. */
export function age(atMs: number, nowMs: number): string {
  if (nowMs - atMs < MINUTE) return 'now';
  return span(nowMs - atMs) ?? dayText(atMs, nowMs);
}

/** For a sentence: `just now`, `5 min ago`, `3 h ago`, `Nov 21`. */
export function ago(atMs: number, nowMs: number): string {
  if (nowMs - atMs < MINUTE) return 'just now';
  const words = span(nowMs - atMs);
  return words === null ? dayText(atMs, nowMs) : `${words} ago`;
}

/** Of what goes on: `for < 1 min`, `for 5 min`, `for 3 h`, `since Nov 21`. */
export function since(atMs: number, nowMs: number): string {
  if (nowMs - atMs < MINUTE) return 'for < 1 min';
  const words = span(nowMs - atMs);
  return words === null ? `since ${dayText(atMs, nowMs)}` : `for ${words}`;
}

/** Of what will be: `now` once it is due, `in < 1 min`, `in 4 min`, `in 3 h`, `on Nov 30`. */
export function ahead(atMs: number, nowMs: number): string {
  const left = atMs - nowMs;
  if (left < MINUTE) return left < 0 ? 'now' : 'in < 1 min';
  const minutes = Math.round(left / MINUTE);
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.round(left / HOUR);
  return hours < 24 ? `in ${hours} h` : `on ${dayText(atMs, nowMs)}`;
}
