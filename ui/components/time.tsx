/** When something happened: relative, and the exact instant in the reader's zone when it is pointed at. */
import { useSyncExternalStore } from 'react';
import { age, ago, ahead, due, since } from './time-words.ts';

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const SECOND = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
});

/** One clock for all of them. */
const listeners = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, 5_000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

interface Shown {
  at: string;
  className?: string;
  /** It ends a sentence: adds the full stop, unless the date ends with one, as in some languages. */
  isLast?: boolean;
}

/** In a column or a list: `just now`, `12 s`, `5 min`, `3 h`, `Nov 21`. */
export function Time(shown: Shown) {
  return <Words {...shown} say={age} />;
}

/** In a sentence: `just now`, `12 s ago`, `5 min ago`, `3 h ago`, `Nov 21`. */
export function Ago(shown: Shown) {
  return <Words {...shown} say={ago} />;
}

/** How long something has been going on: `for 5 min`, `since Nov 21`. */
export function Lasting(shown: Shown) {
  return <Words {...shown} say={since} />;
}

/**
 * What is planned: `in 4 min`, and `3 min ago` once it is past. `before` and `after` stand in front of it, for words that only
 * one of the two takes: `ends in 4 min`, `ended 3 min ago`.
 */
export function Until({ before = '', after = '', ...shown }: Shown & { before?: string; after?: string }) {
  const isPast = useSyncExternalStore(subscribe, () => Date.parse(shown.at) < now);
  const word = isPast ? after : before;
  return (
    <>
      {word !== '' && `${word} `}
      <Words {...shown} say={ahead} />
    </>
  );
}

/** When what has an end ends. */
export function Ends({ at }: { at: string | null }) {
  return at === null ? <span className="text-soft">never</span> : <Until at={at} />;
}

/** The next try of what still waits: `in 4 min`, `due now`. */
export function NextTry(shown: Shown) {
  return <Words {...shown} say={due} />;
}

function Words({
  at,
  className = '',
  isLast = false,
  say,
}: Shown & { say(atMs: number, nowMs: number): string }) {
  const words = useSyncExternalStore(subscribe, () => say(Date.parse(at), now));
  return (
    <time
      dateTime={at}
      title={EXACT.format(new Date(at))}
      className={`whitespace-nowrap tabular-nums ${className}`}
    >
      {words}
      {isLast && !words.endsWith('.') && '.'}
    </time>
  );
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
