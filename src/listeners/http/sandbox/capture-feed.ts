/**
 * New captures, handed to whoever waits for them. The store tells what it has just committed, so that a waiter needs no
 * query and no look at a time of its own; watchers are kept by the inbox or the recipient they ask for, and a capture is held
 * against those alone. A look now and then finds what the store could not tell: what another process captured, or a commit
 * whose answer was lost. Nothing is told twice.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureFilter, CaptureView } from '../../../store/topics/captures.ts';
import { fits } from './capture-fits.ts';

export interface CaptureFeed {
  /**
   * Calls `onCapture` for every capture that is committed from now on and fits, in order of capturing, until the function it
   * gives back is called. What was committed a moment before may be told too.
   */
  watch(wish: CaptureFilter, onCapture: (capture: CaptureView) => void): () => void;
}

const AT_ONCE = 500;
const LOOK_MS = 5_000;

interface Watcher {
  wish: CaptureFilter;
  onCapture(capture: CaptureView): void;
}

/** A feed that nobody watches yet. It looks only while somebody does. */
export function createCaptureFeed(deps: {
  store: Pick<Store, 'capturesSince' | 'onCaptured'>;
  clock: Clock;
  log: Logger;
}): CaptureFeed {
  const { store, clock, log } = deps;
  const watchers = new Map<string, Set<Watcher>>();
  let count = 0;
  /** Goes up whenever the first watcher comes: a look of an earlier time has nothing to say any more. */
  let era = 0;
  /** What was captured up to here is told; null: not known yet. */
  let known: number | null = null;
  /** Seqs behind `known` that the store has told: the next look leaves them out. */
  const told = new Set<number>();
  /** Seqs that the last look told: a commit may be read before the store hears that it is done. */
  const ahead = new Set<number>();
  let leave: (() => void) | null = null;
  let timer: Timer | null = null;

  return {
    watch(wish, onCapture) {
      const watcher = { wish, onCapture };
      const key = keyOf(wish);
      const there = watchers.get(key);
      if (there === undefined) watchers.set(key, new Set([watcher]));
      else there.add(watcher);
      count += 1;
      if (count === 1) begin();
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const set = watchers.get(key);
        set?.delete(watcher);
        if (set?.size === 0) watchers.delete(key);
        count -= 1;
        if (count === 0) end();
      };
    },
  };

  function begin(): void {
    era += 1;
    known = null;
    told.clear();
    ahead.clear();
    leave = store.onCaptured((captures) => {
      for (const capture of captures) {
        if (ahead.delete(capture.seq)) continue;
        if (known === null || capture.seq > known) told.add(capture.seq);
        tell(capture);
      }
    });
    void look(era);
  }

  function end(): void {
    leave?.();
    timer?.cancel();
    leave = null;
    timer = null;
  }

  async function look(mine: number): Promise<void> {
    ahead.clear();
    try {
      if (known === null) {
        const { lastSeq } = await store.capturesSince({
          afterSeq: Number.MAX_SAFE_INTEGER,
          limit: 1,
          look: 1,
        });
        if (mine === era) learn(lastSeq);
      } else {
        for (let more = true; more && mine === era; ) {
          const fresh = await store.capturesSince({ afterSeq: known, limit: AT_ONCE, look: AT_ONCE });
          if (mine !== era) return;
          for (const capture of fresh.captures) {
            if (told.has(capture.seq)) continue;
            ahead.add(capture.seq);
            tell(capture);
          }
          learn(fresh.lastSeq);
          more = fresh.more;
        }
      }
    } catch (cause) {
      log.warn({ err: cause }, 'new captures cannot be looked for; they are looked for again');
    }
    if (mine === era && count > 0) timer = clock.setTimer(LOOK_MS, () => void look(mine));
  }

  function learn(seq: number): void {
    known = seq;
    for (const one of told) if (one <= seq) told.delete(one);
  }

  function tell(capture: CaptureView): void {
    for (const key of [`inbox ${capture.inbox}`, `to ${capture.envelopeTo}`, '']) {
      for (const { wish, onCapture } of [...(watchers.get(key) ?? [])]) {
        if (fits(capture, wish)) onCapture(capture);
      }
    }
  }
}

function keyOf({ inbox, to }: CaptureFilter): string {
  if (inbox !== undefined) return `inbox ${inbox}`;
  return to === undefined ? '' : `to ${to}`;
}
