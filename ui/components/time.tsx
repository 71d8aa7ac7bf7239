/** When something happened: relative, and the exact instant in the reader's zone when it is pointed at. */
import { useSyncExternalStore } from 'react';

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const SECOND = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
});
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** One clock for all of them. */
const listeners = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, 20_000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Time({ at, className = '' }: { at: string; className?: string }) {
  const words = useSyncExternalStore(subscribe, () => relative(new Date(at), Math.max(now, Date.parse(at))));
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))} className={`tabular-nums ${className}`}>
      {words}
    </time>
  );
}

function relative(at: Date, nowMs: number): string {
  const age = nowMs - at.getTime();
  if (age < MINUTE) return 'now';
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
  if (age < 24 * HOUR) return `${Math.floor(age / HOUR)} h`;
  return age < 300 * 24 * HOUR ? DAY.format(at) : DATE.format(at);
}

/** When something will happen: `in 4 min`, `now` once it is due. */
export function Until({ at }: { at: string }) {
  const words = useSyncExternalStore(subscribe, () => ahead(new Date(at), now));
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))} className="tabular-nums">
      {words}
    </time>
  );
}

function ahead(at: Date, nowMs: number): string {
  const left = at.getTime() - nowMs;
  if (left < MINUTE) return left < 0 ? 'now' : 'in < 1 min';
  if (left < HOUR) return `in ${Math.round(left / MINUTE)} min`;
  if (left < 24 * HOUR) return `in ${Math.round(left / HOUR)} h`;
  return `on ${(left < 300 * 24 * HOUR ? DAY : DATE).format(at)}`;
}

/** To the second, for what follows one another closely. */
export function Instant({ at, className = '' }: { at: string; className?: string }) {
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))} className={`tabular-nums ${className}`}>
      {SECOND.format(new Date(at))}
    </time>
  );
}

/** The instant in full. */
export function exactTime(at: string): string {
  return EXACT.format(new Date(at));
}
