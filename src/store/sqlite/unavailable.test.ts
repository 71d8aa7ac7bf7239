import { copyFileSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  commitOne,
  committed,
  idempotency,
  message,
  messagesOf,
  newId,
  T0,
} from '../conformance/fixtures.ts';
import { type Store, StoreUnavailable } from '../store.ts';
import { openSqliteStore, type SqliteStoreOptions } from './open.ts';
import { createManualClock, temporaryFolder } from './test-support.ts';

let folder: ReturnType<typeof temporaryFolder>;
let clock = createManualClock();
let store: Store;
let logged: string[] = [];

beforeEach(() => {
  folder = temporaryFolder();
  clock = createManualClock();
  logged = [];
});

afterEach(async () => {
  await store.close();
  folder.remove();
});

async function open(options: Partial<SqliteStoreOptions>): Promise<void> {
  store = await openSqliteStore({
    path: folder.file('store.db'),
    clock,
    patienceMs: 0,
    log: (level, text) => logged.push(`${level}: ${text}`),
    ...options,
  });
}

/** Accepts so many messages in turns of 30: behind such a batch the next is sent ahead. */
async function inSmallBatches(count: number) {
  const committing: ReturnType<typeof commitOne>[] = [];
  for (let n = 1; n <= count; n += 1) {
    const one = commitOne(store);
    one.catch(() => {});
    committing.push(one);
    if (n % 30 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return committing;
}

describe('a store that cannot write', () => {
  it('rejects with StoreUnavailable on a full disk and works again once there is room', async () => {
    await open({ maxPages: 200 });
    const fill = (i: number) =>
      store.commitAccepted({
        messages: [],
        epoch: 1,
        idempotency: idempotency({ key: `k${i}`, body: 'x'.repeat(50_000) }),
      });
    let stored = 0;
    let refusal: unknown;
    while (refusal === undefined && stored < 100) {
      await fill(stored).then(
        () => {
          stored += 1;
        },
        (error: unknown) => {
          refusal = error;
        },
      );
    }
    expect(refusal).toBeInstanceOf(StoreUnavailable);
    expect(stored).toBeGreaterThan(5);
    expect(store.writable()).toMatchObject({ ok: false, reason: expect.stringContaining('full') });
    expect(logged).toContain('error: the store cannot write');

    expect(await store.purgeIdempotency({ before: T0 + 1, limit: 100 })).toBe(stored);
    expect(store.writable()).toEqual({ ok: true });
    committed(await fill(0));
  });

  it('still answers reads meanwhile', async () => {
    await open({ failStoreWrites: { from: 2, count: 1 } });
    const { seq } = await commitOne(store);
    await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
    expect(store.writable().ok).toBe(false);
    expect(await store.readContent({ messageSeq: seq })).not.toBeNull();
    expect(await messagesOf(store, { limit: 10 })).toHaveLength(1);
  });

  it.each(['full', 'io'] as const)('recovers by its own probe after a second (%s)', async (as) => {
    await open({ failStoreWrites: { from: 2, count: 2, as } });
    await commitOne(store);
    await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
    // The probe's answer comes from a thread, in its own time.
    await vi.waitFor(
      () => {
        clock.advance(1000);
        expect(store.writable()).toEqual({ ok: true });
      },
      { timeout: 20_000, interval: 5 },
    );
    expect(logged.at(-1)).toBe('info: the store can write again');
    await commitOne(store);
    expect(await messagesOf(store, { limit: 10 })).toHaveLength(2);
  });

  it.each(['', '-wal', '-shm', '-lock'])(
    'says that a file was removed (store.db%s), until it is back',
    async (end) => {
      await open({});
      await commitOne(store);
      const file = `${folder.file('store.db')}${end}`;
      renameSync(file, `${file}.away`);
      await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
      expect(store.writable()).toMatchObject({
        ok: false,
        reason: expect.stringContaining(`${file} was removed or replaced`),
      });
      copyFileSync(`${file}.away`, file);
      await expect(commitOne(store)).rejects.toThrow('was removed or replaced');
      renameSync(`${file}.away`, file);
      await commitOne(store);
      expect(store.writable()).toEqual({ ok: true });
      expect(await messagesOf(store, { limit: 10 })).toHaveLength(2);
    },
  );

  it('cannot work while it cannot be checked whether its file is still there, and says why', async () => {
    await open({});
    const file = folder.file('store.db');
    renameSync(file, `${file}.away`);
    symlinkSync(file, file);
    await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
    expect(store.writable()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('look at its folder'),
    });
    renameSync(`${file}.away`, file);
    await commitOne(store);
    expect(store.writable()).toEqual({ ok: true });
  });

  it('says that nothing of what is stored can be read, for a minute after the last such read', async () => {
    await open({});
    const { seq } = await commitOne(store);
    await store.close();
    const file = folder.file('store.db');
    const whole = readFileSync(file);
    await open({});
    // Behind the first page, which both had read.
    writeFileSync(file, Buffer.concat([whole.subarray(0, 8192), Buffer.alloc(whole.length - 8192, 0x55)]));
    const read = () => expect(store.readContent({ messageSeq: seq })).rejects.toThrow(StoreUnavailable);
    await read();
    expect(logged).toContain('error: a part of the store cannot be read');
    // It may be one bad page.
    const damaged = { ok: true, damage: expect.stringContaining('damaged') };
    expect(store.writable()).toEqual(damaged);
    for (let n = 1; n < 20; n++) await read();
    expect(store.writable()).toMatchObject({ ok: false, reason: expect.stringContaining('damaged') });
    expect(logged).toContain('error: the store cannot be read');
    clock.advance(60_001);
    expect(store.writable()).toEqual(damaged);
    writeFileSync(file, whole);
  });

  it('recovers by the next write that succeeds, too', async () => {
    await open({ failStoreWrites: { from: 1, count: 1 } });
    await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
    await commitOne(store);
    expect(store.writable()).toEqual({ ok: true });
  });

  it('rejects everything that was to be committed together, and stores none of it', async () => {
    await open({ failStoreWrites: { from: 1, count: 1 } });
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => commitOne(store)));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(await messagesOf(store, { limit: 100 })).toEqual([]);
    const { seq, queueId } = await commitOne(store);
    expect(await store.readContent({ messageSeq: seq })).not.toBeNull();
    expect(
      await store.claimDue({ eventId: newId(), queueId, epoch: 1, now: T0, limit: 10, maxBytes: 1e9 }),
    ).toHaveLength(1);
  });

  it('answers each call once where a batch fails while the next is on its way', async () => {
    await open({ failStoreWrites: { from: 1, count: 1 } });
    const results = await Promise.allSettled(await inSmallBatches(600));
    const stored = results.filter(({ status }) => status === 'fulfilled').length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(600);
    expect(await messagesOf(store, { limit: 1_000 })).toHaveLength(stored);
    expect(store.writable()).toEqual({ ok: true });
    expect(logged.slice(1)).toEqual(['error: the store cannot write', 'info: the store can write again']);
  });

  it('rejects what was on its way when the thread died, and goes on with the others', async () => {
    const lost: string[] = [];
    await open({ failStoreWrites: { from: 1, count: 1, as: 'death' }, onLost: (why) => lost.push(why) });
    const results = await Promise.allSettled(await inSmallBatches(600));
    const answered = results.findIndex(({ status }) => status === 'fulfilled');
    expect(answered).toBeGreaterThanOrEqual(30);
    expect(results.slice(answered).every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(lost).toHaveLength(1);
    await store.close();
  });

  it('stays so once an answer was lost with its thread, says it once, and still takes what is given back', async () => {
    const lost: string[] = [];
    await open({ failStoreWrites: { from: 2, count: 1, as: 'death' }, onLost: (why) => lost.push(why) });
    await commitOne(store);
    await expect(commitOne(store)).rejects.toThrow(StoreUnavailable);
    const why = "the store's writing thread died: failpoint store-death";
    expect(store.writable()).toEqual({ ok: false, reason: why });
    await commitOne(store);
    expect(store.writable()).toEqual({ ok: false, reason: why });
    expect(lost).toEqual([why]);
    expect(logged.filter((line) => line.includes('died'))).toEqual([
      'error: the writing thread of the store died',
    ]);
    // The one whose answer was lost had been committed.
    expect(await messagesOf(store, { limit: 10 })).toHaveLength(3);
  });

  it('forgets what a rolled back transaction had taught it', async () => {
    await open({});
    const taken = message();
    await commitOne(store, taken);
    const broken = message({ domain: 'new.example', lane: 'bulk' });
    await expect(
      store.commitAccepted({ messages: [broken, taken], epoch: 1, idempotency: null }),
    ).rejects.toThrow('UNIQUE');
    const { queueId } = await commitOne(store, { domain: 'new.example', lane: 'bulk' });
    const [hint] = await store
      .dueQueues({ dueBefore: T0, limit: 10 })
      .then((all) => all.filter((one) => one.queueId === queueId));
    expect(hint).toMatchObject({ senderDomain: 'new.example', lane: 'bulk' });
  });
});
