import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import {
  commitOne,
  delivered,
  everyEvent,
  kindsOf,
  messagesOf,
  only,
  recipient,
} from '../conformance/fixtures.ts';
import type { Store } from '../store.ts';
import { type Connection, openConnection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { openSqliteStore } from './open.ts';
import { temporaryFolder } from './test-support.ts';

/** So few that the journal is not yet folded into the database: then there would be nothing to cut. */
const MESSAGES = 35;

/** What the machine's disk holds when the power goes: the files as they are, the store still running. */
describe('a database cut off by a crash', () => {
  const folder = temporaryFolder();
  const path = folder.file('store.db');
  let store: Store;
  let copies = 0;

  beforeAll(async () => {
    store = await openSqliteStore({ path, clock: systemClock, patienceMs: 1 });
    for (let i = 0; i < MESSAGES; i++) await commitOne(store, { content: new Uint8Array(3000).fill(i) });
  });

  afterAll(async () => {
    await store.close();
    folder.remove();
  });

  /** Copies database and journal, the journal up to `walBytes`; the copy's path. */
  function copy(walBytes?: number): string {
    copies += 1;
    const to = folder.file(`copy-${copies}.db`);
    copyFileSync(path, to);
    const wal = readFileSync(`${path}-wal`);
    writeFileSync(`${to}-wal`, walBytes === undefined ? wal : wal.subarray(0, walBytes));
    return to;
  }

  function seqsIn(db: Connection): number[] {
    return db.all<{ seq: number }>('SELECT seq FROM message ORDER BY seq').map((row) => row.seq);
  }

  it('has every message that was acknowledged, with content, recipients and events', async () => {
    const sent = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
    await store.settle({ now: 1, settlements: [delivered(sent.id)] });
    const after = await openSqliteStore({ path: copy(), clock: systemClock, patienceMs: 1 });
    const views = await messagesOf(after);
    expect(views).toHaveLength(MESSAGES + 1);
    for (const view of views) {
      expect(view.recipients).toHaveLength(1);
      expect(await after.readContent({ messageSeq: view.seq })).toHaveLength(view.size);
    }
    expect(only(views[0]?.recipients ?? []).state).toBe('delivered');
    expect(await kindsOf(after, { kinds: ['delivered'] })).toEqual(['delivered']);
    expect((await after.findEvents(everyEvent())).events.length).toBe(MESSAGES + 2);
    await commitOne(after);
    await after.close();
  });

  it('opens with a whole prefix of the commits wherever the journal breaks off', () => {
    const wal = readFileSync(`${path}-wal`).length;
    expect(wal).toBeGreaterThan(100_000);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: wal }), (bytes) => {
        const db = openDatabase(copy(bytes));
        const seqs = seqsIn(db);
        expect(seqs).toEqual(seqs.map((_, i) => i + 1));
        for (const table of ['content', 'delivery', 'event WHERE kind = 1 AND 1']) {
          expect(db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n).toBe(seqs.length);
        }
        db.close();
      }),
      { numRuns: 40 },
    );
  });

  it('ignores a journal page that was half written', () => {
    const to = copy();
    const wal = readFileSync(`${to}-wal`);
    // Inverted, not zeroed: part of a page may be zeros already, and then nothing would be broken.
    const half = Math.floor(wal.length / 2);
    for (let i = half; i < half + 512; i++) wal[i] = ~(wal[i] ?? 0) & 0xff;
    writeFileSync(`${to}-wal`, wal);
    const db = openConnection(to, { readOnly: false, busyMs: 0 });
    const seqs = seqsIn(db);
    // The schema is in the first part of the journal, and grows.
    expect(seqs.length).toBeGreaterThan(3);
    expect(seqs.length).toBeLessThan(MESSAGES);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    db.close();
  });
});
