/** How long ago something was and how far ahead it is, in the few words of a list or of a sentence. Pure. */

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const dayText = (atMs: number, nowMs: number): string =>
  (Math.abs(nowMs - atMs) < 300 * 24 * HOUR ? DAY : DATE).format(atMs);

/** Below this a clock that is read every few seconds could be wrong about the number. */
const JUST_NOW = 10 * SECOND;

/** `12 s`, `5 min`, `3 h`; null from a day on. */
function span(ms: number): string | null {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 24 * HOUR ? `${Math.floor(ms / HOUR)} h` : null;
}

/** For a column, or a list beside its rows: `just now`, `12 s`, `5 min`, `3 h`, `Nov 21`. A clock may be behind. */
export function age(atMs: number, nowMs: number): string {
  if (nowMs - atMs < JUST_NOW) return 'just now';
  return span(nowMs - atMs) ?? dayText(atMs, nowMs);
}

/** For a sentence: `just now`, `12 s ago`, `5 min ago`, `3 h ago`, `Nov 21`. */
export function ago(atMs: number, nowMs: number): string {
  if (nowMs - atMs < JUST_NOW) return 'just now';
  const words = span(nowMs - atMs);
  return words === null ? dayText(atMs, nowMs) : `${words} ago`;
}

/** Of what goes on: `for < 1 min`, `for 5 min`, `for 3 h`, `since Nov 21`. */
export function since(atMs: number, nowMs: number): string {
  if (nowMs - atMs < MINUTE) return 'for < 1 min';
  const words = span(nowMs - atMs);
  return words === null ? `since ${dayText(atMs, nowMs)}` : `for ${words}`;
}

/** Of what is planned: `in < 1 min`, `in 4 min`, `in 3 h`, `on Nov 30`, and what `ago` says once it is past. */
export function ahead(atMs: number, nowMs: number): string {
  const left = atMs - nowMs;
  if (left < 0) return ago(atMs, nowMs);
  if (left < MINUTE) return 'in < 1 min';
  const minutes = Math.round(left / MINUTE);
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.round(left / HOUR);
  return hours < 24 ? `in ${hours} h` : `on ${dayText(atMs, nowMs)}`;
}

/** Of the next try of what still waits: like `ahead`, but `due now` once its time has come. */
export function due(atMs: number, nowMs: number): string {
  return atMs <= nowMs ? 'due now' : ahead(atMs, nowMs);
}
