/**
 * Moves everything of an instance from one database to an empty one of the other engine. Nobody works on either meanwhile:
 * the source is marked before the first row is copied, so that no server starts on it again. Rows are copied in portions; how
 * far the target is stands in the target, in the transaction of each portion, so that a transfer that was cut off goes on there.
 * At the end both sides are compared, delivery is held, and only then the target may be used.
 *
 *   mark source ─► copy table by table ─► compare ─► numbers, hold ─► finish source ─► finish target
 */
import type { Clock } from '../lib/clock.ts';
import { unavailableReason as postgresReason } from '../store/postgres/engine/errors.ts';
import { StoreRefused } from '../store/shared/refusal.ts';
import { readMark, TRANSFER_MARK, type TransferMark } from '../store/shared/transfer-mark.ts';
import { unavailableReason as sqliteReason } from '../store/sqlite/engine/sqlite-errors.ts';
import { type End, type Hold, type Key, keyOf, TransferError } from './end.ts';
import { arriving, COPIED, type CopiedTable, type Row } from './tables.ts';

export interface Transferred {
  /** Rows and tables copied, including those of earlier, interrupted runs. */
  rows: number;
  tables: number;
  /** Contents whose octets were compared. */
  compared: number;
  /** Recipients that wait. */
  waiting: number;
}

interface Given {
  source: End;
  target: End;
  clock: Clock;
  /** Id of this transfer; an interrupted one keeps its first id. */
  id: string;
  /** null: waiting mail is sent as soon as a server starts. */
  hold: Hold | null;
  progress(done: number, total: number): void;
  /** Called after each portion; for tests that cut a transfer off. */
  copied?: (table: string) => void;
}

const SAMPLES_AT_ONCE = 100;
const HOLDS: CopiedTable = { name: 'hold', key: ['id'] };

/** Throws TransferError. What was copied stays, and the next run continues from there. */
export async function transfer(given: Given): Promise<Transferred> {
  try {
    return await move(given);
  } catch (cause) {
    const reason = sqliteReason(cause) ?? postgresReason(cause);
    if (reason === null || cause instanceof StoreRefused) throw cause;
    throw new TransferError(
      `The transfer was cut off: ${reason}. Repeat the command when that is mended: it goes on where it was.`,
      { cause },
    );
  }
}

async function move(given: Given): Promise<Transferred> {
  const { source, target, clock } = given;
  const mark = await begin(given);
  await source.shutOut(clock.now());
  const total = await rowsOf(source);
  await target.prepare(await largestNumber(source));
  await copy(given, mark, total);
  const compared = await compare(source, target);
  for (const table of COPIED)
    if (table.numbered !== undefined) await target.setLastNumber(table, await source.lastNumber(table));
  await target.finish();
  const waiting = await target.waiting();
  const { hold } = given;
  const held = hold === null || waiting === 0 ? [] : [holdRow(hold)];
  const over = { ...mark, isFinished: true, table: null, after: null, rows: total };
  // The source is finished first. Otherwise a server could start on both, or a transfer could be canceled whose
  // target is in use.
  await finishSource(source, clock.now());
  await target.write(HOLDS, held, { name: TRANSFER_MARK, value: JSON.stringify(over) });
  return { rows: total, tables: COPIED.length, compared, waiting };
}

/** Cancels a transfer that is not finished: servers may use the source again. The target stays as it is. */
export async function cancelTransfer(source: End): Promise<void> {
  const mark = readMark(await source.meta(TRANSFER_MARK));
  if (mark?.role !== 'source') throw new TransferError(`No transfer of ${source.name} has begun.`);
  if (mark.isFinished)
    throw new TransferError(
      `The transfer of ${source.name} to ${mark.other} is finished, and mail may have been sent from there; transfer it back into a new database instead.`,
    );
  await source.removeMeta(TRANSFER_MARK);
}

/** How many rows will be copied, by table. */
export async function plan(source: End): Promise<{ table: string; rows: number }[]> {
  const counts = [];
  for (const table of COPIED) counts.push({ table: table.name, rows: await source.count(table) });
  return counts.filter(({ rows }) => rows > 0);
}

/**
 * The marks of an interrupted transfer between the two databases; null for a side without one. Throws TransferError
 * if a transfer can neither continue nor begin; changes nothing.
 */
export async function begunBetween(
  source: End,
  target: End,
): Promise<{ begun: TransferMark | null; arrived: TransferMark | null }> {
  const [from, to] = [await markOf(source), await markOf(target)];
  if (from?.role === 'target' && !from.isFinished)
    throw new TransferError(`${source.name} is itself being filled from ${from.other}; finish that first.`);
  const begun = from?.role === 'source' ? from : null;
  // Also if the last run finished the source, but not yet the target.
  if (begun !== null && to?.role === 'target' && to.id === begun.id && !to.isFinished)
    return { begun, arrived: to };
  if (begun?.isFinished === true)
    throw new TransferError(`${source.name} was already transferred to ${begun.other}.`);
  if (begun !== null && begun.other !== target.name)
    throw new TransferError(
      `A transfer of ${source.name} to ${begun.other} has begun; go on with that one, or give it up with --cancel.`,
    );
  if (to !== null)
    throw new TransferError(
      `${target.name} belongs to another transfer (${to.other}); give an empty database.`,
    );
  await requireEmpty(target);
  return { begun, arrived: null };
}

/** Marks both sides, or returns the target's mark of an interrupted transfer. */
async function begin({ source, target, clock, id }: Given): Promise<TransferMark> {
  const { begun, arrived } = await begunBetween(source, target);
  if (arrived !== null) return arrived;
  const common = { id: begun?.id ?? id, at: clock.now(), isFinished: false };
  const nowhere = { table: null, after: null, rows: 0 };
  await save(source, { ...common, role: 'source', other: target.name, ...nowhere });
  const mark: TransferMark = { ...common, role: 'target', other: source.name, ...nowhere };
  await save(target, mark);
  return mark;
}

async function requireEmpty(target: End): Promise<void> {
  for (const table of COPIED) {
    if ((await target.count(table)) > 0)
      throw new TransferError(
        `${target.name} is not empty (${table.name === 'meta' ? 'a server was started on it' : `there are rows in ${table.name}`}); give an empty database.`,
      );
  }
}

async function copy(
  { source, target, progress, copied }: Given,
  begun: TransferMark,
  total: number,
): Promise<void> {
  let { rows } = begun;
  const first = Math.max(
    0,
    COPIED.findIndex(({ name }) => name === begun.table),
  );
  for (const table of COPIED.slice(first)) {
    let after: Key | null = table.name === begun.table ? begun.after : null;
    for (;;) {
      const portion = await source.read(table, after);
      const last = portion.at(-1);
      if (last === undefined) break;
      after = keyOf(table, last);
      rows += portion.length;
      const mark = { ...begun, table: table.name, after, rows };
      await target.write(
        table,
        portion.map((row) => arriving(table.name, row)),
        { name: TRANSFER_MARK, value: JSON.stringify(mark) },
      );
      progress(rows, total);
      copied?.(table.name);
    }
  }
}

/** Throws TransferError if the two sides differ; returns how many contents were compared. */
async function compare(source: End, target: End): Promise<number> {
  for (const table of COPIED) {
    const [there, here] = [await source.count(table), await target.count(table)];
    if (there !== here) throw differ(`${table.name}: ${there} rows were to arrive, ${here} did`);
  }
  const [before, after] = [waitingAgain(await source.sums()), await target.sums()];
  for (const what of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [there, here] = [before[what] ?? 0, after[what] ?? 0];
    if (there !== here) throw differ(`${what}: ${there} before, ${here} after`);
  }
  let compared = 0;
  for (let at = 0; ; ) {
    const samples = await source.samples(at, SAMPLES_AT_ONCE);
    for (const seq of samples) {
      if ((await source.contentHash(seq)) !== (await target.contentHash(seq)))
        throw differ(`the content of message ${seq} is another one`);
    }
    compared += samples.length;
    at = samples.at(-1) ?? 0;
    if (samples.length < SAMPLES_AT_ONCE) return compared;
  }
}

/** The sums of the source as they must be in the target, where leased recipients and calls wait again. */
function waitingAgain(sums: Readonly<Record<string, number>>): Record<string, number> {
  const again: Record<string, number> = {};
  for (const [what, n] of Object.entries(sums)) {
    const name = what.replace(/ 1$/, ' 0');
    again[name] = (again[name] ?? 0) + n;
  }
  return again;
}

function differ(what: string): TransferError {
  return new TransferError(
    `The two databases differ (${what}). Give the transfer up with --cancel, empty the target, and report this.`,
  );
}

async function rowsOf(source: End): Promise<number> {
  return (await plan(source)).reduce((sum, { rows }) => sum + rows, 0);
}

async function largestNumber(source: End): Promise<number> {
  let largest = 0;
  for (const table of COPIED)
    if (table.numbered !== undefined) largest = Math.max(largest, await source.lastNumber(table));
  return largest;
}

async function finishSource(source: End, at: number): Promise<void> {
  const mark = await markOf(source);
  if (mark !== null) await save(source, { ...mark, at, isFinished: true });
}

function holdRow({ id, reason, at, by }: Hold): Row {
  return { id, reason, created_at: at, created_by: by };
}

async function markOf(end: End): Promise<TransferMark | null> {
  return readMark(await end.meta(TRANSFER_MARK));
}

async function save(end: End, mark: TransferMark): Promise<void> {
  await end.setMeta(TRANSFER_MARK, JSON.stringify(mark));
}
