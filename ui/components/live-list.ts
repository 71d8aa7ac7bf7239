/**
 * A list behind the screen: the newest page, older ones as they are scrolled to, and what arrives, newest on top. Given where
 * its pages and its news come from; leaves snapshots that change together at most every fifth of a second, however much
 * arrives. After every connection the newest page and the one in sight are read again, and where a page failed it is connected
 * to anew, so a list that lost its server heals by itself. What is hidden (being deleted) stays out of every snapshot until it is shown again.
 */
import { ApiError, asksAgainAfterMs, Unreachable } from '../api/call.ts';

/** Where a list comes from: an operation with pages, newest first, and a stream. */
export interface LiveSource<Item> {
  idOf(item: Item): string;
  /** `Limit` of the pages: one with fewer items is the last, or of a search that goes on. */
  pageSize: number;
  page(
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<{ Items: readonly Item[]; HasMore: boolean; NextCursor: string | null }>;
  /** Calls back until the function that it gives back is called. `onOpen`: what happens from now on is told. */
  follow(events: { onOpen(): void; onItem(item: Item): void; onLost(error: unknown): void }): () => void;
  /** Hears of every batch that came by the stream. */
  onArrival?(items: readonly Item[]): void;
}

export interface ListSnapshot<Item> {
  /** Newest first. */
  items: readonly Item[];
  /** `loading`: nothing is known yet. */
  state: 'loading' | 'ready' | 'failed';
  error: unknown;
  /** Why the stream is lost; null = it is not. */
  lost: Error | null;
  hasMore: boolean;
  loadingMore: boolean;
  /** The next page may be asked for: none is on its way, and the last request did not fail. */
  readsOn: boolean;
}

export interface LiveList<Item> {
  snapshot(): ListSnapshot<Item>;
  subscribe(listener: () => void): () => void;
  loadMore(): void;
  /** Asks for the newest page again, and for the one in sight. */
  reload(): void;
  /** The first row in sight. */
  look(index: number): void;
  hide(ids: Iterable<string>): void;
  show(ids: Iterable<string>): void;
  /** Changes what is known of some without asking. */
  patch(ids: ReadonlySet<string>, change: Partial<Item>): void;
  close(): void;
}

/** While the first page is on its way. */
export const NOTHING_YET: ListSnapshot<never> = {
  items: [],
  state: 'loading',
  error: null,
  lost: null,
  hasMore: false,
  loadingMore: false,
  readsOn: false,
};
const FLUSH_MS = 200;
/** Where the top is looked at, of more than these only the newest page is kept, and what is older is read again where it is wanted. */
const MOST_KEPT = 5_000;
/** So many pages are read at the most to find again where a reader is who has scrolled down. */
const MOST_MISSED = 10;
/** A server that did not answer is asked again behind so many more. */
const MANY_MORE = 1_000;

/** Begins at once; ends with `close`. */
export function openLiveList<Item>(source: LiveSource<Item>): LiveList<Item> {
  const { idOf } = source;
  let known: readonly Item[] = [];
  let cursor: string | null = null;
  /** By the item behind which a page was read: its cursor. */
  const pageStarts = new Map<string, string>();
  let sight = 0;
  let state: ListSnapshot<Item>['state'] = 'loading';
  let error: unknown = null;
  /** Why an older page did not come: kept from being asked for with every arrival. */
  let olderError: unknown = null;
  let lost: Error | null = null;
  let loadingMore = false;
  let arrived: Item[] = [];
  let flushing: ReturnType<typeof setTimeout> | undefined;
  /** How long the list was when the newest page was asked for because it was too long; 0: it was answered. */
  let askedAt = 0;
  let again: ReturnType<typeof setTimeout> | undefined;
  const hidden = new Set<string>();
  const listeners = new Set<() => void>();
  const ended = new AbortController();
  let shown = snapshot();

  let leave = source.follow({ onOpen, onItem, onLost });

  return {
    snapshot: () => shown,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    loadMore: () => void readMore(),
    reload() {
      olderError = null;
      if (lost === null) void readAgain();
      else connect();
    },
    look(index) {
      sight = index;
    },
    hide(ids) {
      for (const id of ids) hidden.add(id);
      tell();
    },
    show(ids) {
      for (const id of ids) hidden.delete(id);
      tell();
    },
    patch(ids, change) {
      known = known.map((item) => (ids.has(idOf(item)) ? { ...item, ...change } : item));
      tell();
    },
    close() {
      leave();
      ended.abort();
      clearTimeout(flushing);
      clearTimeout(again);
    },
  };

  function connect(): void {
    olderError = null;
    leave();
    leave = source.follow({ onOpen, onItem, onLost });
  }

  /** A page did not come. Connected to anew rather than asked for, because a hidden page has to ask nothing. */
  function onFailed(cause: unknown): void {
    const waitMs = asksAgainAfterMs(cause);
    clearTimeout(again);
    if (waitMs > 0) again = setTimeout(connect, waitMs);
  }

  function onOpen(): void {
    lost = null;
    void readAgain();
  }

  function onItem(item: Item): void {
    arrived.push(item);
    flushing ??= setTimeout(flush, FLUSH_MS);
  }

  function onLost(cause: unknown): void {
    lost = cause instanceof ApiError ? cause : new Unreachable(cause);
    if (state === 'loading') {
      state = 'failed';
      error = cause;
    }
    tell();
  }

  async function readAgain(): Promise<void> {
    const before = new Set(known.map(idOf));
    try {
      let page = await source.page(undefined, ended.signal);
      for (let pages = 1; pages < MOST_MISSED && sight > 0 && !isKnown(page); pages += 1) {
        const next = await source.page(page.NextCursor ?? undefined, ended.signal);
        page = { ...next, Items: [...page.Items, ...next.Items] };
      }
      const inPage = new Set(page.Items.map(idOf));
      // What arrived while the page was on its way may be newer than it.
      const newer = known.filter((item) => !before.has(idOf(item)) && !inPage.has(idOf(item)));
      const older = olderThan(page, inPage);
      known = [...newer, ...page.Items, ...(older ?? [])];
      if (older === null) cursor = page.NextCursor;
      arrived = arrived.filter((item) => !inPage.has(idOf(item)));
      state = 'ready';
      error = null;
      askedAt = 0;
      if (olderError === null) clearTimeout(again);
    } catch (cause) {
      if (ended.signal.aborted) return;
      error = cause;
      onFailed(cause);
      if (state === 'loading') state = 'failed';
    }
    tell();
    if (state === 'ready' && sight >= source.pageSize) await readInSight();
  }

  /** It reaches down to what is known, or there is nothing behind it. */
  function isKnown({ Items, NextCursor }: { Items: readonly Item[]; NextCursor: string | null }): boolean {
    const last = Items.at(-1);
    if (NextCursor === null || last === undefined || Items.length < source.pageSize) return true;
    return known.some((item) => idOf(item) === idOf(last));
  }

  /** What is known already and stays below the newest page; null: more was missed than a page holds, or it is too much. */
  function olderThan(
    page: { Items: readonly Item[]; HasMore: boolean },
    inPage: ReadonlySet<string>,
  ): readonly Item[] | null {
    if (!page.HasMore || known.length === 0 || isTooLong()) return null;
    // A search through very many: what is older than its first look is still what it was.
    if (page.Items.length < source.pageSize) return known.filter((item) => !inPage.has(idOf(item)));
    const last = page.Items.at(-1);
    const at = last === undefined ? -1 : known.findIndex((item) => idOf(item) === idOf(last));
    return at === -1 ? null : known.slice(at + 1);
  }

  /** The rows that are looked at far below the newest page, as they are now. */
  async function readInSight(): Promise<void> {
    for (let at = Math.min(sight, known.length) - 1; at >= 0; at -= 1) {
      const item = known[at];
      const after = item === undefined ? undefined : pageStarts.get(idOf(item));
      if (after === undefined) continue;
      const page = await source.page(after, ended.signal).catch(() => null);
      if (page === null) return;
      const changed = new Map(page.Items.map((one) => [idOf(one), one]));
      known = known.map((one) => changed.get(idOf(one)) ?? one);
      tell();
      return;
    }
  }

  async function readMore(): Promise<void> {
    if (loadingMore || cursor === null) return;
    loadingMore = true;
    tell();
    const asked = cursor;
    try {
      const page = await source.page(asked, ended.signal);
      // Where the list was replaced meanwhile, this page does not follow on it.
      if (cursor === asked) {
        const there = new Set(known.map(idOf));
        const last = known.at(-1);
        if (last !== undefined) pageStarts.set(idOf(last), asked);
        known = [...known, ...page.Items.filter((item) => !there.has(idOf(item)))];
        cursor = page.NextCursor;
      }
    } catch (cause) {
      if (ended.signal.aborted) return;
      olderError = cause;
      onFailed(cause);
    }
    loadingMore = false;
    tell();
  }

  function flush(): void {
    flushing = undefined;
    const there = new Set(known.slice(0, 2_000).map(idOf));
    const fresh = arrived.filter((item) => !there.has(idOf(item))).reverse();
    arrived = [];
    if (fresh.length === 0) return;
    known = [...fresh, ...known];
    source.onArrival?.(fresh);
    tell();
    if (!isTooLong() || known.length < askedAt + MANY_MORE) return;
    askedAt = known.length;
    void readAgain();
  }

  function isTooLong(): boolean {
    return known.length > MOST_KEPT && sight === 0;
  }

  function snapshot(): ListSnapshot<Item> {
    const items = hidden.size === 0 ? known : known.filter((item) => !hidden.has(idOf(item)));
    const hasMore = cursor !== null;
    const why = error ?? olderError;
    const readsOn = hasMore && !loadingMore && why === null;
    return { items, state, error: why, lost, hasMore, loadingMore, readsOn };
  }

  function tell(): void {
    shown = snapshot();
    for (const listener of listeners) listener();
  }
}
