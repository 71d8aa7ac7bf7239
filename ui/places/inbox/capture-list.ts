/**
 * The list of captured mail behind the screen: the newest page, older ones as they are scrolled to, and what arrives,
 * newest on top. Given the filters; leaves snapshots that change together at most every fifth of a second, however much
 * arrives. After every connection the newest page is read again, so a list that lost its server heals by itself. What is
 * hidden (being deleted) stays out of every snapshot until it is shown again.
 */
import type { CaptureSummary } from '../../../src/client/api-types.ts';
import { Unreachable } from '../../api/call.ts';
import { type Filters, listCaptures } from '../../api/captures.ts';
import { followCaptures } from '../../api/stream.ts';

export interface ListSnapshot {
  /** Newest first. */
  items: readonly CaptureSummary[];
  /** `loading`: nothing is known yet. */
  state: 'loading' | 'ready' | 'failed';
  error: unknown;
  /** The stream is lost; tried again by itself. */
  offline: boolean;
  hasMore: boolean;
  loadingMore: boolean;
}

export interface CaptureList {
  snapshot(): ListSnapshot;
  subscribe(listener: () => void): () => void;
  loadMore(): void;
  /** Asks for the newest page again. */
  reload(): void;
  hide(ids: Iterable<string>): void;
  show(ids: Iterable<string>): void;
  /** Changes what is known of some without asking. */
  patch(ids: ReadonlySet<string>, change: Partial<CaptureSummary>): void;
  close(): void;
}

const FLUSH_MS = 200;

/** Begins at once; ends with `close`. `onArrival` hears of every batch that came by the stream. */
export function openCaptureList(
  filters: Filters,
  onArrival: (captures: readonly CaptureSummary[]) => void,
): CaptureList {
  let known: readonly CaptureSummary[] = [];
  let cursor: string | null = null;
  let state: ListSnapshot['state'] = 'loading';
  let error: unknown = null;
  let offline = false;
  let loadingMore = false;
  let arrived: CaptureSummary[] = [];
  let flushing: ReturnType<typeof setTimeout> | undefined;
  const hidden = new Set<string>();
  const listeners = new Set<() => void>();
  const ended = new AbortController();
  let shown = snapshot();

  const leave = followCaptures(filters, {
    onOpen() {
      offline = false;
      void readNewest();
    },
    onCapture(capture) {
      arrived.push(capture);
      flushing ??= setTimeout(flush, FLUSH_MS);
    },
    onLost(cause) {
      offline = cause instanceof Unreachable || state === 'ready';
      if (state === 'loading') {
        state = 'failed';
        error = cause;
      }
      tell();
    },
  });

  return {
    snapshot: () => shown,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    loadMore: () => void readMore(),
    reload: () => void readNewest(),
    hide(ids) {
      for (const id of ids) hidden.add(id);
      tell();
    },
    show(ids) {
      for (const id of ids) hidden.delete(id);
      tell();
    },
    patch(ids, change) {
      known = known.map((item) => (ids.has(item.ID) ? { ...item, ...change } : item));
      tell();
    },
    close() {
      leave();
      ended.abort();
      clearTimeout(flushing);
    },
  };

  async function readNewest(): Promise<void> {
    const before = new Set(known.map((item) => item.ID));
    try {
      const page = await listCaptures(filters, undefined, ended.signal);
      const inPage = new Set(page.Items.map((item) => item.ID));
      const last = page.Items.at(-1)?.ID;
      const at = known.findIndex((item) => item.ID === last);
      // What is older than the page stays where both meet; else more was missed than a page holds.
      const meets = at !== -1 && page.HasMore;
      // What arrived while the page was on its way may be newer than it.
      const newer = known.filter((item) => !before.has(item.ID) && !inPage.has(item.ID));
      known = [...newer, ...page.Items, ...(meets ? known.slice(at + 1) : [])];
      if (!meets) cursor = page.NextCursor;
      arrived = arrived.filter((item) => !inPage.has(item.ID));
      state = 'ready';
      error = null;
    } catch (cause) {
      if (ended.signal.aborted) return;
      error = cause;
      if (state === 'loading') state = 'failed';
    }
    tell();
  }

  async function readMore(): Promise<void> {
    if (loadingMore || cursor === null) return;
    loadingMore = true;
    tell();
    try {
      const page = await listCaptures(filters, cursor, ended.signal);
      const there = new Set(known.map((item) => item.ID));
      known = [...known, ...page.Items.filter((item) => !there.has(item.ID))];
      cursor = page.NextCursor;
      error = null;
    } catch (cause) {
      if (ended.signal.aborted) return;
      error = cause;
    }
    loadingMore = false;
    tell();
  }

  function flush(): void {
    flushing = undefined;
    const there = new Set(known.slice(0, 2_000).map((item) => item.ID));
    const fresh = arrived.filter((item) => !there.has(item.ID)).reverse();
    arrived = [];
    if (fresh.length === 0) return;
    known = [...fresh, ...known];
    onArrival(fresh);
    tell();
  }

  function snapshot(): ListSnapshot {
    const items = hidden.size === 0 ? known : known.filter((item) => !hidden.has(item.ID));
    return { items, state, error, offline, hasMore: cursor !== null, loadingMore };
  }

  function tell(): void {
    shown = snapshot();
    for (const listener of listeners) listener();
  }
}
