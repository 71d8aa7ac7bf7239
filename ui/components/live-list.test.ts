/** A list that is replaced while an older page is on its way has no hole; a page that failed is not asked for in a loop. */
import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/call.ts';
import { messageSource } from '../api/messages.ts';
import { openLiveList } from './live-list.ts';

interface Item {
  id: string;
}

it('drops a page that was asked for behind a list that was replaced meanwhile', async () => {
  let newest = 6;
  /** Answers to `page` that were not given yet. */
  const waiting: (() => void)[] = [];
  const list = openLiveList<Item>({
    idOf: ({ id }) => id,
    pageSize: 2,
    page: (after) =>
      new Promise((resolve) => {
        const top = after === undefined ? newest : Number(after) - 1;
        const Items = [top, top - 1].filter((n) => n > 0).map((n) => ({ id: String(n) }));
        waiting.push(() => resolve({ Items, HasMore: top > 2, NextCursor: Items.at(-1)?.id ?? null }));
      }),
    follow(events) {
      events.onOpen();
      return () => undefined;
    },
  });
  const answer = async (): Promise<void> => {
    waiting.pop()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const shown = () => list.snapshot().items.map(({ id }) => id);
  await answer();
  expect(shown()).toEqual(['6', '5']);

  list.loadMore();
  newest = 14;
  list.reload();
  await answer();
  expect(shown()).toEqual(['14', '13']);
  await answer();
  expect(shown()).toEqual(['14', '13']);
  list.loadMore();
  await answer();
  expect(shown()).toEqual(['14', '13', '12', '11']);
  list.close();
});

it('reads no further by itself once a page failed, until the newest was read again', async () => {
  let fails = false;
  const list = openLiveList<Item>({
    idOf: ({ id }) => id,
    pageSize: 1,
    page: async () => {
      if (fails) throw new Error('broken');
      return { Items: [{ id: '1' }], HasMore: true, NextCursor: '1' };
    },
    follow(events) {
      events.onOpen();
      return () => undefined;
    },
  });
  const answered = () => new Promise((resolve) => setImmediate(resolve));
  await answered();
  expect(list.snapshot().readsOn).toBe(true);
  fails = true;
  list.loadMore();
  expect(list.snapshot().readsOn).toBe(false);
  await answered();
  expect(list.snapshot()).toMatchObject({ readsOn: false, hasMore: true, loadingMore: false });
  fails = false;
  list.reload();
  await answered();
  expect(list.snapshot().readsOn).toBe(true);
  list.close();
});

it('keeps of very many that arrived only the newest page, unless the reader is further down', async () => {
  let newest = 2;
  let asked = 0;
  let isSilent = false;
  let tell: ((item: Item) => void) | undefined;
  const list = openLiveList<Item>({
    idOf: ({ id }) => id,
    pageSize: 2,
    page: async () => {
      asked += 1;
      if (isSilent) throw new Error('too much to do');
      return {
        Items: [newest, newest - 1].map((n) => ({ id: String(n) })),
        HasMore: true,
        NextCursor: String(newest - 1),
      };
    },
    follow(events) {
      tell = events.onItem;
      events.onOpen();
      return () => undefined;
    },
  });
  vi.useFakeTimers();
  const arrive = async (count: number): Promise<number> => {
    for (let n = 0; n < count; n += 1) {
      newest += 1;
      tell?.({ id: String(newest) });
    }
    await vi.advanceTimersByTimeAsync(200);
    return list.snapshot().items.length;
  };
  await vi.advanceTimersByTimeAsync(0);
  list.look(1);
  expect(await arrive(6_000)).toBe(6_002);
  list.look(0);
  expect(await arrive(1)).toBe(2);
  expect(list.snapshot()).toMatchObject({ hasMore: true, readsOn: true });
  // A server that answers late or not is not asked again with every arrival.
  list.look(2);
  await arrive(6_000);
  list.look(0);
  isSilent = true;
  asked = 0;
  expect(await arrive(1)).toBe(6_003);
  expect(await arrive(1)).toBe(6_004);
  expect(asked).toBe(1);
  list.close();
  vi.useRealTimers();
});

it('connects anew where a page was refused for now, and keeps the place of a reader further down', async () => {
  let newest = 6;
  let isBusy = false;
  let open: (() => void) | undefined;
  const list = openLiveList<Item>({
    idOf: ({ id }) => id,
    pageSize: 2,
    page: async (after) => {
      if (isBusy) throw new ApiError(503, 'busy', 'Busy');
      const top = after === undefined ? newest : Number(after) - 1;
      return {
        Items: [top, top - 1].map((n) => ({ id: String(n) })),
        HasMore: true,
        NextCursor: String(top - 1),
      };
    },
    follow(events) {
      open = events.onOpen;
      open();
      return () => undefined;
    },
  });
  vi.useFakeTimers();
  const shown = () => list.snapshot().items.map(({ id }) => id);
  await vi.advanceTimersByTimeAsync(0);
  list.loadMore();
  await vi.advanceTimersByTimeAsync(0);
  isBusy = true;
  list.loadMore();
  await vi.advanceTimersByTimeAsync(0);
  isBusy = false;
  // News say nothing of the page that was refused.
  open?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(list.snapshot()).toMatchObject({ error: { status: 503 }, readsOn: false });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(list.snapshot()).toMatchObject({ error: null, readsOn: true });
  newest = 11;
  list.look(1);
  open?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(shown()).toEqual(['11', '10', '9', '8', '7', '6', '5', '4', '3']);
  list.look(0);
  newest = 20;
  open?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(shown()).toEqual(['20', '19']);
  list.close();
  vi.useRealTimers();
});

it('asks a server that refuses for now when it says, the stream too', async () => {
  vi.useFakeTimers();
  const asked: string[] = [];
  const headers = { 'retry-after': '60', 'content-type': 'application/problem+json' };
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return new Response('{}', { status: 503, headers });
  });
  const list = openLiveList(messageSource({}));
  await vi.advanceTimersByTimeAsync(59_000);
  expect(asked.map((url) => url.split('?')[0])).toEqual([
    expect.stringMatching(/stream$/),
    expect.stringMatching(/email$/),
  ]);
  headers['retry-after'] = '9999999';
  await vi.advanceTimersByTimeAsync(2_000);
  const twice = asked.length;
  expect(twice).toBeGreaterThan(3);
  await vi.advanceTimersByTimeAsync(50 * 60_000);
  expect(asked.length).toBe(twice);
  list.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
