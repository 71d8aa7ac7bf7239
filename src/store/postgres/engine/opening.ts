/**
 * Checks before anything is written: whether the role may create tables, and whether a session stays on one
 * connection of the server. Turns errors of opening into sentences that say what to do.
 */
import type { PostgresAddress } from '../../../lib/postgres-url.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { Link } from './connections.ts';
import { CONNECTIONS, codeOf, unavailableReason } from './errors.ts';

/** The error of connecting or of the first statements; StoreRefused if the operator can do something about it. */
export function openingError(error: unknown, address: PostgresAddress): unknown {
  if (error instanceof StoreRefused) return error;
  const reason = unavailableReason(error);
  const sentence =
    sentenceOf(error, address) ??
    (reason === null ? null : `The store cannot work: ${reason}. Try again when that is mended.`);
  return sentence === null ? error : new StoreRefused('inaccessible', sentence, { cause: error });
}

const POOLED =
  'The database is reached through a pooler that changes connections between transactions, so that settings and prepared statements are lost; use pool_mode = session, or the address of the server itself.';

const USED = `each process needs at least ${CONNECTIONS.fewest} and uses up to ${CONNECTIONS.most}`;

/** Error codes of Node that mean the same for an operator. */
const NOBODY = ['ECONNREFUSED', 'ENOENT'];
const NOT_FOUND = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NONAME'];
const NO_ANSWER = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'];
const UNKNOWN_AUTHORITY = [
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
];

function sentenceOf(error: unknown, address: PostgresAddress): string | null {
  if (!(error instanceof Error)) return null;
  const { message } = error;
  const { user, database } = address;
  const code = codeOf(error) ?? '';
  const at = address.hosts
    .map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
    .join(', ');
  if (NOBODY.includes(code))
    return `Nothing listens at ${at}; start PostgreSQL there, or correct host and port of the database.`;
  if (NOT_FOUND.includes(code))
    return `The host of the database, ${at}, is not found; correct it, or the resolvers of this machine.`;
  if (NO_ANSWER.includes(code) || message === 'timeout expired')
    return `The database at ${at} does not answer; look at the server there, its address, and firewalls between.`;
  if (message === 'The server does not support SSL connections')
    return `The server at ${at} has no TLS; set ssl = on there, or add sslmode=disable to the URL if nobody else can read on that network.`;
  if (UNKNOWN_AUTHORITY.includes(code))
    return `The certificate of the server at ${at} comes from an authority that is not known here; name a file with its certificate by sslrootcert=FILE in the URL.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of the server at ${at} is for other names; write one of these into the key database, or use sslmode=verify-ca.`;
  if (code === 'CERT_HAS_EXPIRED') return `The certificate of the server at ${at} has ended; renew it there.`;
  if (code === '28P01')
    return `The server refuses the password of the role "${user}"; correct it in database, database-password or PGPASSWORD.`;
  if (code === '28000')
    return `The server refuses the role "${user}" (${message}); create the role, or let it in by pg_hba.conf.`;
  if (code === '3D000')
    return `There is no database "${database}" at ${at}; make it: CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0.`;
  if (code === '42501')
    return `The role "${user}" may not use what is in the database (${message}); make it the owner of the database and its tables.`;
  if (code === '53300')
    return `The server has no connection left (${message}); ${USED}: raise its max_connections or the CONNECTION LIMIT of the role or the database, or have others use fewer.`;
  // No such statement; it exists already; `BEGIN` is refused.
  if (code === '26000' || code === '42P05' || /statement pooling/.test(message)) return POOLED;
  return null;
}

/** Throws StoreRefused if the role cannot create the tables, including those of later eras. */
export async function checkRights({ db }: Link): Promise<void> {
  const row = await db.get<{
    user: string;
    database: string;
    path: string;
    /** The first of the path; null: none of it exists, or only those of the server. */
    schema: string | null;
    may: boolean | null;
    /** Of the schema; null: whoever owns the database. */
    owner: string | null;
  }>(
    `SELECT current_user::text AS "user", current_database()::text AS database, current_setting('search_path') AS path,
       CASE WHEN current_schema() !~ '^pg_' THEN current_schema()::text END AS schema,
       has_schema_privilege(current_schema(), 'CREATE') AS may,
       (SELECT nullif(pg_get_userbyid(nspowner), 'pg_database_owner') FROM pg_namespace WHERE nspname = current_schema()) AS owner`,
  );
  if (row === undefined || (row.schema !== null && row.may === true)) return;
  const owned = row.owner === null ? `DATABASE "${row.database}"` : `SCHEMA "${row.schema}"`;
  throw new StoreRefused(
    'inaccessible',
    row.schema === null
      ? `The role "${row.user}" finds no schema in the database "${row.database}" by its search_path ${row.path}; have that name the schema with its tables, or make one, in that database: CREATE SCHEMA IF NOT EXISTS AUTHORIZATION "${row.user}"; ALTER ROLE "${row.user}" IN DATABASE "${row.database}" SET search_path = "${row.user}". Nothing was written.`
      : `The role "${row.user}" may not make tables in the database "${row.database}"; make it the owner, in that database: ALTER ${owned} OWNER TO "${row.user}". Nothing was written.`,
  );
}

/**
 * Throws StoreRefused if one process alone may not have as many connections as it needs. Returns a sentence where it may have
 * fewer than it would use, otherwise null. What others use is not counted, because it changes.
 */
export async function checkRoom({ db }: Link): Promise<string | null> {
  const row = await db.get<{ most: number; who: string; fix: string }>(
    `SELECT most, who, fix FROM pg_roles, pg_database, LATERAL (VALUES
       (CASE WHEN rolconnlimit >= 0 AND NOT rolsuper THEN rolconnlimit END,
         format('the role "%s"', rolname), format('ALTER ROLE "%s" CONNECTION LIMIT ${CONNECTIONS.most}', rolname)),
       (CASE WHEN datconnlimit >= 0 AND NOT rolsuper THEN datconnlimit END,
         format('the database "%s"', datname), format('ALTER DATABASE "%s" CONNECTION LIMIT ${CONNECTIONS.most}', datname)),
       (current_setting('max_connections')::int4 - CASE WHEN rolsuper THEN 0 ELSE
         current_setting('superuser_reserved_connections')::int4 + coalesce(current_setting('reserved_connections', true)::int4, 0)
         END, 'the server', 'raise its max_connections')
     ) limits (most, who, fix)
     WHERE rolname = session_user AND datname = current_database() ORDER BY most LIMIT 1`,
  );
  if (row === undefined || row.most >= CONNECTIONS.most) return null;
  const { most, who, fix } = row;
  const told = `The limit of connections of ${who} is ${most}; ${USED}: ${fix}.`;
  if (most < CONNECTIONS.fewest) throw new StoreRefused('unfit', `${told} Nothing was written.`);
  return told;
}

/**
 * Throws StoreRefused if transactions of one session run on different connections of the server (pgbouncer:
 * `pool_mode = transaction`): settings and prepared statements would be those of other sessions. The check works
 * because a pooler gives the free connection of an idle session to the next transaction.
 */
export async function checkSessions(idle: Link, other: Link): Promise<void> {
  const pidOf = async ({ db }: Link) =>
    (await db.get<{ pid: number }>('SELECT pg_backend_pid() AS pid'))?.pid;
  const before = await pidOf(idle);
  await other.exec('BEGIN');
  try {
    if (before !== (await pidOf(other)) && before === (await pidOf(idle))) return;
  } finally {
    await other.exec('ROLLBACK');
  }
  throw new StoreRefused(
    'unfit',
    'The database is reached through a pooler that changes connections between transactions, so that settings and prepared statements are lost; use pool_mode = session, or the address of the server itself. Nothing was written.',
  );
}
