/**
 * New captures, handed to whoever waits for them. Given the hint that something was stored, it asks the store once for
 * what was captured since the last look, however many wait, and holds each new capture against their filters in memory;
 * a look per waiter cost a hundred queries per commit. It looks only while somebody watches, at once at a hint and from
 * time to time by itself, for what another process captured. Looks never overlap: what comes meanwhile is the next one's.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { CaptureFilter, CaptureView } from '../../store/topics/captures.ts';

/** What can be told of a capture without reading its contents. */
export type CaptureWish = Omit<CaptureFilter, 'limit' | 'beforeId'>;

export interface CaptureFeed {
  /**
   * Calls `onCapture` for every capture that comes from now on and fits, in order of capturing, until the function it
   * gives back is called. "From now on" is decided by the time it resolves: what was committed before that may be told
   * too, nothing is left out. Rejects where the store cannot be read.
   */
  watch(wish: CaptureWish, onCapture: (capture: CaptureView) => void): Promise<() => void>;
}

const AT_ONCE = 500;
const POLL_MS = 1_000;

interface Watcher {
  wish: CaptureWish;
  onCapture(capture: CaptureView): void;
}

/** A feed that nobody watches yet. */
export function createCaptureFeed(deps: {
  store: Pick<Store, 'capturesSince'>;
  clock: Clock;
  log: Logger;
  onStored(listener: () => void): () => void;
}): CaptureFeed {
  const { store, clock, log } = deps;
  /** By the inbox that is asked for; '' holds those that ask for none. */
  const watchers = new Map<string, Set<Watcher>>();
  let count = 0;
  /** null: nobody watches, so that nothing is known. */
  let lastSeq: Promise<number> | null = null;
  let looking = false;
  let again = false;
  let leave: (() => void) | null = null;
  let timer: Timer | null = null;

  return {
    async watch(wish, onCapture) {
      const watcher = { wish, onCapture };
      const key = keyOf(wish);
      const there = watchers.get(key);
      if (there === undefined) watchers.set(key, new Set([watcher]));
      else there.add(watcher);
      count += 1;
      if (count === 1) begin();
      let left = false;
      const stop = (): void => {
        if (left) return;
        left = true;
        const set = watchers.get(key);
        set?.delete(watcher);
        if (set?.size === 0) watchers.delete(key);
        count -= 1;
        if (count === 0) end();
      };
      try {
        await lastSeq;
      } catch (cause) {
        stop();
        throw cause;
      }
      return stop;
    },
  };

  function begin(): void {
    lastSeq ??= newest();
    // Whoever waits for it hears of a failure; a later look tries again.
    lastSeq.catch(() => {
      lastSeq = null;
    });
    leave = deps.onStored(look);
    poll();
  }

  function end(): void {
    leave?.();
    timer?.cancel();
    leave = null;
    timer = null;
    lastSeq = null;
  }

  function poll(): void {
    timer = clock.setTimer(POLL_MS, () => {
      look();
      poll();
    });
  }

  async function newest(): Promise<number> {
    return (await store.capturesSince({ afterSeq: Number.MAX_SAFE_INTEGER, limit: 1 })).lastSeq;
  }

  function look(): void {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    void lookOnce().then(
      () => done(),
      (cause: unknown) => {
        log.warn({ err: cause }, 'new captures cannot be read; they are looked for again');
        again = false;
        done();
      },
    );
  }

  function done(): void {
    looking = false;
    if (!again || count === 0) return;
    again = false;
    look();
  }

  async function lookOnce(): Promise<void> {
    for (let more = true; more; ) {
      const from = lastSeq;
      if (from === null) return;
      const fresh = await store.capturesSince({ afterSeq: await from, limit: AT_ONCE });
      // Who watches now began after everybody had gone, and with a newer mark.
      if (lastSeq !== from) return;
      lastSeq = Promise.resolve(fresh.lastSeq);
      for (const capture of fresh.captures) tell(capture);
      more = fresh.captures.length === AT_ONCE;
    }
  }

  function tell(capture: CaptureView): void {
    const named = capture.inbox === '' ? [] : [...(watchers.get(capture.inbox) ?? [])];
    for (const { wish, onCapture } of [...named, ...(watchers.get('') ?? [])]) {
      if (fits(capture, wish)) onCapture(capture);
    }
  }
}

function keyOf(wish: CaptureWish): string {
  return wish.inbox ?? '';
}

/** Whether a capture is what the store would have found. */
export function fits(capture: CaptureView, wish: CaptureWish): boolean {
  return (
    (wish.inbox === undefined || capture.inbox === wish.inbox) &&
    (wish.domains === undefined || wish.domains.includes(capture.domain)) &&
    (wish.to === undefined || capture.envelopeTo === wish.to) &&
    (wish.from === undefined || capture.lists.from.address === wish.from) &&
    (wish.subject === undefined || capture.subject.toLowerCase().includes(wish.subject.toLowerCase())) &&
    (wish.tag === undefined || capture.tags.includes(wish.tag)) &&
    (wish.since === undefined || capture.at >= wish.since) &&
    (wish.until === undefined || capture.at < wish.until)
  );
}
