/**
 * What a transfer does with the two ends that it is given, whatever their engine: two files of SQLite, one of which loses
 * or changes something on the way. The copy between engines is tested in test/postgres/transfer.test.ts.
 */
import { chownSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { TRANSFER_MARK } from '../store/shared/transfer-mark.ts';
import { openDatabase } from '../store/sqlite/engine/open-database.ts';
import { type End, type Hold, lastOfPortion, PORTION_BYTES, TransferError } from './end.ts';
import { openSqliteEnd } from './sqlite-end.ts';
import { arriving, COPIED, type Row } from './tables.ts';
import { begunBetween, cancelTransfer, transfer } from './transfer.ts';

const HOLD: Hold = { id: 'h', at: 1, reason: 'moved', by: 'transfer' };

let folder: string;
let source: End;
let target: End;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'transfer-'));
  const path = join(folder, 'source.db');
  const db = openDatabase(path);
  db.run("INSERT INTO name (id, text) VALUES (1, 'a.example'), (2, 'b.example')");
  db.run(
    "INSERT INTO egress_fact (kind, key, value, until) VALUES ('k', 'one', '1', 1), ('k', 'two', '2', 1)",
  );
  db.close();
  [source, target] = [
    await openSqliteEnd(path, 'source'),
    await openSqliteEnd(join(folder, 'target.db'), 'target'),
  ];
});
afterEach(async () => {
  await Promise.all([source.close(), target.close()]);
  rmSync(folder, { recursive: true });
});

const move = (more: Partial<Parameters<typeof transfer>[0]> = {}) =>
  transfer({ source, target, clock: systemClock, id: 'x', hold: HOLD, progress: () => undefined, ...more });
const mark = async (end: End, more: object) =>
  end.setMeta(
    TRANSFER_MARK,
    JSON.stringify({
      id: 'y',
      at: 1,
      isFinished: false,
      role: 'target',
      other: 'else',
      table: null,
      after: null,
      rows: 0,
      ...more,
    }),
  );
/** The target, which stores `change` of each row. */
const changing = (change: (table: string, row: Row) => Row[]): End => ({
  ...target,
  write: (table, rows, progress) =>
    target.write(
      table,
      rows.flatMap((row) => change(table.name, row)),
      progress,
    ),
});

describe('a transfer', () => {
  it('counts what was copied before it was cut off', async () => {
    const progress: [number, number][] = [];
    const cut = move({
      copied: (table) => {
        if (table === 'name') throw new Error('cut off');
      },
    });
    await expect(cut).rejects.toThrow('cut off');
    expect(await move({ progress: (...both) => progress.push(both) })).toMatchObject({ rows: 4 });
    expect(progress).toEqual([[4, 4]]);
  });

  it('holds nothing where nothing waits', async () => {
    await move();
    expect(await target.count({ name: 'hold', key: ['id'] })).toBe(0);
  });

  it('ends where rows are missing', async () => {
    const losing = changing((table, row) => (table === 'name' && row.id === 2 ? [] : [row]));
    await expect(move({ target: losing })).rejects.toThrow('(name: 2 rows were to arrive, 1 did)');
  });

  it('ends where rows have other states or contents', async () => {
    const differing = (sums: Record<string, number>) => ({ ...target, sums: async () => sums });
    const before = { 'recipients 0': 1, 'recipients 1': 2, 'content octets': 9 };
    const counted = { ...source, sums: async () => before };
    await expect(
      move({ source: counted, target: differing({ 'recipients 0': 1, 'content octets': 9 }) }),
    ).rejects.toThrow('(recipients 0: 3 before, 1 after)');
    await expect(move({ source: counted, target: differing({ 'recipients 0': 3 }) })).rejects.toThrow(
      '(content octets: 9 before, 0 after)',
    );
    const sampled = { ...source, samples: async () => [7], contentHash: async () => 'one' };
    await expect(move({ source: sampled })).rejects.toThrow('the content of message 7 is another one');
    // Also of a sample behind the first portion of them.
    const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
    const many = {
      ...source,
      samples: async (after: number) => (after === 0 ? hundred : [101]),
      contentHash: async (seq: number) => (seq === 101 ? 'one' : target.contentHash(seq)),
    };
    await expect(move({ source: many })).rejects.toThrow('the content of message 101 is another one');
    expect(await target.meta(TRANSFER_MARK)).toContain('"isFinished":false');
  });

  it('does not begin from a database that is being filled', async () => {
    await mark(source, { other: 'an old one' });
    await expect(move()).rejects.toThrow('is itself being filled from an old one; finish that first');
  });

  it('does not begin into a database of another transfer', async () => {
    await mark(target, {});
    await expect(move()).rejects.toThrow('belongs to another transfer (else)');
    await mark(source, { id: 'x', role: 'source', other: target.name });
    await expect(begunBetween(source, target)).rejects.toThrow(TransferError);
    await mark(target, { id: 'x' });
    expect(await begunBetween(source, target)).toMatchObject({ arrived: { id: 'x' } });
    await cancelTransfer(source);
  });
});

describe('a file of SQLite as one end', () => {
  it('is read in portions of so many octets, also where texts contain NUL', async () => {
    const path = join(folder, 'large.db');
    const db = openDatabase(path);
    for (const key of ['a', 'b', 'c'])
      db.run(
        `INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
         VALUES ('o', 'p', ?, x'00', 200, ?, 1)`,
        key,
        `\0${'x'.repeat(PORTION_BYTES / 2)}`,
      );
    db.close();
    const end = await openSqliteEnd(path, 'source');
    const table = COPIED.find(({ name }) => name === 'idempotency');
    expect(table && (await end.read(table, null))).toHaveLength(1);
    await end.close();
  });

  it('names a link that leads nowhere', async () => {
    symlinkSync(join(folder, 'missing'), join(folder, 'new.db'));
    await expect(openSqliteEnd(join(folder, 'new.db'), 'target')).rejects.toThrow(
      /new\.db cannot be made: it is a link that leads nowhere; remove it\.$/,
    );
  });

  it.runIf(process.getuid?.() === 0)('does not give away what a link beside it leads to', async () => {
    chownSync(folder, 12_345, 12_345);
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, '');
    symlinkSync(elsewhere, join(folder, 'new.db-lock'));
    const end = await openSqliteEnd(join(folder, 'new.db'), 'target');
    expect(statSync(join(folder, 'new.db')).uid).toBe(12_345);
    expect(statSync(elsewhere).uid).toBe(0);
    await end.close();
  });
});

describe('a SQLite end', () => {
  const NAME = { name: 'name', key: ['id'], numbered: 'id' } as const;
  const EVENT = { name: 'event', key: ['seq'], numbered: 'seq' } as const;
  const progress = { name: TRANSFER_MARK, value: '{}' };

  it('stores a portion with its progress, or neither', async () => {
    const [one, two] = [
      { id: 1, text: 'a' },
      { id: 1, text: 'b' },
    ];
    await expect(target.write(NAME, [one, two], progress)).rejects.toThrow('UNIQUE');
    expect([await target.count(NAME), await target.meta(TRANSFER_MARK)]).toEqual([0, null]);
    await target.write(NAME, [one], progress);
    expect([await target.count(NAME), await target.meta(TRANSFER_MARK)]).toEqual([1, '{}']);
  });

  it('never gives a number again', async () => {
    await target.setLastNumber(EVENT, 7);
    await target.setLastNumber(EVENT, 3);
    expect(await target.lastNumber(EVENT)).toBe(7);
  });

  it('reads fewer rows at once where these are large, whichever of their columns it is', async () => {
    const [table] = COPIED.filter(({ name }) => name === 'template_version');
    if (table === undefined) throw new Error('It is copied');
    const half = 'x'.repeat(PORTION_BYTES / 2);
    const texts = [{ html: half }, { plain: half }, { html: half }, { plain: half }, { html: 'x' }];
    const rows = texts.map((text, i) => ({
      ...{
        seq: i + 1,
        template_seq: 1,
        version: i + 1,
        created_at: 1,
        subject: null,
        html: null,
        plain: null,
      },
      ...text,
    }));
    await target.write(table, rows, progress);
    const read = async (after: number) => (await target.read(table, [after])).map(({ seq }) => seq);
    expect([await read(0), await read(2), await read(4)]).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('is no source with an older schema', async () => {
    const path = join(folder, 'old.db');
    const db = openDatabase(path);
    db.run("UPDATE meta SET value = 200 WHERE name = 'schema_version'");
    db.close();
    await expect(openSqliteEnd(path, 'source')).rejects.toThrow('is of an older postrider (schema 200,');
  });
});

it('shuts out servers before it prepares and finishes the target, and a finished source is never used again', async () => {
  const called: string[] = [];
  const noting = (end: End, names: readonly ('shutOut' | 'prepare' | 'finish')[]): End => {
    const noted = names.map((name) => [name, async () => void called.push(name)]);
    return { ...end, ...Object.fromEntries(noted) };
  };
  const [from, to] = [noting(source, ['shutOut']), noting(target, ['prepare', 'finish'])];
  await mark(source, { id: 'first', role: 'source', other: target.name });
  await move({ source: from, target: to });
  expect(called).toEqual(['shutOut', 'prepare', 'finish']);
  for (const end of [source, target])
    expect(JSON.parse((await end.meta(TRANSFER_MARK)) ?? '')).toMatchObject({
      id: 'first',
      isFinished: true,
    });
  await expect(cancelTransfer(source)).rejects.toThrow('is finished, and mail may have been sent from there');
  await expect(begunBetween(source, target)).rejects.toThrow('was already transferred to');
});

it('what was being sent or called when a process was killed waits again', () => {
  const row = { state: 1, epoch: 7, may_be_duplicate: 0 };
  expect(arriving('delivery', row)).toEqual({ state: 0, epoch: 0, may_be_duplicate: 1 });
  expect(arriving('webhook_call', row)).toEqual({ state: 0, epoch: 0, may_be_duplicate: 0 });
  expect(arriving('capture', row)).toBe(row);
  expect(arriving('delivery', { ...row, state: 2 })).toMatchObject({ state: 2, epoch: 7 });
});

it('a portion ends before it has too many octets, and has one row at least', () => {
  const half = PORTION_BYTES / 2;
  const rows = [half, half, 1].map((size, at) => ({ at, size }));
  expect(lastOfPortion(rows)?.at).toBe(1);
  expect(lastOfPortion(rows.slice(0, 2))?.at).toBe(1);
  expect(lastOfPortion([{ at: 9, size: PORTION_BYTES + 1 }, ...rows])?.at).toBe(9);
  expect(lastOfPortion([])).toBeUndefined();
});
