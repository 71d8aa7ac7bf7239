/**
 * The PostgreSQL engine of `Store`, for several nodes on one database. Takes the URL of a database of its own and
 * brings it to the schema of this program. Opening refuses servers whose commits cannot be relied on (StoreRefused).
 * Later, if the server does not work, calls reject with StoreUnavailable until a call or the probe, about once a
 * second, succeeds.
 */
import { createAskerLine } from '../../lib/asker-line.ts';
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createSystemRandom, type Random } from '../../lib/random.ts';
import { createRounds } from '../../lib/rounds.ts';
import { createSignal } from '../../lib/signal.ts';
import { askerOf } from '../shared/asker.ts';
import { createCaptureTeller } from '../shared/capture-teller.ts';
import { createGroupCommit } from '../shared/group-commit.ts';
import { type Migration, readMigrations } from '../shared/migrations.ts';
import type { OperationName, ParamsOf, ResultOf } from '../shared/operation.ts';
import { StoreRefused } from '../shared/refusal.ts';
import { type Store, type StoreLog, StoreUnavailable } from '../store.ts';
import type { SuppressionChange } from '../topics/suppressions.ts';
import {
  commitAccepted,
  commitCharged,
  commitGroups,
  commitTogether,
  isPlainButForQuotas,
} from './acceptance.ts';
import { addressOf } from './engine/address.ts';
import { checkClock, checkOurs, checkPlace, notePlace, PutBack } from './engine/checks.ts';
import { createConnections, type Link, openLink } from './engine/connections.ts';
import { createStatements } from './engine/db.ts';
import { keepEras, type Loss, lastLoss, leavePlace, noteLoss } from './engine/eras.ts';
import { isConnectionLost, NotConnected, unavailableReason } from './engine/errors.ts';
import { createHealth } from './engine/health.ts';
import { createHints, hintOf } from './engine/hints.ts';
import { lockHolder } from './engine/locks.ts';
import { migrate } from './engine/migrate.ts';
import { checkRights, checkRoom, checkSessions, openingError } from './engine/opening.ts';
import type { Read, Write } from './engine/operation.ts';
import { createShared, type Session } from './engine/session.ts';
import { createTransactions, type Done, type How } from './engine/transact.ts';
import { OPERATIONS } from './operations.ts';
import { settle, settleTogether } from './settling.ts';

const COMMITS_AT_ONCE = 2;
const STORING: ReadonlySet<string> = new Set(['commit', 'settle']);
const ERAS_EVERY_MS = 60_000;
const LOSS_TOLD_MS = 24 * 3_600_000;
const MAX_GROUP_OPERATIONS = 128;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
const MAX_GROUP_ROWS = 1000;

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  clock: Clock;
  random?: Random;
  /** A file of this node, which holds what server it used last. */
  placeFile?: string;
  /** For tests: other schema changes than those of this program. */
  migrations?: readonly Migration[];
  log?: StoreLog;
  /** The store can no longer work: a newer program changed the schema while this one was silent. */
  onLost?: (reason: string) => void;
  /** Called after each commit of acceptances or outcomes, with its duration. */
  onCommit?: (durationMs: number) => void;
}

type Accepted = ParamsOf<'commitAccepted'>;
type Settling = ParamsOf<'settle'>;
type Answer<Result> = { kind: 'value'; value: Result } | { kind: 'thrown'; error: unknown };

/** Connects and brings the database to the schema of this program. Throws StoreRefused. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, clock, migrations = readMigrations('postgres') } = options;
  const log: StoreLog = options.log ?? (() => {});
  const random = options.random ?? createSystemRandom();
  const statements = createStatements();
  let loss: Loss | null = null;
  /** The timeline for which it was counted, so that connections that open together count it once. */
  let lossOn = '';
  const prepared = await prepareDatabase();
  const connections = createConnections(url, statements, clock, prepared, {
    async prepare(link, isOther) {
      shared.lookAgain();
      await knowPlace(link, isOther).catch((error: unknown) => {
        // Connections that were opened earlier, when the restore could not be noticed yet, are closed too.
        if (error instanceof PutBack) connections.cut();
        throw error;
      });
      if (isOther) await keepEras(link, clock);
    },
    takenOver: () => shared.forget(),
  });
  const shared = createShared(connections, migrations.at(-1)?.version ?? 0);
  /** The lane of searches has one connection. */
  const searchLine = createAskerLine(1);
  const transactions = createTransactions({ connections, shared, clock, random });
  const lockedBy = () => connections.use('quick', ({ db }) => lockHolder(db, 'writers'));
  const health = createHealth(clock, { probe, gaveUp, lockedBy }, log);
  const suppressions = createSignal<readonly SuppressionChange[]>();
  const hints = createHints({
    open: () => openLink(url, statements, 'hints', connections.timeline()),
    clock,
    self: uuidv7(clock, random),
    suppressed: suppressions.notify,
  });
  const captured = createCaptureTeller();
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | null = null;
  /**
   * Eras end by the number of stored rows, which any node may store, so each node checks regularly. It also notes its place so often
   * that the note is later than a copy of the database that is put back.
   */
  const eras = createRounds({
    clock,
    everyMs: ERAS_EVERY_MS,
    firstAfterMs: ERAS_EVERY_MS,
    work: () =>
      connections.use('cold', async (link) => {
        await knowPlace(link);
        loss = await lastLoss(link);
        await keepEras(link, clock);
      }),
    failed(error) {
      if (health.noteFailure(error) === null)
        log('error', 'the next era could not be made', { reason: String(error) });
    },
  });

  /** The timeline of its server. */
  async function prepareDatabase(): Promise<string> {
    const address = addressOf(url);
    try {
      const link = await openLink(url, statements, 'cold', null);
      try {
        const few = await checkRoom(link);
        if (few !== null)
          log('warn', 'the database allows fewer connections than this process would use', { reason: few });
        const other = await openLink(url, statements, 'schema', link.timeline);
        try {
          await checkSessions(link, other);
          await knowPlace(link);
          await checkClock(link.db, clock);
          await checkRights(link);
          await migrate(other, { migrations, clock, log });
          loss = await lastLoss(link);
        } finally {
          await other.end();
        }
        await checkOurs(link.db);
        await keepEras(link, clock);
        return link.timeline;
      } finally {
        await link.end();
      }
    } catch (error) {
      throw openingError(error, address);
    }
  }

  async function knowPlace(link: Link, notes = true): Promise<void> {
    const file = options.placeFile;
    if (file === undefined) return;
    const warn = (error: unknown) =>
      log('warn', 'which server of PostgreSQL is used could not be noted', { file, reason: String(error) });
    try {
      const { lostAfter, ...place } = await checkPlace(link.db, link.timeline, file, warn);
      if (lostAfter !== null && lossOn !== link.timeline) {
        lossOn = link.timeline;
        const events = await noteLoss(link, clock, lostAfter);
        if (events > 0) log('error', sentenceOf(events), { events });
        loss = await lastLoss(link);
      }
      if (notes && place.system !== '') await notePlace(place, file).catch(warn);
    } catch (error) {
      if (error instanceof PutBack) await leavePlace(link, clock, error).catch(warn);
      throw error;
    }
  }

  function writable(): ReturnType<Store['writable']> {
    const state = health.writable();
    const isRecent = loss !== null && clock.now() - loss.at < LOSS_TOLD_MS;
    return state.ok && loss !== null && isRecent ? { ...state, loss: sentenceOf(loss.events) } : state;
  }

  async function probe(): Promise<void> {
    const row = { name: 'probed_at', value: String(clock.now()) };
    await connections.use('quick', ({ db }) => db.put('meta', 'name', row));
  }

  /** If the network is silent, running calls would wait for their deadline, a search for half a minute. */
  function gaveUp(error: unknown): void {
    if (error instanceof NotConnected || isConnectionLost(error)) connections.cut();
  }

  /** Converts errors to those that callers of a store know. */
  async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
    if (closing !== null) throw new StoreUnavailable('The store is closed');
    health.requireAnswering();
    const work_ = work();
    running.add(work_);
    try {
      return await work_;
    } catch (error) {
      if (error instanceof StoreRefused && error.reason === 'newer-schema')
        options.onLost?.(error.message.replace(/\.$/, ''));
      const reason = health.noteFailure(error);
      throw reason === null
        ? error
        : new StoreUnavailable(`The store cannot work: ${reason}`, { cause: error });
    } finally {
      running.delete(work_);
    }
  }

  async function transact<Result>(how: How, work: (session: Session) => Promise<Result>): Promise<Result> {
    const sinceMs = clock.monotonicMs();
    const stores = STORING.has(how.lane);
    const done = await transactions.run(how, work).catch((error: unknown) => {
      if (stores) health.noteStored(how.lane, error);
      throw error;
    });
    if (stores) options.onCommit?.(clock.monotonicMs() - sinceMs);
    if (stores) health.noteStored(how.lane);
    health.noteSuccess();
    tell(done);
    const { calls, queues, suppressed } = done.session;
    // Lanes whose statements store events, and webhook calls with them.
    hints.note({ queues: [...queues], calls: calls.size > 0 || stores, suppressed });
    return done.result;
  }

  function tell({ session }: Done<unknown>): void {
    if (session.captured.length > 0) captured.tell(session.captured);
    if (session.overdue) shared.lookAgain();
    const { suppressed } = session;
    if (suppressed.length > 0) suppressions.notify(suppressed);
  }

  function write<Name extends OperationName>(
    operation: Write<Name>,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name>> {
    const { lane = 'cold', ...how } = operation.options;
    const idempotency = keyOf(operation.operation, params);
    return asked<ResultOf<Name>>(async () => {
      const how_ = { ...how, lane, idempotency };
      const result = await transact<ResultOf<Name>>(how_, (session) => operation(session, params));
      hints.note(hintOf(operation.operation, result));
      return result;
    });
  }

  function read<Name extends OperationName>(
    operation: Read<Name>,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name>> {
    const { search = false, lane = search ? 'search' : 'read' } = operation.options;
    const use = () => connections.use(lane, ({ db }) => operation(db, params, shared));
    return asked(() => (search ? searchLine(askerOf(params), use) : use()));
  }

  /** Acceptances that arrive together are committed together, on two connections in turn. */
  const commits = Array.from({ length: COMMITS_AT_ONCE }, () =>
    gathered<'commitAccepted'>((batch) => inGroups(batch, commitGroups(batch), commitGroup)),
  );
  let turn = 0;

  async function commitGroup(group: readonly Accepted[]): Promise<Answer<ResultOf<'commitAccepted'>>[]> {
    const how = { lane: 'commit', whole: true, repeatable: true } as const;
    return apart(group, (some) => transact(how, (session) => commitTogether(session, some)));
  }

  /** Those that charge the same quotas lock their rows once together; each domain's apart. */
  const charges = gathered<'commitAccepted'>((batch) => {
    const byDomains = Object.groupBy(batch, ({ quotas = [] }) =>
      quotas.map(({ domain }) => domain).join(' '),
    );
    const groups = Object.values(byDomains).flatMap((same) => commitGroups(same ?? []));
    return inGroups(batch, groups, chargeGroup);
  });

  async function chargeGroup(group: readonly Accepted[]): Promise<Answer<ResultOf<'commitAccepted'>>[]> {
    const how = { lane: 'commit', repeatable: true } as const;
    const alone = (one: Accepted) => answerOf(write(commitAccepted, one));
    if (group.length < 2) return Promise.all(group.map(alone));
    const together = await answerOf(transact(how, (session) => commitCharged(session, group)));
    if (together.kind === 'value') {
      return Promise.all(
        group.map((one, i) => {
          const value = together.value[i] ?? null;
          return value === null ? alone(one) : { kind: 'value' as const, value };
        }),
      );
    }
    if (unavailableReason(together.error) !== null) return group.map(() => together);
    log('warn', 'messages were stored one by one', { reason: String(together.error) });
    return Promise.all(group.map(alone));
  }

  /** The answers in the order of `batch`, whose operations are done in `groups`, one after the other. */
  async function inGroups(
    batch: readonly Accepted[],
    groups: readonly (readonly Accepted[])[],
    work: (group: readonly Accepted[]) => Promise<Answer<ResultOf<'commitAccepted'>>[]>,
  ): Promise<Answer<ResultOf<'commitAccepted'>>[]> {
    const answers = new Map<Accepted, Answer<ResultOf<'commitAccepted'>>>();
    for (const group of groups) {
      for (const [i, answer] of (await work(group)).entries()) answers.set(group[i] ?? unreachable(), answer);
    }
    return batch.map((call) => answers.get(call) ?? unreachable());
  }

  function accept(params: Accepted): Promise<ResultOf<'commitAccepted'>> {
    if (!isPlainButForQuotas(params)) return write(commitAccepted, params);
    const bytes = params.messages.reduce((sum, { content }) => sum + content.length, 0);
    const rows = params.messages.reduce((sum, { recipients }) => sum + recipients.length, 1);
    if (params.quotas !== undefined) return asked(() => charges(params, bytes, rows));
    turn = (turn + 1) % COMMITS_AT_ONCE;
    return asked(() => (commits[turn] ?? unreachable())(params, bytes, rows));
  }

  /** Outcomes that arrive together are stored together; those that need more than one statement follow. */
  const settles = gathered<'settle'>(async (batch) => {
    const how = { lane: 'settle', whole: true, repeatable: true } as const;
    const first = await apart(batch, (some) => transact(how, (session) => settleTogether(session, some)));
    return Promise.all(first.map((answer, i) => settleRest(batch[i] ?? unreachable(), answer)));
  });

  async function settleRest(
    params: Settling,
    first: Answer<readonly ('settled' | null)[]>,
  ): Promise<Answer<ResultOf<'settle'>>> {
    if (first.kind === 'thrown') return first;
    const rest = params.settlements.filter((_, i) => first.value[i] === null);
    if (rest.length === 0) return { kind: 'value', value: first.value.map(() => 'settled') };
    try {
      const how = { lane: 'settle', repeatable: true } as const;
      const others = await transact(how, (session) => settle(session, { ...params, settlements: rest }));
      const left = [...others];
      return { kind: 'value', value: first.value.map((one) => one ?? left.shift() ?? 'lease-lost') };
    } catch (error) {
      return { kind: 'thrown', error };
    }
  }

  /** Everything that arrives while one batch is committed forms the next batch. */
  function gathered<Name extends 'commitAccepted' | 'settle'>(
    commit: (batch: readonly ParamsOf<Name>[]) => Promise<Answer<ResultOf<Name>>[]>,
  ): (params: ParamsOf<Name>, bytes: number, rows: number) => Promise<ResultOf<Name>> {
    const group = createGroupCommit<ParamsOf<Name>, Answer<ResultOf<Name>>>(
      { clock, commit: (batch) => commit(batch.map(({ call }) => call)) },
      {
        maxOperations: MAX_GROUP_OPERATIONS,
        maxBytes: MAX_GROUP_BYTES,
        maxRows: MAX_GROUP_ROWS,
        patienceMs: 0,
        patienceRows: 1,
      },
    );
    return async (call, bytes, rows) => {
      const { promise, resolve } = Promise.withResolvers<Answer<ResultOf<Name>>>();
      group.add({ call, bytes, rows, portion: false, synced: true, patientRows: null, settle: resolve });
      const answer = await promise;
      if (answer.kind === 'thrown') throw answer.error;
      return answer.value;
    };
  }

  async function answerOf<Result>(work: Promise<Result>): Promise<Answer<Result>> {
    try {
      return { kind: 'value', value: await work };
    } catch (error) {
      return { kind: 'thrown', error };
    }
  }

  /** Answers each operation of a group; a faulty one does not make the others fail. */
  async function apart<Call, Result>(
    group: readonly Call[],
    work: (some: readonly Call[]) => Promise<readonly Result[]>,
  ): Promise<Answer<Result>[]> {
    try {
      return (await work(group)).map((value) => ({ kind: 'value', value }));
    } catch (error) {
      if (group.length === 1 || unavailableReason(error) !== null) {
        return group.map(() => ({ kind: 'thrown', error }));
      }
      return (await Promise.all(group.map((one) => apart([one], work)))).flat();
    }
  }

  async function close(): Promise<void> {
    health.close();
    await Promise.allSettled([...running, eras.stop()]);
    await hints.close();
    // What happens to the database from now on is not known.
    if (health.writable().ok) await connections.use('cold', (link) => knowPlace(link)).catch(() => {});
    await connections.close();
    log('info', 'the store is closed', {});
  }

  const operations = Object.fromEntries(
    Object.values(OPERATIONS).map((one) => [
      one.operation,
      (params: never) =>
        one.kind === 'write'
          ? write(one as Write<OperationName>, params)
          : read(one as Read<OperationName>, params),
    ]),
  ) as Pick<Store, OperationName>;

  void eras.start();
  log('info', 'the store is open', {});
  return {
    ...operations,
    writable,
    close() {
      closing ??= close();
      return closing;
    },
    onCaptured: captured.subscribe,
    onHint: hints.onHint,
    hearsHints: hints.hears,
    onSuppressed: suppressions.subscribe,
    commitAccepted: accept,
    settle: (params) =>
      captured.settling(params, (given) => asked(() => settles(given, 0, given.settlements.length))),
  };
}

function sentenceOf(lostEvents: number): string {
  return `the database lacks about ${lostEvents} of the last events since another server took over, or since it was put back to an earlier time: messages and outcomes are missing, and mail that was sent may be sent again without being marked as a possible duplicate`;
}

/** A commit of messages checks its key itself. */
function keyOf(name: OperationName, params: unknown): How['idempotency'] {
  if (name === 'commitAccepted' || typeof params !== 'object' || params === null) return undefined;
  return 'idempotency' in params ? (params.idempotency as How['idempotency']) : undefined;
}

function unreachable(): never {
  throw new Error('A group lost one of its operations');
}
