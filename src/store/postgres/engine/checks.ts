/**
 * Checks a server at each new connection: whether its commits can be relied on, and whether it can store our data.
 * Throws StoreRefused with a sentence for the operator; nothing was written.
 */
import { existsSync } from 'node:fs';
import type { Client } from 'pg';
import type { Clock } from '../../../lib/clock.ts';
import { readWhole, writeWhole } from '../../../lib/whole-file.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import { refuseTransferred, TRANSFER_MARK } from '../../shared/transfer-mark.ts';
import type { Db } from './db.ts';

const OLDEST_VERSION = 150_000;

const SQL = `SELECT current_setting('server_version_num')::int4 AS version, current_setting('server_version') AS shown,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
  current_setting('synchronous_commit') AS synced, current_setting('synchronous_standby_names') AS standbys,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS recovering,
  EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') AS icu,
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`;

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
  /** Changes when a standby has taken over. */
  timeline: string | null;
}

/** Its timeline. */
export async function checkServer(client: Pick<Client, 'query'>): Promise<string> {
  const { rows } = await client.query({ text: SQL });
  const server = rows[0] as ServerSettings;
  const wrong = wrongWith(server);
  if (wrong !== null) throw new StoreRefused('unfit', `${wrong} Nothing was written.`);
  return server.timeline ?? '';
}

/** The time of the server. */
export const NOW = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now';

/** With a larger difference, leases and due times of this machine would be wrong for the others. */
const MAX_SKEW_MS = 60_000;

/** Compares the clocks of this machine and of the database. Throws StoreRefused. */
export async function checkClock(db: Db, clock: Clock): Promise<void> {
  const asked = clock.now();
  const row = await db.get<{ now: number }>(NOW);
  const there = row?.now ?? asked;
  // The time that the answer took does not count as a difference.
  const skewMs = Math.max(asked - there, there - clock.now());
  if (skewMs <= MAX_SKEW_MS) return;
  const seconds = Math.round(skewMs / 1000);
  throw new StoreRefused(
    'unfit',
    `The clocks of this machine and of the database differ by ${seconds} seconds; have both set by NTP. Nothing was written.`,
  );
}

/** Throws StoreRefused if a transfer is moving this database to another one, or has done so. */
export async function checkOurs(db: Db): Promise<void> {
  const sql = 'SELECT value FROM meta WHERE name = $1';
  refuseTransferred((await db.get<{ value: string }>(sql, TRANSFER_MARK))?.value ?? null);
}

/** Where the data is: another place after a standby has taken over, a recovery to a point in time, or a dump that was restored. */
export interface ServerPlace {
  /** The same for a server, its standbys and copies of its files; '': the role may not read it. */
  system: string;
  /** Of the database. */
  oid: string;
  /** Greater after each standby that has taken over, and after a recovery. */
  timeline: string;
  /** How far its log is on disk, in octets: it never shrinks on one timeline. */
  position: number;
  /** Id of the instance whose data it has; '': it has none yet. */
  instance: string;
  /** The last number of an event: it never shrinks, and a dump contains it. */
  event: number;
}

export async function placeOf(db: Db, timeline: string): Promise<ServerPlace> {
  const row = await db.get<{ oid: string; may: boolean; position: number; event: number | null }>(
    `SELECT oid::text, has_function_privilege('pg_control_system()', 'EXECUTE') AS may,
       pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::int8 AS position,
       pg_sequence_last_value(to_regclass('event_seq_seq')) AS event
     FROM pg_database WHERE datname = current_database()`,
  );
  const { oid = '', may = false, position = 0, event = null } = row ?? {};
  const sql = 'SELECT system_identifier::text AS id FROM pg_control_system()';
  const system = may ? (await db.get<{ id: string }>(sql))?.id : '';
  const instanceSql = "SELECT value FROM meta WHERE name = 'instance_id'";
  const instance = event === null ? '' : (await db.get<{ value: string }>(instanceSql))?.value;
  return { system: system ?? '', oid, timeline, position, instance: instance ?? '', event: event ?? 0 };
}

/** Thrown where the database was replaced by an older state of it: mail that waits in it may have been sent since. */
export class PutBack extends StoreRefused {
  /** How far the log was; null: it was another log. */
  readonly position: number | null;
  /** The last number of an event that is known. */
  readonly event: number;

  constructor(position: number | null, event: number, file: string) {
    super(
      'unfit',
      `The database was put back to an earlier state: this node has used a later one. Mail that waits in it may have been sent since; delete ${file} on each node, and hold that mail before you start a server (queue hold --all).`,
    );
    this.position = position;
    this.event = event;
  }
}

/**
 * A former primary does not know that another server took over, and a server whose files were put back does not know what it lost.
 * So a node keeps the last place in a file of its own. Throws StoreRefused if that is on a later timeline of the same server, or
 * further on this one, or if another database, such as one made from a dump, lacks events that the file knows; otherwise returns the
 * place. `lostAfter`: the last event that was noted, where the server has left a part of the former timeline out, as a standby that
 * had not received it, or a recovery to a point in time. The file is read first: meanwhile others may note later ones.
 */
export async function checkPlace(
  db: Db,
  timeline: string,
  file: string,
  warn: (error: unknown) => void,
): Promise<ServerPlace & { lostAfter: number | null }> {
  const noted = existsSync(file) ? await readWhole(file).catch(warn) : undefined;
  const place = await placeOf(db, timeline);
  const { system, oid, position, instance, event } = place;
  if (system === '') return { ...place, lostAfter: null };
  const [before = '', last = ''] = (noted ?? '').trim().split(`${system} ${oid} `);
  const [lastEvent = '', lastInstance, lastPosition = before] = before.split(' ');
  const [lastTimeline = ''] = last.split(' ');
  if (lastTimeline > timeline) {
    throw new StoreRefused(
      'unfit',
      `The server is a former primary of the database: this node has used one that took over from it; make it a standby of that one, and give the address of the other. If it was put back from a copy on purpose, delete ${file}. Nothing was written.`,
    );
  }
  const known = instance !== '' && instance === lastInstance ? Number(lastEvent) : 0;
  if (lastTimeline === timeline && Number(lastPosition) > position)
    throw new PutBack(Number(lastPosition), known, file);
  if (last === '' && known > event) throw new PutBack(null, known, file);
  const isLeftOut = lastTimeline < timeline && Number(lastPosition) > position;
  const lacks = last !== '' && known > 0 && (isLeftOut || known > event);
  return { ...place, lostAfter: lacks ? known : null };
}

/** New fields come first, because older programs read the last ones only. */
export async function notePlace(place: ServerPlace, file: string): Promise<void> {
  const { event, instance, position, system, oid, timeline } = place;
  const data = instance === '' ? '' : `${event} ${instance} `;
  await writeWhole(file, `${data}${position} ${system} ${oid} ${timeline}\n`, 0o600);
}

/** What is wrong with a server, as a sentence; null = nothing. */
export function wrongWith(server: ServerSettings): string | null {
  if (server.version < OLDEST_VERSION) {
    return `The database runs PostgreSQL ${server.shown}; postrider needs 15 or newer.`;
  }
  if (server.recovering) {
    return 'The database is a standby, which only reads; give the address of the primary server, or promote this one if the primary is lost (SELECT pg_promote()).';
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
