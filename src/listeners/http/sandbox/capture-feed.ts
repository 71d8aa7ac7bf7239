/**
 * Passes new captures to requests that wait for them. The store announces what it has just committed, so that waiting
 * needs no query and no polling; watchers are kept by the inbox or recipient that they ask for, and a capture is
 * compared only with those. A search now and then finds what the store could not announce: captures of other processes,
 * or a commit whose answer was lost. Nothing is announced twice.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { foldText } from '../../../model/search-text.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureFilter, CaptureView } from '../../../store/topics/captures.ts';

export interface CaptureFeed {
  /**
   * Calls `onCapture` for every matching capture committed from now on, in order of capturing, until the returned
   * function is called. Captures committed just before may be included.
   */
  watch(wish: CaptureFilter, onCapture: (capture: CaptureView) => void): () => void;
}

const AT_ONCE = 500;
const LOOK_MS = 5_000;

interface Watcher {
  wish: CaptureFilter;
  onCapture(capture: CaptureView): void;
}

/** A feed without watchers. It searches only while there are some. */
export function createCaptureFeed(deps: {
  store: Pick<Store, 'capturesSince' | 'onCaptured'>;
  clock: Clock;
  log: Logger;
}): CaptureFeed {
  const { store, clock, log } = deps;
  const watchers = new Map<string, Set<Watcher>>();
  let count = 0;
  /** Incremented whenever the first watcher comes: results of an earlier search no longer count. */
  let era = 0;
  /** Captures up to here were announced; null: not known yet. */
  let known: number | null = null;
  /** Seqs after `known` that the store has announced: the next search skips them. */
  const told = new Set<number>();
  /** Seqs that the last search announced: a commit may be read before the store reports it. */
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
    for (const key of [`inbox ${capture.inbox}`, `to ${capture.envelopeTo.toLowerCase()}`, '']) {
      for (const { wish, onCapture } of [...(watchers.get(key) ?? [])]) {
        if (fits(capture, wish)) onCapture(capture);
      }
    }
  }
}

function keyOf({ inbox, to }: CaptureFilter): string {
  if (inbox !== undefined) return `inbox ${inbox}`;
  return to === undefined ? '' : `to ${to.toLowerCase()}`;
}

/** Whether a capture matches, with the same conditions as the store's query. `wish.subject` is folded. */
function fits(capture: CaptureView, wish: CaptureFilter): boolean {
  return (
    (wish.inbox === undefined || capture.inbox === wish.inbox) &&
    (wish.domains === undefined || wish.domains.includes(capture.domain)) &&
    (wish.to === undefined || capture.envelopeTo.toLowerCase() === wish.to.toLowerCase()) &&
    (wish.from === undefined || capture.lists.from.address.toLowerCase() === wish.from.toLowerCase()) &&
    (wish.subject === undefined || foldText(capture.subject).includes(wish.subject)) &&
    (wish.tag === undefined || capture.tags.includes(wish.tag)) &&
    (wish.since === undefined || capture.at >= wish.since) &&
    (wish.seen === undefined || (capture.seenAt !== null) === wish.seen) &&
    (wish.until === undefined || capture.at < wish.until)
  );
}
