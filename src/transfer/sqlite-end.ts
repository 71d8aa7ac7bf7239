/**
 * A SQLite database as one end of a transfer. No other process may have it open meanwhile, unless its rows are only
 * counted. A target file is created if it is missing. Throws StoreRefused.
 */
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { whyNot } from '../lib/why-not.ts';
import { StoreRefused } from '../store/shared/refusal.ts';
import type { Tables } from '../store/shared/tables.ts';
import { newestSchema, schemaOf } from '../store/sqlite/copy.ts';
import { openConnection } from '../store/sqlite/engine/connection.ts';
import { takeLock } from '../store/sqlite/engine/lock.ts';
import { openDatabase } from '../store/sqlite/engine/open-database.ts';
import { type End, lastOfPortion, PORTION_ROWS, type Role, SAMPLE_EVERY, TransferError } from './end.ts';
import { COPIED_META, type CopiedTable, type Row, type Value } from './tables.ts';

/** How every file of SQLite begins. */
const SQLITE_FILE = 'SQLite format 3\0';

/** PostgreSQL's columns of `content`, which are in two tables here. */
const CONTENT = `(SELECT c.message_seq, coalesce(m.domain_id, 0) AS domain_id, length(c.bytes) AS size, c.bytes, c.places
  FROM content c LEFT JOIN message m ON m.seq = c.message_seq)`;

export async function openSqliteEnd(path: string, role: Role): Promise<End> {
  if (role !== 'target') requireCurrent(path);
  else {
    isNewSqlite(path);
    for (const file of [path, `${path}-lock`]) makeFile(file);
  }
  const lock = role === 'look' ? null : takeLock(path);
  const db = opened();

  function opened() {
    try {
      return lock === null ? openConnection(path, { readOnly: true, busyMs: 1000 }) : openDatabase(path);
    } catch (cause) {
      lock?.release();
      throw cause;
    }
  }
  const get = <Found>(sql: string, ...values: Value[]) => db.get<Found>(sql, ...values);
  const count = (sql: string, ...values: Value[]) => get<{ n: number }>(sql, ...values)?.n ?? 0;
  const putMeta = (name: string, value: Value) => db.put('meta', 'name', { name, value });

  return {
    name: `sqlite:${path}`,
    async bytes() {
      const pages = get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
      return pages * (get<{ page_size: number }>('PRAGMA page_size')?.page_size ?? 0);
    },
    meta: async (name) =>
      get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name)?.value ?? null,
    async setMeta(name, value) {
      putMeta(name, value);
    },
    async removeMeta(name) {
      db.run('DELETE FROM meta WHERE name = ?', name);
    },
    // Nothing to do: a paused process still has its lock, so this one could not have opened the file.
    async shutOut() {},
    count: async (table) => count(`SELECT count(*) AS n FROM ${table.name} ${onlyCopied(table)}`),
    async read(table, after) {
      const from = table.name === 'content' ? CONTENT : `"${table.name}"`;
      const key = table.key.join(', ');
      const places = table.key.map(() => '?').join(', ');
      const behind = after === null ? 'true' : `(${key}) > (${places})`;
      const only = table.name === 'meta' ? onlyCopied(table).replace('WHERE', 'AND') : '';
      if (table.large === undefined)
        return db.all<Row>(
          `SELECT * FROM ${from} WHERE ${behind} ${only} ORDER BY ${key} LIMIT ${PORTION_ROWS}`,
          ...(after ?? []),
        );
      const size = table.large.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
      const sizes = db.all<{ at: number; size: number }>(
        `SELECT ${key} AS at, ${size} AS size FROM "${table.name}" WHERE ${behind}
         ORDER BY ${key} LIMIT ${PORTION_ROWS}`,
        ...(after ?? []),
      );
      const last = lastOfPortion(sizes);
      if (last === undefined) return [];
      return db.all<Row>(
        `SELECT * FROM ${from} WHERE ${behind} AND ${key} <= ? ORDER BY ${key}`,
        ...(after ?? []),
        last.at,
      );
    },
    async write(table, rows, progress) {
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const row of rows) insert(table.name, row);
        putMeta(progress.name, progress.value);
        db.exec('COMMIT');
      } catch (error) {
        if (db.inTransaction()) db.exec('ROLLBACK');
        throw error;
      }
    },
    async lastNumber({ name, numbered }) {
      const given = count('SELECT seq AS n FROM sqlite_sequence WHERE name = ?', name);
      return Math.max(given, count(`SELECT coalesce(max(${numbered}), 0) AS n FROM ${name}`));
    },
    async prepare() {},
    async setLastNumber({ name }, last) {
      const sql = 'UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?';
      if (db.run(sql, last, name).changes > 0 || !isAutoincremented(name)) return;
      db.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', name, last);
    },
    async sums() {
      const states = (table: string) =>
        db.all<{ state: number; n: number }>(`SELECT state, count(*) AS n FROM ${table} GROUP BY state`);
      return {
        ...Object.fromEntries(states('delivery').map(({ state, n }) => [`recipients ${state}`, n])),
        ...Object.fromEntries(states('webhook_call').map(({ state, n }) => [`calls ${state}`, n])),
        'content octets': count('SELECT coalesce(sum(length(bytes)), 0) AS n FROM content'),
      };
    },
    async samples(after, limit) {
      const sql = `SELECT message_seq AS seq FROM content WHERE message_seq > ? AND (message_seq % ${SAMPLE_EVERY} = 0
        OR message_seq IN (SELECT min(message_seq) FROM content UNION SELECT max(message_seq) FROM content))
        ORDER BY message_seq LIMIT ?`;
      return db.all<{ seq: number }>(sql, after, limit).map(({ seq }) => seq);
    },
    async contentHash(seq) {
      const row = get<{ bytes: Uint8Array }>('SELECT bytes FROM content WHERE message_seq = ?', seq);
      return row === undefined ? null : createHash('sha256').update(row.bytes).digest('hex');
    },
    waiting: async () => count('SELECT count(*) AS n FROM delivery WHERE state = 0'),
    async finish() {
      db.exec('PRAGMA optimize');
    },
    async close() {
      db.close();
      lock?.release();
    },
  };

  function insert(table: string, row: Row): void {
    if (table !== 'content') {
      db.insert(table as keyof Tables, row);
      return;
    }
    const { message_seq, domain_id, size, bytes, places } = row as Record<string, Value>;
    db.insert('content', { message_seq: message_seq ?? null, bytes: bytes ?? null, places: places ?? null });
    db.insert('kept_content', {
      ...{ domain_id: domain_id ?? null, message_seq: message_seq ?? null, size: size ?? null },
    });
  }

  function isAutoincremented(table: string): boolean {
    const sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?";
    return get<{ sql: string }>(sql, table)?.sql.includes('AUTOINCREMENT') === true;
  }
}

/**
 * Makes an empty file unless there is one. If root runs the command, it is given to the owner of the folder, whose server must be
 * able to open it; what is there already may be a link to a file of somebody else.
 */
function makeFile(path: string): void {
  if (existsSync(path)) return;
  const file = create(path);
  const { uid, gid } = statSync(dirname(path));
  if (process.getuid?.() === 0) fchownSync(file, uid, gid);
  closeSync(file);
}

function create(path: string): number {
  try {
    return openSync(path, 'ax', 0o600);
  } catch (cause) {
    const isLink = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isLink ? 'it is a link that leads nowhere; remove it' : whyNot(cause);
    throw new TransferError(`${path} cannot be made: ${why}.`, { cause });
  }
}

/** Whether the file is missing or empty. Throws TransferError if it cannot be written, or contains something else. */
export function isNewSqlite(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK);
    if (!existsSync(path) || statSync(path).size === 0) return true;
    const file = openSync(path, 'r');
    const begins = Buffer.alloc(SQLITE_FILE.length);
    readSync(file, begins);
    closeSync(file);
    if (begins.toString('latin1') === SQLITE_FILE) return false;
  } catch (cause) {
    throw new TransferError(`${path} cannot be written: ${whyNot(cause)}.`, { cause });
  }
  throw new TransferError(`${path} is no database; name a file that does not exist yet.`);
}

function onlyCopied({ name }: CopiedTable): string {
  return name === 'meta' ? `WHERE name IN (${COPIED_META.map((one) => `'${one}'`).join(', ')})` : '';
}

/**
 * Throws StoreRefused unless the schema is current. A server updates an older one, and keeps a copy to go back to.
 */
function requireCurrent(path: string): void {
  if (!existsSync(path)) throw new StoreRefused('inaccessible', `There is no database at ${path}.`);
  const schema = schemaOf(path);
  if (schema >= newestSchema()) return;
  throw new StoreRefused(
    'unfit',
    `${path} is of an older postrider (schema ${schema}, this program has ${newestSchema()}); start this version of the server on it once, which keeps a copy, then transfer it.`,
  );
}
