/** Several stores over one file, as processes of one machine have them: who may join whom (conformance/sharing.ts: what each sees). */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { commitOne, T0 } from '../conformance/fixtures.ts';
import type { Store } from '../store.ts';
import { joinLock, takeLock } from './engine/lock.ts';
import { storeFolder } from './test-support.ts';

let folder: ReturnType<typeof storeFolder>;

beforeEach(() => {
  folder = storeFolder();
});

afterEach(() => folder.close());

const open = (shared: boolean) => folder.open(folder.file('store.db'), shared);

const refusal = (opening: Promise<Store>): Promise<string> =>
  opening.then(
    () => 'opened',
    (error: Error & { reason?: string }) => `${error.reason}: ${error.message}`,
  );

describe('sharing a database file', () => {
  it('is refused beside a store that is alone with it', async () => {
    await open(false);
    expect(await refusal(open(true))).toMatch(/^locked: .*does not share it/);
  });

  it('waits for its turn in a process that has nothing else to do yet', async () => {
    await open(false);
    const script = `
      import { openSqliteStore } from ${JSON.stringify(fileURLToPath(new URL('./open.ts', import.meta.url)))};
      import { systemClock } from ${JSON.stringify(fileURLToPath(new URL('../../lib/clock.ts', import.meta.url)))};
      await openSqliteStore({ path: ${JSON.stringify(folder.file('store.db'))}, clock: systemClock, shared: true })
        .catch((error) => { console.log(error.reason); process.exit(3); });`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 40_000,
    });
    expect([run.stdout.trim(), run.status]).toEqual(['locked', 3]);
  });

  it('keeps a store away that wants to be alone, until the last one has gone', async () => {
    const first = await open(true);
    const second = await open(true);
    expect(await refusal(open(false))).toMatch(/^locked: .*in use by another/);
    await first.close();
    expect(await refusal(open(false))).toMatch(/^locked/);
    await second.close();
    await commitOne(await open(false));
  });

  it('changes no schema under a process that works with it', async () => {
    await open(true);
    const db = new DatabaseSync(folder.file('store.db'));
    db.exec("UPDATE meta SET value = value - 1 WHERE name = 'schema_version'");
    db.close();
    expect(await refusal(open(true))).toMatch(/^locked: .*needs an upgrade.*Stop them all first/);
  });

  it('lets nobody else read its lock, also where there is no database beside it', async () => {
    const path = folder.file('node');
    takeLock(path).release();
    expect(statSync(`${path}-lock`).mode & 0o777).toBe(0o600);
  });

  it('says why the file of its lock cannot be made', () => {
    const path = folder.file('crowded');
    mkdirSync(`${path}-lock-journal`);
    expect(() => takeLock(path)).toThrow(/crowded-lock-journal cannot be opened: it is a folder/);
  });

  it('is never without its lock while it opens itself to others', async () => {
    const path = folder.file('store.db');
    const first = await joinLock(path, systemClock);
    expect(first.alone).toBe(true);
    const opening = first.share();
    // In the same turn: nobody is let in between.
    expect(() => takeLock(path)).toThrow(/in use/);
    await opening;
    expect(() => takeLock(path)).toThrow(/in use/);
    const second = await joinLock(path, systemClock);
    expect(second.alone).toBe(false);
    first.release();
    expect(() => takeLock(path)).toThrow(/in use/);
    second.release();
    takeLock(path).release();
  });

  it('lets several start at once on a new file', async () => {
    const opened = await Promise.all([open(true), open(true), open(true)]);
    const ids = await Promise.all(opened.map((store, i) => store.instanceId({ proposedId: `id ${i}` })));
    expect(new Set(ids).size).toBe(1);
  });

  it('goes on where another process dies in the middle of its work', async () => {
    const store = await open(true);
    const script = `
      import { openSqliteStore } from ${JSON.stringify(fileURLToPath(new URL('./open.ts', import.meta.url)))};
      import { systemClock } from ${JSON.stringify(fileURLToPath(new URL('../../lib/clock.ts', import.meta.url)))};
      const path = ${JSON.stringify(folder.file('store.db'))};
      const store = await openSqliteStore({ path, clock: systemClock, shared: true });
      const epoch = await store.beginEpoch({ nodeId: 'other', now: 1 });
      await store.takeLeases({ epoch, names: ['x'], quiet: [], now: 1 });
      console.log(epoch);
      setInterval(() => store.heartbeat({ epoch, now: 2 }), 1);
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100);`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect(run.signal).toBe('SIGKILL');
    const other = Number(run.stdout);
    const epoch = await store.beginEpoch({ nodeId: 'mine', now: T0 });
    const seen = await store.heartbeat({ epoch, now: T0 });
    if (seen.kind !== 'alive') throw new Error('it lives');
    const [quiet] = seen.others;
    expect(quiet?.epoch).toBe(other);
    expect(await store.takeLeases({ epoch, names: ['x'], quiet: [], now: T0 })).toEqual([]);
    expect(await store.takeLeases({ epoch, names: ['x'], quiet: seen.others, now: T0 })).toEqual(['x']);
  });
});
