/**
 * A PostgreSQL database as one end of a transfer. A source is read in one snapshot, and no node can start on it
 * meanwhile; a target gets the schema of this program. Throws StoreRefused, or an error of the server.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { withoutPassword } from '../lib/postgres-url.ts';
import { addressOf } from '../store/postgres/engine/address.ts';
import { storable } from '../store/postgres/engine/arrays.ts';
import { type Link, openLink } from '../store/postgres/engine/connections.ts';
import { createStatements } from '../store/postgres/engine/db.ts';
import { keepEras, makeErasUpTo } from '../store/postgres/engine/eras.ts';
import { hasSchema, migrate } from '../store/postgres/engine/migrate.ts';
import { checkRights, openingError } from '../store/postgres/engine/opening.ts';
import { SUMMED } from '../store/shared/event-sums.ts';
import { readMigrations } from '../store/shared/migrations.ts';
import { StoreRefused } from '../store/shared/refusal.ts';
import { type End, lastOfPortion, PORTION_ROWS, type Role, SAMPLE_EVERY } from './end.ts';
import { COPIED_META, type CopiedTable, type Row, type Value } from './tables.ts';

/** A node without a heartbeat for this time is considered dead. */
const DEAD_MS = 30_000;
const SESSION_ENDS_MS = 5_000;
/** Sessions of servers, as connections.ts names them. Those for hints store nothing, and a server opens a new one at once. */
const SERVERS = `datname = current_database() AND application_name LIKE 'postrider %'
  AND application_name NOT IN ('postrider transfer', 'postrider hints')`;

/** Whether the database has no tables yet. Throws StoreRefused where a transfer could make none. */
export async function isNewPostgres(url: string): Promise<boolean> {
  const address = addressOf(url);
  try {
    const link = await openLink(url, createStatements(), 'transfer');
    try {
      await checkRights(link);
      return !(await hasSchema(link));
    } finally {
      await link.end();
    }
  } catch (cause) {
    throw openingError(cause, address);
  }
}

export async function openPostgresEnd(url: string, role: Role, clock: Clock): Promise<End> {
  const name = withoutPassword(url);
  const address = addressOf(url);
  const statements = createStatements();
  const link = await connected();
  const reading = role === 'source' ? await connected() : link;
  const { db } = reading;
  const columns = new Map<string, ReadonlyMap<string, string>>();
  try {
    if (role === 'target') {
      await checkRights(link);
      await migrate(link, { migrations: readMigrations('postgres'), clock });
      await keepEras(link, clock);
    } else await requireCurrent();
    if (role !== 'look') await requireAlone();
  } catch (cause) {
    await close();
    throw openingError(cause, address);
  }

  return {
    name,
    bytes: () => number('SELECT pg_database_size(current_database()) AS n'),
    async meta(name) {
      // Not through the snapshot: it may have been written since.
      const sql = 'SELECT value FROM meta WHERE name = $1';
      return (await link.db.get<{ value: string }>(sql, name))?.value ?? null;
    },
    async setMeta(name, value) {
      await link.db.put('meta', 'name', { name, value });
    },
    async removeMeta(name) {
      await link.db.run('DELETE FROM meta WHERE name = $1', name);
    },
    async shutOut(at) {
      // While the lock is held, so that a node that is just starting waits for it.
      await endSessions();
      await reading.exec('ROLLBACK');
      await link.db.run('UPDATE node SET ended_at = $1 WHERE ended_at IS NULL', at);
      await beginReading();
    },
    count: ({ name }) =>
      number(`SELECT count(*) AS n FROM ${name} ${name === 'meta' ? `WHERE ${ONLY_COPIED}` : ''}`),
    async read(table, after) {
      const key = table.key.join(', ');
      const places = table.key.map((_, i) => `$${i + 1}`).join(', ');
      const behind = after === null ? 'true' : `(${key}) > (${places})`;
      const only = table.name === 'meta' ? `AND ${ONLY_COPIED}` : '';
      const types = await columnsOf(table.name);
      const names = [...types.keys()].filter((name) => name !== 'coding').join(', ');
      const given = [...(after ?? [])];
      let end = `LIMIT ${PORTION_ROWS}`;
      let until = '';
      if (table.large !== undefined) {
        const size = table.large.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
        const sizes = await db.all<{ at: number; size: number }>(
          `SELECT ${key} AS at, ${size} AS size FROM ${table.name} WHERE ${behind}
           ORDER BY ${key} LIMIT ${PORTION_ROWS}`,
          ...given,
        );
        const last = lastOfPortion(sizes);
        if (last === undefined) return [];
        until = `AND ${key} <= $${given.length + 1}`;
        given.push(last.at);
        end = '';
      }
      const rows = await db.all<Record<string, unknown>>(
        `SELECT ${names} FROM ${table.name} WHERE ${behind} ${only} ${until} ORDER BY ${key} ${end}`,
        ...given,
      );
      return rows.map((row) => received(table, row, types));
    },
    async write(table, rows, progress) {
      const types = await columnsOf(table.name);
      const names = [...types.keys()].filter((name) => name !== 'coding');
      const list = names.join(', ');
      const form = names.map((name) => `${name} ${types.get(name)}`).join(', ');
      await link.exec('BEGIN');
      try {
        await db.run(
          `INSERT INTO ${table.name} (${list}) SELECT ${list} FROM json_to_recordset($1::json) AS r (${form})`,
          JSON.stringify(rows.map((row) => stored(table, row, types))),
        );
        await db.put('meta', 'name', progress);
        await link.exec('COMMIT');
      } catch (error) {
        if (!link.isBroken()) await link.exec('ROLLBACK').catch(() => link.cut());
        throw error;
      }
    },
    async lastNumber({ name, numbered }) {
      const given = await number(
        'SELECT last_value AS n FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = $1',
        `${name}_${numbered}_seq`,
      );
      return Math.max(given, await number(`SELECT coalesce(max(${numbered}), 0) AS n FROM ${name}`));
    },
    prepare: (largest) => makeErasUpTo(link, clock, largest),
    async setLastNumber({ name, numbered }, last) {
      if (last > 0) await db.all(`SELECT setval('${name}_${numbered}_seq', $1::int8)`, last);
    },
    async sums() {
      const states = (table: string) =>
        db.all<{ state: number; n: number }>(`SELECT state, count(*) AS n FROM ${table} GROUP BY state`);
      return {
        ...Object.fromEntries((await states('delivery')).map(({ state, n }) => [`recipients ${state}`, n])),
        ...Object.fromEntries((await states('webhook_call')).map(({ state, n }) => [`calls ${state}`, n])),
        'content octets': await number('SELECT coalesce(sum(size), 0)::int8 AS n FROM content'),
      };
    },
    async samples(after, limit) {
      const rows = await db.all<{ seq: number }>(
        `SELECT message_seq AS seq FROM content WHERE message_seq > $1 AND (message_seq % ${SAMPLE_EVERY} = 0
           OR message_seq IN ((SELECT min(message_seq) FROM content), (SELECT max(message_seq) FROM content)))
         ORDER BY message_seq LIMIT $2`,
        after,
        limit,
      );
      return rows.map(({ seq }) => seq);
    },
    async contentHash(seq) {
      const sql = 'SELECT bytes FROM content WHERE message_seq = $1';
      const row = await db.get<{ bytes: Uint8Array }>(sql, seq);
      return row === undefined ? null : createHash('sha256').update(row.bytes).digest('hex');
    },
    waiting: () => number('SELECT count(*) AS n FROM delivery WHERE state = 0'),
    async finish() {
      await link.exec('ANALYZE');
    },
    close,
  };

  /** The one number of a row, 0 where it is null. */
  async function number(sql: string, ...values: Value[]): Promise<number> {
    return (await db.get<{ n: number | null }>(sql, ...values))?.n ?? 0;
  }

  async function connected(): Promise<Link> {
    try {
      return await openLink(url, statements, 'transfer');
    } catch (cause) {
      throw openingError(cause, address);
    }
  }

  async function close(): Promise<void> {
    await link.end();
    if (reading !== link) await reading.end();
  }

  /** Types by column, as the server names them. */
  async function columnsOf(table: string): Promise<ReadonlyMap<string, string>> {
    let known = columns.get(table);
    if (known === undefined) {
      const rows = await db.all<{ name: string; type: string }>(
        `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_attribute a
         WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
        table,
      );
      known = new Map(rows.map(({ name, type }) => [name, type]));
      columns.set(table, known);
    }
    return known;
  }

  /** Throws StoreRefused unless the source has the schema of this program. A server updates an older one. */
  async function requireCurrent(): Promise<void> {
    const newest = readMigrations('postgres').at(-1)?.version ?? 0;
    const there = await link.db.get<{ there: boolean }>(
      `SELECT to_regclass('migration') IS NOT NULL AS there`,
    );
    const row = there?.there
      ? await link.db.get<{ version: number | null }>('SELECT max(version) AS version FROM migration')
      : undefined;
    const version = row?.version ?? null;
    if (version === newest) return;
    throw new StoreRefused(
      'unfit',
      version === null
        ? `${name} holds nothing of postrider.`
        : version > newest
          ? `${name} was made by a newer postrider (schema ${version}, this program has ${newest}); use the newer program.`
          : `${name} is of an older postrider (schema ${version}, this program has ${newest}); start this version of the server on it once, then transfer it.`,
    );
  }

  /** The snapshot is taken after the lock, so it contains what the previous holder of the lock has stored. */
  async function beginReading(): Promise<void> {
    await reading.exec(
      'SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = 5000',
    );
    await reading.exec('LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE');
  }

  /**
   * Ends the sessions of every server, which may be paused or just starting: what it has not committed is rolled
   * back, and a new session finds the mark.
   */
  async function endSessions(): Promise<void> {
    await link.db.all(
      `SELECT pg_terminate_backend(pid, ${SESSION_ENDS_MS}) FROM pg_stat_activity WHERE ${SERVERS}`,
    );
    const left = await link.db.get<{ n: number }>(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE ${SERVERS}`,
    );
    if (left?.n === 0) return;
    throw new StoreRefused(
      'locked',
      `Sessions of a server on ${name} cannot be ended; stop that server, and repeat the command.`,
    );
  }

  /**
   * Makes sure that no other transfer and no node uses the database. While a source is read, no node can start on it.
   */
  async function requireAlone(): Promise<void> {
    const lock = await link.db.get<{ taken: boolean }>(
      `SELECT pg_try_advisory_lock(hashtextextended('postrider transfer', 0)) AS taken`,
    );
    if (lock?.taken !== true)
      throw new StoreRefused('locked', `Another transfer works on ${name}; wait for it.`);
    if (role === 'source') await beginReading();
    // Nodes go by the clock of the database; that of this machine may differ.
    const node = await db.get<{ host: string; node_id: string }>(
      `SELECT host, node_id FROM node WHERE ended_at IS NULL
         AND heartbeat_at > extract(epoch FROM clock_timestamp()) * 1000 - $1::int4 LIMIT 1`,
      DEAD_MS,
    );
    if (node === undefined) return;
    throw new StoreRefused(
      'locked',
      `A server works on ${name}: node ${node.node_id} at ${node.host}. Stop it first; one that was killed is forgotten after ${DEAD_MS / 1000} seconds.`,
    );
  }
}

const ONLY_COPIED = `name IN (${COPIED_META.map((one) => `'${one}'`).join(', ')})`;
const ERASING_KEY = 'erasing_key';

/** From the forms of PostgreSQL. */
function received(
  table: CopiedTable,
  row: Readonly<Record<string, unknown>>,
  types: ReadonlyMap<string, string>,
): Row {
  const one = (name: string, value: unknown): Value => {
    if (value === null || value === undefined) return null;
    if (table.name === 'override' && name === 'value') return JSON.parse(String(value)) as Value;
    if (table.name === 'meta' && name === 'value' && row.name === ERASING_KEY)
      return new Uint8Array(Buffer.from(String(value), 'hex'));
    if (table.name === 'meta' && name === 'value' && row.name === SUMMED) return Number(value);
    switch (types.get(name)) {
      case 'boolean':
        return value === true ? 1 : 0;
      case 'uuid':
        return new Uint8Array(Buffer.from(String(value).replaceAll('-', ''), 'hex'));
      case 'text[]':
        return JSON.stringify(value);
      default:
        return value as Value;
    }
  };
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, one(name, value)]));
}

/** Converts a row to the forms of JSON that PostgreSQL reads. */
function stored(table: CopiedTable, row: Row, types: ReadonlyMap<string, string>): object {
  const one = (name: string, value: Value): unknown => {
    if (value === null) return null;
    if (table.name === 'override' && name === 'value') return text(JSON.stringify(value));
    if (value instanceof Uint8Array) {
      const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
      if (types.get(name) === 'bytea') return `\\x${hex}`;
      return hex;
    }
    switch (types.get(name)) {
      case 'boolean':
        return value !== 0;
      case 'text[]':
        return (JSON.parse(String(value)) as string[]).map(text);
      case 'text':
        return text(String(value));
      default:
        return value;
    }
  };
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, one(name, value)]));
}

/** PostgreSQL cannot store NUL, and its JSON cannot contain half of a surrogate pair. */
function text(value: string): string {
  return storable(value.toWellFormed());
}
