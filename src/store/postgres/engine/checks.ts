/**
 * What is asked of a server at each new connection: whether a commit that it answers can be relied on, and whether it
 * can store what is stored here. Throws StoreRefused with a sentence for the operator; nothing was written.
 */
import type { Client } from 'pg';
import type { Clock } from '../../../lib/clock.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { Db } from './db.ts';

const OLDEST_VERSION = 150_000;

const SQL = `SELECT current_setting('server_version_num')::int4 AS version, current_setting('server_version') AS shown,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
  current_setting('synchronous_commit') AS synced, current_setting('synchronous_standby_names') AS standbys,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS recovering,
  EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') AS icu`;

export interface ServerSettings {
  version: number;
  shown: string;
  fsync: string;
  pages: string;
  synced: string;
  standbys: string;
  encoding: string;
  recovering: boolean;
  icu: boolean;
}

export async function checkServer(client: Client): Promise<void> {
  const { rows } = await client.query({ text: SQL });
  const wrong = wrongWith(rows[0] as ServerSettings);
  if (wrong !== null) throw new StoreRefused('unfit', `${wrong} Nothing was written.`);
}

/** Beyond it, leases and due times of this machine would mean other moments than those of the others. */
const MAX_SKEW_MS = 60_000;

/** Compares the clocks of this machine and of the database. Throws StoreRefused. */
export async function checkClock(db: Db, clock: Clock): Promise<void> {
  const asked = clock.now();
  const row = await db.get<{ now: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now',
  );
  const there = row?.now ?? asked;
  // What the answer took is not a difference.
  const skewMs = Math.max(asked - there, there - clock.now());
  if (skewMs <= MAX_SKEW_MS) return;
  const seconds = Math.round(skewMs / 1000);
  throw new StoreRefused(
    'unfit',
    `The clocks of this machine and of the database differ by ${seconds} seconds; have both set by NTP. Nothing was written.`,
  );
}

/** What is wrong with a server, as a sentence; null = nothing. */
export function wrongWith(server: ServerSettings): string | null {
  if (server.version < OLDEST_VERSION) {
    return `The database runs PostgreSQL ${server.shown}; postrider needs 15 or newer.`;
  }
  if (server.recovering) {
    return 'The database is a standby, which only reads; give the address of the primary server.';
  }
  if (server.encoding !== 'UTF8') {
    return `The database is encoded in ${server.encoding}; create one with ENCODING 'UTF8'.`;
  }
  if (!server.icu) {
    return 'The server was built without ICU, which searches without regard to case need; install one with ICU.';
  }
  if (server.fsync !== 'on' || server.pages !== 'on') {
    return 'The server has fsync or full_page_writes off and may lose accepted mail when its machine fails; set both to on.';
  }
  const isSynced = ['on', 'remote_apply'].includes(server.synced);
  const isLocal = server.standbys === '' && ['local', 'remote_write'].includes(server.synced);
  if (!isSynced && !isLocal) {
    return `The server has synchronous_commit ${server.synced} and may lose accepted mail; set it to on.`;
  }
  return null;
}
