/**
 * The SQLite engine of `Store`: one file, one writer thread in each process, reader threads, group commit. Takes a path
 * in an existing folder; creates `<path>`, `-wal`, `-shm` and `-lock` there, readable only by their owner. Opening
 * refuses files that it must not change (StoreRefused); afterwards a full or failing disk makes calls reject with
 * StoreUnavailable until a write or the probe, about once a second, succeeds.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { createSignal } from '../../lib/signal.ts';
import { createTurns } from '../../lib/turns.ts';
import { createCaptureTeller } from '../shared/capture-teller.ts';
import { createGroupCommit, type Operation } from '../shared/group-commit.ts';
import type { OperationName, ParamsOf, ResultOf } from '../shared/operation.ts';
import { createSuppressionFilter } from '../shared/suppression-filter.ts';
import { refuseTransferred, TRANSFER_MARK } from '../shared/transfer-mark.ts';
import { type Store, type StoreLog, StoreUnavailable } from '../store.ts';
import type { SuppressionChange } from '../topics/suppressions.ts';
import { copyBeforeMigration } from './before-migration.ts';
import { factOf } from './copy.ts';
import { contentBytes, createArena } from './engine/arena.ts';
import type { Connection } from './engine/connection.ts';
import { createInProcess } from './engine/in-process.ts';
import { joinLock, makePrivate, refuseForeign, type StoreLock, takeLock } from './engine/lock.ts';
import { countOf } from './engine/operation.ts';
import type {
  Answer,
  FailStoreWrites,
  ReaderData,
  ReaderReplies,
  ReaderRequest,
  WriteCall,
  WriterData,
  WriterReply,
  WriterRequest,
} from './engine/protocol.ts';
import { openReader } from './engine/reader-work.ts';
import { createReaders, settleWith } from './engine/readers.ts';
import { createThread } from './engine/thread.ts';
import { openWriter } from './engine/writer-work.ts';
import { READS, type ReadName, WRITES, type WriteName } from './operations.ts';

const MAX_BATCH_OPERATIONS = 128;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** One is committed while the next waits in the writer's port. */
const BATCHES_AT_ONCE = 2;
const PATIENT_ROWS = 64;
/** About 30 ms of the writer. */
const MAX_BATCH_ROWS = 1000;
const PROBE_EVERY_MS = 1000;
export interface SqliteStoreOptions {
  /** Database file; its folder must exist. */
  path: string;
  clock: Clock;
  log?: StoreLog;
  /**
   * How long outcomes and events wait for other operations before they are committed alone. Default 20, 0 = not at all.
   */
  patienceMs?: number;
  /**
   * The writer thread died, for this reason, and answers were lost: committed rows may be leased without anybody
   * knowing it. `writable` is false from now on. Later writes use a new thread, so that a process can release what it
   * has before it ends. Called at most once.
   */
  onLost?: (reason: string) => void;
  /** Called after each batch with how long its commit took. */
  onCommit?: (durationMs: number) => void;
  /** Failpoints `store-write` and `store-death`, for tests. */
  failStoreWrites?: FailStoreWrites | null;
  /** Largest size of the database in pages, for tests of a full disk. */
  maxPages?: number | null;
  /**
   * Other processes of this machine, which all use this option, work with the same file. Default: no other process may.
   */
  shared?: boolean;
  /** 0 = everything on the caller's thread: for a command, and for tests on a virtual clock. Default: separate threads. */
  threads?: 0;
  /**
   * With `threads: 0`: the only connection, with the current schema, for everything; `path` is ignored, no lock is
   * taken, and `close` leaves it open. Several stores may follow one another on it, as processes do on a file.
   */
  connection?: Connection;
}

const NO_LOCK: StoreLock = { alone: true, async share() {}, release() {} };

/** Only the owner may read the file and its lock. */
async function lockPrivately(path: string, clock: Clock, shared: boolean): Promise<StoreLock> {
  makePrivate(path);
  for (const suffix of ['-wal', '-shm']) refuseForeign(`${path}${suffix}`);
  return shared ? joinLock(path, clock) : takeLock(path);
}

async function prepareFile(path: string, lock: StoreLock, log: StoreLog): Promise<void> {
  try {
    refuseTransferred(factOf(path, TRANSFER_MARK));
    if (!lock.alone) return;
    const copy = await copyBeforeMigration(path);
    if (copy?.kind === 'made') {
      const { file, from, to } = copy;
      log('info', 'the database was copied before it is migrated', { file, from, to });
    } else if (copy?.kind === 'no-room') {
      const { bytes, free } = copy;
      log('warn', 'the disk has no room for a copy of the database before it is migrated', { bytes, free });
    }
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

/** Opens or creates the database and starts its threads. Throws StoreRefused. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, clock } = options;
  const log: StoreLog = options.log ?? (() => {});
  const patienceMs = options.patienceMs ?? 20;
  const { connection, shared = false } = options;
  const lock = connection === undefined ? await lockPrivately(path, clock, shared) : NO_LOCK;
  if (connection === undefined) await prepareFile(path, lock, log);
  const arena = createArena(connection === undefined ? MAX_BATCH_BYTES : 0, BATCHES_AT_ONCE);
  const writerData: WriterData = {
    path,
    arena: arena.shared,
    failStoreWrites: options.failStoreWrites ?? null,
    maxPages: options.maxPages ?? null,
    sharing: !shared ? 'none' : lock.alone ? 'first' : 'joined',
  };
  const readerData: ReaderData = { path };
  const alone = options.threads === 0;
  let lost: string | null = null;
  const writer = alone
    ? createInProcess<WriterRequest, WriterReply>(() => openWriter(writerData, connection))
    : createThread<WriterRequest, WriterReply>(
        'store-writer',
        new URL('./engine/writer-thread.ts', import.meta.url),
        writerData,
        writerDied,
      );
  const makeReader = () =>
    alone
      ? createInProcess<ReaderRequest, ReaderReplies>(() => openReader(readerData, connection))
      : createThread<ReaderRequest, ReaderReplies>(
          'store-reader',
          new URL('./engine/reader-thread.ts', import.meta.url),
          readerData,
        );
  /** Kept until the process ends, because reads and writes of other pages succeed. */
  let damage: string | null = null;
  const readers = createReaders({
    clock,
    log,
    thread: makeReader,
    onDamage(reason) {
      damage = reason;
    },
  });
  try {
    await writer.start();
    await lock.share();
  } catch (error) {
    await Promise.all([readers.close(), writer.close({ kind: 'close' })]);
    lock.release();
    throw error;
  }

  const captured = createCaptureTeller();
  const suppressions = createSignal<readonly SuppressionChange[]>();
  let trouble: string | null = null;
  let probeTimer: Timer | null = null;
  let closing: Promise<void> | null = null;
  let answeredMs = 0;
  let large: Promise<unknown> = Promise.resolve();

  function writerDied(why: string): void {
    if (lost !== null) return;
    lost = `the store's writing thread died: ${why}`;
    writerData.failStoreWrites = null;
    log('error', 'the writing thread of the store died', { reason: why });
    options.onLost?.(lost);
  }

  function noteTrouble(reason: string): void {
    if (trouble === null) log('error', 'the store cannot write', { reason });
    trouble = reason;
    if (closing !== null) return;
    probeTimer ??= clock.setTimer(PROBE_EVERY_MS, () => {
      probeTimer = null;
      void probe();
    });
  }

  function noteSuccess(): void {
    if (trouble !== null) log('info', 'the store can write again', {});
    trouble = null;
    probeTimer?.cancel();
    probeTimer = null;
  }

  async function probe(): Promise<void> {
    const [answer] = await askWriter({ kind: 'probe' }, []);
    if (answer?.kind === 'value') noteSuccess();
    else noteTrouble(answer?.kind === 'unavailable' ? answer.reason : 'the probe failed');
  }

  /** One answer per call even if the thread dies. */
  async function askWriter(request: WriterRequest, transfer: readonly ArrayBuffer[]): Promise<WriterReply> {
    try {
      return await writer.ask(request, transfer);
    } catch (error) {
      const count = request.kind === 'batch' ? request.calls.length : 1;
      const answer: Answer =
        error instanceof StoreUnavailable
          ? { kind: 'unavailable', reason: error.message, lasting: false, damaged: false }
          : { kind: 'thrown', error };
      return Array.from({ length: count }, () => answer);
    }
  }

  async function commit(batch: readonly Operation<WriteCall, Answer>[]): Promise<WriterReply> {
    const { calls, transfer } = arena.pack(batch.map((operation) => operation.call));
    const synced = batch.some((operation) => operation.synced);
    const began = clock.monotonicMs();
    const answers = await askWriter({ kind: 'batch', calls, synced }, transfer);
    // It waited in the port until the batch ahead of it was answered.
    const waitedUntil = Math.max(began, answeredMs);
    answeredMs = clock.monotonicMs();
    options.onCommit?.(answeredMs - waitedUntil);
    const failed = answers.find((answer) => answer.kind === 'unavailable');
    if (failed?.damaged) damage = failed.reason;
    if (failed !== undefined) noteTrouble(failed.reason);
    else if (answers.some((answer) => answer.kind === 'value')) noteSuccess();
    for (const answer of answers) {
      if (answer.kind !== 'value') continue;
      if (answer.captured !== undefined) captured.tell(answer.captured);
      const { suppressed } = answer;
      if (suppressed !== undefined) suppressions.notify(suppressed);
    }
    return answers;
  }

  const group = createGroupCommit<WriteCall, Answer>(
    { clock, commit },
    {
      maxOperations: MAX_BATCH_OPERATIONS,
      maxBytes: MAX_BATCH_BYTES,
      maxRows: MAX_BATCH_ROWS,
      patienceMs,
      patienceRows: PATIENT_ROWS,
      ahead: !alone,
    },
  );

  function write<Name extends WriteName>(name: Name, params: ParamsOf<Name>): Promise<ResultOf<Name>> {
    if (closing !== null) return Promise.reject(new StoreUnavailable('The store is closed'));
    return enqueue(name, params);
  }

  function enqueue<Name extends WriteName>(name: Name, params: ParamsOf<Name>): Promise<ResultOf<Name>> {
    const { promise, resolve, reject } = Promise.withResolvers<ResultOf<Name>>();
    const call = { name, params } as WriteCall;
    const { synced = false, portion = false, rows, patient } = WRITES[name].options;
    const patientRows = countOf(patient, params);
    group.add({
      call,
      bytes: contentBytes(call),
      rows: countOf(rows, params) ?? patientRows ?? 1,
      portion,
      synced,
      patientRows: patienceMs === 0 ? null : patientRows,
      settle: (answer) => settleWith(answer, resolve, reject),
    });
    return promise;
  }

  function read<Name extends ReadName>(name: Name, params: ParamsOf<Name>): Promise<ResultOf<Name>> {
    if (closing !== null) return Promise.reject(new StoreUnavailable('The store is closed'));
    return readers.read(name, params);
  }

  /**
   * Large contents are copied and committed one operation after the other: those that wait, also for a slow disk, hold no copy,
   * and others commit meanwhile.
   */
  function commitAccepted(params: ParamsOf<'commitAccepted'>): Promise<ResultOf<'commitAccepted'>> {
    // On the caller's own thread nothing is handed over.
    if (alone || closing !== null || arena.fits(params)) return write('commitAccepted', params);
    const committed = large.then(async () =>
      enqueue('commitAccepted', await arena.copied(params, createTurns(clock))),
    );
    large = committed.catch(() => {});
    return committed;
  }

  const settle = (params: ParamsOf<'settle'>) => captured.settling(params, (given) => write('settle', given));

  const suppressing = createSuppressionFilter(() => read('suppressedDomains', undefined));

  /** A write that may store the first entry of a domain. */
  function suppress<Result>(write: () => Promise<Result>): Promise<Result> {
    suppressing.changed();
    return write().finally(() => suppressing.changed());
  }

  async function suppressedAmong(params: ParamsOf<'suppressedAmong'>): Promise<ResultOf<'suppressedAmong'>> {
    // Entries added by another process are not known here.
    const known = shared || (suppressing.known(params.domain) ?? (await suppressing.mayHave(params.domain)));
    return known ? read('suppressedAmong', params) : [];
  }

  async function close(): Promise<void> {
    probeTimer?.cancel();
    await large;
    await group.drain();
    // Readers first: the last connection to close copies the journal into the database.
    await readers.close();
    await writer.close({ kind: 'close' });
    lock.release();
    log('info', 'the store is closed', { path });
  }

  /** A method for each operation; those below that do more replace theirs. */
  const operations = Object.fromEntries([
    ...Object.values(WRITES).map(({ operation }) => [operation, (params: never) => write(operation, params)]),
    ...Object.values(READS).map(({ operation }) => [operation, (params: never) => read(operation, params)]),
  ]) as Pick<Store, OperationName>;

  log('info', 'the store is open', { path });
  return {
    writable() {
      const reason = lost ?? trouble ?? readers.unreadable();
      if (reason !== null) return { ok: false, reason };
      return { ok: true, ...(damage === null ? {} : { damage }) };
    },
    close() {
      closing ??= close();
      return closing;
    },
    onCaptured: captured.subscribe,
    // Processes on one file notice each other's changes by searching.
    onHint: () => () => {},
    hearsHints: () => false,
    onSuppressed: suppressions.subscribe,
    ...operations,
    commitAccepted,
    settle: (params) =>
      params.settlements.some((settlement) => settlement.suppress !== undefined)
        ? suppress(() => settle(params))
        : settle(params),
    suppressedAmong,
    addSuppressions: (params) => suppress(() => write('addSuppressions', params)),
    recordReturn: (params) => suppress(() => write('recordReturn', params)),
    unsubscribe: (params) => suppress(() => write('unsubscribe', params)),
  };
}
