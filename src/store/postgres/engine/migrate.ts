/**
 * Brings a database to the schema of this program: applies the missing numbered files of `migrations/`, each in one
 * transaction together with its number. Several nodes may start at once: one applies, the others wait for the lock of
 * the table `migration` and find nothing left. Refuses databases of newer versions and of other programs unchanged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '../../../lib/clock.ts';
import { sleep } from '../../../lib/clock.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { Link } from './connections.ts';
import { codeOf } from './errors.ts';

/** One numbered change of the schema. */
export interface Migration {
  version: number;
  sql: string;
}

/** A change that waits for others' locks makes everybody behind it wait: it gives up soon, and tries again. */
const LOCK_MS = 200;
const TRIES = 150;
const LOCK_NOT_AVAILABLE = '55P03';

/** The migrations of this program, ascending. */
export function readMigrations(): Migration[] {
  const folder = new URL('../migrations/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), sql: readFileSync(new URL(name, folder), 'utf8') }));
}

/** Applies what is missing; returns the version reached. Throws StoreRefused. */
export async function migrate(link: Link, migrations: readonly Migration[], clock: Clock): Promise<number> {
  await begin(link);
  const newest = migrations.at(-1)?.version ?? 0;
  for (const migration of migrations) {
    const version = await patiently(clock, () => apply(link, migration, newest));
    if (version > newest) {
      throw new StoreRefused(
        'newer-schema',
        `The database was made by a newer postrider: its schema is number ${version}, this program knows up to ${newest}; run the newer program.`,
      );
    }
  }
  return newest;
}

/** Makes the table of migrations in an empty database. */
async function begin(link: Link): Promise<void> {
  const found = await tablesIn(link);
  if (found.includes('migration')) return;
  if (found.length > 0) {
    throw new StoreRefused(
      'foreign',
      'The database holds tables of another program; give postrider an empty one of its own.',
    );
  }
  try {
    await link.exec(
      'CREATE TABLE migration (version int4 PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())',
    );
  } catch (error) {
    // Another node made it at this moment, which several errors say.
    if (!(await tablesIn(link)).includes('migration')) throw error;
  }
}

async function tablesIn({ db }: Link): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')",
  );
  return rows.map(({ name }) => name);
}

/** Applies one migration unless it is there, or one that this program does not know; the greatest number before. */
async function apply({ db, exec }: Link, { version, sql }: Migration, newest: number): Promise<number> {
  await exec(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
  try {
    await exec('LOCK TABLE migration IN EXCLUSIVE MODE');
    const row = await db.get<{ newest: number; applied: boolean }>(
      `SELECT coalesce(max(version), 0) AS newest, coalesce(bool_or(version = $1), false) AS applied FROM migration`,
      version,
    );
    if (row?.applied !== true && (row?.newest ?? 0) <= newest) {
      await exec(sql);
      await db.run('INSERT INTO migration (version) VALUES ($1)', version);
    }
    await exec('COMMIT');
    return row?.newest ?? 0;
  } catch (error) {
    await exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function patiently<Result>(clock: Clock, work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE || tries === TRIES) throw error;
      await sleep(clock, LOCK_MS);
    }
  }
}
