/**
 * Brings a database to the schema of this program: applies the missing numbered changes (`store/shared/migrations.ts`), each in one
 * transaction together with its number. Several nodes may start at once: one applies, the others wait for the lock of
 * the table `migration` and find nothing left. Nodes of neighbouring versions may work side by side: a change says which
 * programs go on working with it, and `meta` holds the least number of the schema that a program must know. Refuses
 * databases that need a newer program, those of other programs, and changes under nodes that could not go on.
 */
import type { Clock } from '../../../lib/clock.ts';
import { sleep } from '../../../lib/clock.ts';
import type { Migration } from '../../shared/migrations.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { StoreLog } from '../../store.ts';
import type { Link } from './connections.ts';
import type { Db } from './db.ts';
import { codeOf } from './errors.ts';
import { lockHolder } from './locks.ts';

/** A schema change that waits for locks makes everybody behind it wait, so it gives up soon and tries again. */
const LOCK_MS = 200;
const TRIES = 150;
const LOCK_NOT_AVAILABLE = '55P03';
/** A node with a heartbeat in this time counts as alive. One that was killed just now is waited for. */
const ALIVE_MS = 15_000;
const WAIT_MS = 20_000;
const NEEDED = 'needed_schema';

export interface MigrateParams {
  migrations: readonly Migration[];
  clock: Clock;
  /** How long nodes of an older version are waited for. */
  waitMs?: number | undefined;
  log?: StoreLog;
}

/**
 * Applies missing changes; returns the version reached. A change takes as long as it needs, so the link must not limit its
 * statements; that of another process is waited for. Throws StoreRefused.
 */
export async function migrate(link: Link, params: MigrateParams): Promise<number> {
  const { migrations, clock, waitMs = WAIT_MS, log = () => {} } = params;
  const isNew = await begin(link);
  const newest = migrations.at(-1)?.version ?? 0;
  const told = new Set<string>();
  const tell: StoreLog = (level, message, fields) => {
    if (told.has(message)) return;
    told.add(message);
    log(level, message, fields);
  };
  const begins = (from: number) => {
    if (!isNew) tell('info', 'the schema of the database is changed', { from, to: newest });
  };
  const patience = { link, clock, waitMs, endMs: clock.monotonicMs() + waitMs, tell };
  for (const migration of migrations) {
    const version = await patiently(patience, () => apply(link, migration, newest, begins));
    // A newer program has been here, so no change of this one is missing.
    if (version > newest) await requireKnown(link.db, newest);
  }
  return newest;
}

/** Throws StoreRefused if a program that knows the schema up to `newest` cannot work with this database. */
export async function requireKnown(db: Db, newest: number): Promise<void> {
  const row = await db.get<{ version: number }>('SELECT coalesce(max(version), 0) AS version FROM migration');
  const version = row?.version ?? 0;
  if (version <= newest) return;
  const sql = `SELECT value::int4 AS needed FROM meta WHERE name = '${NEEDED}'`;
  const meta = (await hasTable(db, 'meta')) ? await db.get<{ needed: number }>(sql) : undefined;
  if ((meta?.needed ?? version) <= newest) return;
  throw new StoreRefused(
    'newer-schema',
    `A newer postrider has changed the database: its schema is number ${version}, this program knows up to ${newest} and cannot work with it; run the newer program.`,
  );
}

/**
 * Whether the database has been used before; false: it is empty. Throws StoreRefused if it has other tables, or ours where they
 * are not looked for.
 */
export async function hasSchema(link: Link): Promise<boolean> {
  const found = await tablesIn(link);
  if (found.length === 0) await refuseElsewhere(link.db);
  if (found.length === 0 || found.includes('migration')) return found.length > 0;
  throw new StoreRefused(
    'foreign',
    'The database holds tables of another program; give postrider an empty one of its own.',
  );
}

/**
 * The search path of the role leads to an empty schema, for example one that was made with the name of the role: a server would
 * begin anew there, and leave behind what waits.
 */
async function refuseElsewhere(db: Db): Promise<void> {
  const row = await db.get<{ user: string; database: string; here: string; there: string }>(
    `SELECT current_user::text AS "user", current_database()::text AS database, current_schema()::text AS here, n.nspname AS there
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'dest_queue' ORDER BY c.oid LIMIT 1`,
  );
  if (row === undefined) return;
  const { user, database, here, there } = row;
  throw new StoreRefused(
    'unfit',
    `The tables of postrider are in the schema "${there}" of the database "${database}", and the role "${user}" looks for them in "${here}", which is empty; correct it: ALTER ROLE "${user}" IN DATABASE "${database}" SET search_path = "${there}"; another instance needs a database of its own. Nothing was written.`,
  );
}

/** Creates the table of migrations in an empty database; whether it was empty. */
async function begin(link: Link): Promise<boolean> {
  if (await hasSchema(link)) return false;
  try {
    await link.exec(
      'CREATE TABLE migration (version int4 PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())',
    );
  } catch (error) {
    // Another node created it at the same time; several errors can mean that.
    if (!(await tablesIn(link)).includes('migration')) throw error;
  }
  return true;
}

async function tablesIn({ db }: Link): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')",
  );
  return rows.map(({ name }) => name);
}

/** Applies one migration unless it was applied, or a newer program was here; returns the greatest number before. */
async function apply(
  { db, exec }: Link,
  migration: Migration,
  newest: number,
  begins: (from: number) => void,
): Promise<number> {
  const { version, sql, since = version } = migration;
  await exec(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
  try {
    await exec('LOCK TABLE migration IN EXCLUSIVE MODE').catch((error: unknown) => {
      throw codeOf(error) === LOCK_NOT_AVAILABLE ? new OthersTurn('', { cause: error }) : error;
    });
    const row = await db.get<{ newest: number; applied: boolean }>(
      `SELECT coalesce(max(version), 0) AS newest, coalesce(bool_or(version = $1), false) AS applied FROM migration`,
      version,
    );
    if (row?.applied !== true && (row?.newest ?? 0) <= newest) {
      await endOlder(db, migration);
      begins(row?.newest ?? 0);
      await exec(sql);
      await db.run('INSERT INTO migration (version) VALUES ($1)', version);
      await noteNeeded(db, since);
    }
    await exec('COMMIT');
    return row?.newest ?? 0;
  } catch (error) {
    await exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * Throws NodesAtWork where a node lives that could not work with the changed schema. The epochs of those that have been silent
 * end: one that was only paused finds that it may begin no other.
 */
async function endOlder(db: Db, { version, since = version }: Migration): Promise<void> {
  if (!(await hasTable(db, 'node'))) return;
  // Rows of nodes from before this column existed have no number.
  const older = `ended_at IS NULL AND coalesce((to_jsonb(node)->>'schema_number')::int4, 0) < $1`;
  const nodes = await db.all<{ host: string; pid: number }>(
    `SELECT host, pid FROM node WHERE ${older} AND heartbeat_at > extract(epoch FROM clock_timestamp()) * 1000 - $2::int4
     ORDER BY host, pid LIMIT 10`,
    since,
    ALIVE_MS,
  );
  if (nodes.length > 0) {
    const named = nodes.map(({ host, pid }) => `${host} (process ${pid})`).join(', ');
    throw new NodesAtWork(version, named);
  }
  await db.run(
    `UPDATE node SET ended_at = floor(extract(epoch FROM clock_timestamp()) * 1000) WHERE ${older}`,
    since,
  );
  await db.run('DELETE FROM node_lease WHERE epoch IN (SELECT epoch FROM node WHERE ended_at IS NOT NULL)');
}

async function noteNeeded(db: Db, since: number): Promise<void> {
  if (!(await hasTable(db, 'meta'))) return;
  await db.run(
    `INSERT INTO meta (name, value) VALUES ('${NEEDED}', $1::int4::text)
     ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value::int4, excluded.value::int4)::text`,
    since,
  );
}

async function hasTable(db: Db, name: string): Promise<boolean> {
  return (
    (await db.get<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', name))?.there === true
  );
}

class NodesAtWork extends StoreRefused {
  readonly nodes: string;

  constructor(version: number, nodes: string) {
    super(
      'older-nodes',
      `Servers of an older version work on the database, and cannot work with its schema after change number ${version}: ${nodes}. Stop them, then start this one. Nothing was changed.`,
    );
    this.nodes = nodes;
  }
}

/** Another process changes the schema now. */
class OthersTurn extends Error {}

interface Patience {
  link: Link;
  clock: Clock;
  waitMs: number;
  /** When older nodes must have stopped. */
  endMs: number;
  /** Each line once. */
  tell: StoreLog;
}

async function patiently<Result>(patience: Patience, work: () => Promise<Result>): Promise<Result> {
  const { link, clock, waitMs, endMs, tell } = patience;
  for (let tries = 1; ; ) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof NodesAtWork && clock.monotonicMs() < endMs) {
        const message =
          'waits until servers of an older version have stopped, which cannot work with the new schema';
        tell('warn', message, { servers: error.nodes, seconds: Math.round(waitMs / 1000) });
      } else if (error instanceof OthersTurn) {
        tell('info', 'waits until another process has changed the schema of the database', {});
      } else if (codeOf(error) === LOCK_NOT_AVAILABLE) {
        const holder = (await lockHolder(link.db, 'readers too')) ?? 'others use its tables';
        if (tries === TRIES)
          throw new StoreRefused('inaccessible', `The schema of the database cannot be changed: ${holder}.`, {
            cause: error,
          });
        tell('warn', 'a change of the schema of the database waits for locks', { reason: holder });
        tries += 1;
      } else {
        throw error;
      }
      await sleep(clock, LOCK_MS);
    }
  }
}
