/** The binary form of arrays: the server reads the values that were written. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { bools, byteas, int2s, int4s, int8s, texts, uuids } from './arrays.ts';
import type { Db } from './db.ts';

describePostgres('arrays', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());

  const asked = (type: string, array: Buffer) =>
    database.use((db: Db) => db.get<{ text: string }>(`SELECT $1::${type}[]::text AS text`, array));

  it('are read as they were meant, with nulls and at the ends of their types', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(await asked('int8', int8s([0, 1, -1, 2 ** 32, -(2 ** 32) - 1, most, -most, null]))).toEqual({
      text: `{0,1,-1,4294967296,-4294967297,${most},-${most},NULL}`,
    });
    expect(await asked('int4', int4s([2 ** 31 - 1, null, -(2 ** 31)]))).toEqual({
      text: '{2147483647,NULL,-2147483648}',
    });
    expect(await asked('int2', int2s([32767, null, -32768]))).toEqual({ text: '{32767,NULL,-32768}' });
    expect(await asked('bool', bools([true, null, false]))).toEqual({ text: '{t,NULL,f}' });
    expect(await asked('uuid', uuids([new Uint8Array(16).fill(0xab), null]))).toEqual({
      text: '{abababab-abab-abab-abab-abababababab,NULL}',
    });
    expect(await asked('bytea', byteas([new Uint8Array([0, 255]), null, new Uint8Array()]))).toEqual({
      text: '{"\\\\x00ff",NULL,"\\\\x"}',
    });
    expect(await asked('int8', int8s([]))).toEqual({ text: '{}' });
  });

  it('of texts keep every character but NUL and lone surrogates', async () => {
    const given = ['', 'a,"b\\', 'ü€😀', null, 'a\0b', 'a\ud800b'];
    const found = await database.use((db) =>
      db.all<{ text: string | null }>('SELECT unnest($1::text[]) AS text', texts(given)),
    );
    expect(found.map(({ text }) => text)).toEqual(['', 'a,"b\\', 'ü€😀', null, 'a\ufffdb', 'a\ufffdb']);
  });
});
