/** Databases of their own for tests of the whole program, on the server of PostgreSQL that the tests have. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { addressOf, clientOptions } from '../../src/store/postgres/engine/address.ts';
import type { Scope } from '../scenarios/harness.ts';

/** Runs statements one after the other as the role of `url`, in its database; the rows of the last one. */
export async function runSql(url: string, ...statements: string[]): Promise<unknown[]> {
  const address = addressOf(url);
  const place = address.hosts[0] ?? { host: '', port: 0 };
  const types = { getTypeParser: () => (text: string) => text };
  const client = new pg.Client({ ...clientOptions({ ...address, ...place }), types });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const text of statements) ({ rows } = await client.query({ text }));
    return rows;
  } finally {
    await client.end();
  }
}

/** The URL of a new, empty database; it is removed with the scope. `on`: another server than that of the tests. */
export async function emptyDatabase(scope: Scope, on: string | null = null, options = ''): Promise<string> {
  const server = inject('postgres');
  if ('missing' in server) throw new Error(server.missing);
  const url = on ?? server.url;
  const name = `postrider_${randomBytes(6).toString('hex')}`;
  await runSql(
    url,
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING ${options === '' ? "'UTF8'" : options}`,
  );
  // A server of the file may be gone before its databases.
  scope.defer(() => runSql(url, `DROP DATABASE ${name} WITH (FORCE)`).catch(() => undefined));
  return url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
}

/** How many rows `FROM` gives. */
export async function countOf(url: string, from: string): Promise<number> {
  const [row] = (await runSql(url, `SELECT count(*) AS n FROM ${from}`)) as { n: string }[];
  return Number(row?.n);
}
