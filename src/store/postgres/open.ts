/**
 * The PostgreSQL engine of `Store`, for several nodes on one database. Takes the URL of a database of its own; brings it
 * to the schema of this program. Opening refuses servers that do not keep what they answer (StoreRefused); afterwards a
 * server that is away makes calls reject with StoreUnavailable until one, or the probe about once a second, succeeds.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { createSystemRandom, type Random } from '../../lib/random.ts';
import { createCaptureTeller } from '../shared/capture-teller.ts';
import { createGroupCommit } from '../shared/group-commit.ts';
import { StoreRefused } from '../shared/refusal.ts';
import { type Store, StoreUnavailable } from '../store.ts';
import type { SuppressionChange } from '../topics/suppressions.ts';
import { commitAccepted, commitGroups, commitTogether, isPlain } from './acceptance.ts';
import { checkClock } from './engine/checks.ts';
import { createConnections, openLink } from './engine/connections.ts';
import { createStatements } from './engine/db.ts';
import { keepEras } from './engine/eras.ts';
import { unavailableReason } from './engine/errors.ts';
import { createHealth } from './engine/health.ts';
import { migrate, readMigrations } from './engine/migrate.ts';
import type { OperationName, ParamsOf, Read, ResultOf, Write } from './engine/operation.ts';
import { createShared, type Session } from './engine/session.ts';
import { createTransactions, type Done, type How } from './engine/transact.ts';
import { OPERATIONS } from './operations.ts';
import { settle, settleTogether } from './settling.ts';

const COMMITS_AT_ONCE = 2;
const ERAS_EVERY_MS = 10 * 60_000;
const MAX_GROUP_OPERATIONS = 128;
const MAX_GROUP_BYTES = 4 * 1024 * 1024;
const MAX_GROUP_ROWS = 1000;

/** Gets the store's log lines. */
export type StoreLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, string | number | boolean>>,
) => void;

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  clock: Clock;
  random?: Random;
  log?: StoreLog;
}

type Accepted = ParamsOf<'commitAccepted'>;
type Settling = ParamsOf<'settle'>;
type Answer<Result> = { kind: 'value'; value: Result } | { kind: 'thrown'; error: unknown };

/** Connects and brings the database to the schema of this program. Throws StoreRefused, StoreUnavailable. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, clock } = options;
  const log: StoreLog = options.log ?? (() => {});
  const random = options.random ?? createSystemRandom();
  const statements = createStatements();
  await prepareDatabase();
  const connections = createConnections(url, statements);
  const shared = createShared(connections);
  const transactions = createTransactions({ connections, shared, clock, random });
  const health = createHealth(clock, probe, log);
  const captured = createCaptureTeller();
  const suppressionListeners = new Set<{ tell(added: readonly SuppressionChange[]): void }>();
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | null = null;
  let eraTimer: Timer | null = null;

  async function prepareDatabase(): Promise<void> {
    try {
      const link = await openLink(url, statements, 'cold');
      try {
        await checkClock(link.db, clock);
        await migrate(link, readMigrations(), clock);
        await keepEras(link, clock);
      } finally {
        await link.end();
      }
    } catch (error) {
      const reason = error instanceof StoreRefused ? null : unavailableReason(error);
      throw reason === null ? error : new StoreUnavailable(reason, { cause: error });
    }
  }

  async function probe(): Promise<void> {
    const row = { name: 'probed_at', value: String(clock.now()) };
    await connections.use('quick', ({ db }) => db.put('meta', 'name', row));
  }

  /** Errors as the callers of a store know them. */
  async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
    if (closing !== null) throw new StoreUnavailable('The store is closed');
    const work_ = work();
    running.add(work_);
    try {
      return await work_;
    } catch (error) {
      const reason = health.noteFailure(error);
      throw reason === null
        ? error
        : new StoreUnavailable(`The store cannot work: ${reason}`, { cause: error });
    } finally {
      running.delete(work_);
    }
  }

  async function transact<Result>(how: How, work: (session: Session) => Promise<Result>): Promise<Result> {
    const done = await transactions.run(how, work);
    health.noteSuccess();
    tell(done);
    return done.result;
  }

  function tell({ session }: Done<unknown>): void {
    if (session.captured.length > 0) captured.tell(session.captured);
    const { suppressed } = session;
    if (suppressed.length > 0) for (const { tell: told } of [...suppressionListeners]) told(suppressed);
  }

  function write<Name extends OperationName>(
    operation: Write<Name>,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name>> {
    const { lane = 'cold', ...how } = operation.options;
    const idempotency = keyOf(operation.operation, params);
    return asked(() => transact({ ...how, lane, idempotency }, (session) => operation(session, params)));
  }

  function read<Name extends OperationName>(
    operation: Read<Name>,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name>> {
    const lane = operation.options.search === true ? 'search' : 'read';
    return asked(() => connections.use(lane, ({ db }) => operation(db, params, shared)));
  }

  /** Acceptances that arrive together are committed together, on two connections in turn. */
  const commits = Array.from({ length: COMMITS_AT_ONCE }, () =>
    gathered<'commitAccepted'>(async (batch) => {
      const answers = new Map<Accepted, Answer<ResultOf<'commitAccepted'>>>();
      for (const group of commitGroups(batch)) {
        for (const [i, answer] of (await commitGroup(group)).entries()) {
          const operation = group[i];
          if (operation !== undefined) answers.set(operation, answer);
        }
      }
      return batch.map((call) => answers.get(call) ?? { kind: 'thrown', error: new Error('No answer') });
    }),
  );
  let turn = 0;

  async function commitGroup(group: readonly Accepted[]): Promise<Answer<ResultOf<'commitAccepted'>>[]> {
    const how = { lane: 'commit', whole: true, repeatable: true } as const;
    return apart(group, (some) => transact(how, (session) => commitTogether(session, some)));
  }

  function accept(params: Accepted): Promise<ResultOf<'commitAccepted'>> {
    if (!isPlain(params)) return write(commitAccepted, params);
    turn = (turn + 1) % COMMITS_AT_ONCE;
    const bytes = params.messages.reduce((sum, { content }) => sum + content.length, 0);
    const rows = params.messages.reduce((sum, { recipients }) => sum + recipients.length, 1);
    return asked(() => (commits[turn] ?? unreachable())(params, bytes, rows));
  }

  /** Outcomes that arrive together are recorded together; those that need more than the one statement follow. */
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
      return { kind: 'value', value: first.value.map((one) => one ?? left.shift() ?? 'fenced') };
    } catch (error) {
      return { kind: 'thrown', error };
    }
  }

  /** Takes what arrives while the last batch is committed as the next one. */
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

  /** An answer for each of a group; one that is faulty does not take the others along. */
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

  /** Eras end with what is stored, whoever stores it: any node looks, now and then. */
  function watchEras(): void {
    eraTimer = clock.setTimer(ERAS_EVERY_MS, () => {
      const keeping = connections.use('cold', (link) => keepEras(link, clock));
      running.add(keeping);
      keeping
        .catch((error: unknown) => {
          if (health.noteFailure(error) === null)
            log('error', 'the next era could not be made', { reason: String(error) });
        })
        .finally(() => {
          running.delete(keeping);
          if (closing === null) watchEras();
        });
    });
  }

  async function close(): Promise<void> {
    health.close();
    eraTimer?.cancel();
    await Promise.allSettled(running);
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

  watchEras();
  log('info', 'the store is open', {});
  return {
    ...operations,
    writable: health.writable,
    close() {
      closing ??= close();
      return closing;
    },
    onCaptured: captured.subscribe,
    onSuppressed(told) {
      const listener = { tell: told };
      suppressionListeners.add(listener);
      return () => void suppressionListeners.delete(listener);
    },
    commitAccepted: accept,
    settle: (params) =>
      captured.settling(params, (given) => asked(() => settles(given, 0, given.settlements.length))),
  };
}

/** A commit of messages looks at its key itself. */
function keyOf(name: OperationName, params: unknown): How['idempotency'] {
  if (name === 'commitAccepted' || typeof params !== 'object' || params === null) return undefined;
  return 'idempotency' in params ? (params.idempotency as How['idempotency']) : undefined;
}

function unreachable(): never {
  throw new Error('A group lost one of its operations');
}
