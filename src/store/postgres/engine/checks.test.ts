/** What is asked of a server before anything is written to it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { openPostgresStore } from '../open.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { addressOf } from './address.ts';
import { checkClock, checkPlace, notePlace, placeOf, type ServerSettings, wrongWith } from './checks.ts';
import type { Db, Value } from './db.ts';
import { openingError } from './opening.ts';

const GOOD: ServerSettings = {
  ...{ version: 150_018, shown: '15.18', fsync: 'on', pages: 'on', synced: 'on', standbys: '' },
  ...{ encoding: 'UTF8', recovering: false, icu: true, timeline: '00000001' },
};

describe('a server of PostgreSQL', () => {
  it('is taken as it is installed, and with a standby that is waited for', () => {
    expect(wrongWith(GOOD)).toBeNull();
    expect(wrongWith({ ...GOOD, standbys: '*', synced: 'remote_apply' })).toBeNull();
    expect(wrongWith({ ...GOOD, synced: 'local' })).toBeNull();
  });

  it('is refused, with what to do, where it is old, reads only, or may lose what it has answered', () => {
    const sentence = (more: Partial<ServerSettings>) => wrongWith({ ...GOOD, ...more });
    expect(sentence({ version: 140_010, shown: '14.10' })).toContain('14.10; postrider needs 15 or newer');
    expect(sentence({ recovering: true })).toContain('address of the primary');
    expect(sentence({ encoding: 'SQL_ASCII' })).toContain("ENCODING 'UTF8'");
    expect(sentence({ icu: false })).toContain('ICU');
    for (const more of [
      { fsync: 'off' },
      { pages: 'off' },
      { synced: 'off' },
      { synced: 'local', standbys: '*' },
    ]) {
      expect(sentence(more), JSON.stringify(more)).toContain('may lose accepted mail');
    }
  });
});

it('says to try again where the database stops while it is opened', () => {
  const stopping = Object.assign(new Error('terminating connection'), { code: '57P01' });
  expect(openingError(stopping, addressOf('postgres://a@127.0.0.1/b'))).toMatchObject({
    name: 'StoreRefused',
    message: expect.stringMatching(/^The store cannot work: .*\. Try again when that is mended\.$/),
  });
});

describePostgres('the server of the tests', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());

  it('is refused where its clock is another, by more than a minute', async () => {
    const wrongBy = (ms: number) => ({ ...systemClock, now: () => Date.now() + ms });
    await database.use((db) => checkClock(db, wrongBy(50_000)));
    for (const ms of [90_000, -90_000]) {
      const opening = openPostgresStore({ url: database.url, clock: wrongBy(ms) });
      await expect(opening).rejects.toMatchObject({
        reason: 'unfit',
        message: expect.stringMatching(/differ by (90|89) seconds/),
      });
    }
  });

  it('is not taken for an older one where another connection notes its place meanwhile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-place-'));
    const file = join(folder, 'place');
    await database.use(async (db) => {
      let noted = 0;
      const slow: Db = {
        ...db,
        async get<Row>(sql: string, ...values: Value[]) {
          const row = await db.get<Row>(sql, ...values);
          if (noted++ > 0) return row;
          await db.put('meta', 'name', { name: 'probe', value: '1' });
          await notePlace(await placeOf(db, '00000001'), file);
          return row;
        },
      };
      const place = await checkPlace(slow, '00000001', file, () => {});
      expect(noted).toBeGreaterThan(1);
      expect(place).toMatchObject({ timeline: '00000001', position: expect.any(Number) });
    });
    rmSync(folder, { recursive: true });
  });

  it('notes its place so that programs that know no position find their timeline in it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-place-'));
    const file = join(folder, 'place');
    await database.use(async (db) => {
      const place = await placeOf(db, '00000001');
      const check = () => checkPlace(db, '00000001', file, () => {});
      await notePlace({ ...place, position: place.position + 2 ** 40 }, file);
      await expect(check()).rejects.toThrow('was put back to an earlier state');
      await notePlace(place, file);
      const [, read] = readFileSync(file, 'utf8').trim().split(`${place.system} ${place.oid} `);
      expect(read).toBe('00000001');
      for (const earlier of ['', ' 1234']) {
        writeFileSync(file, `${place.system} ${place.oid} 00000001${earlier}\n`);
        await check();
      }
    });
    rmSync(folder, { recursive: true });
  });
});
