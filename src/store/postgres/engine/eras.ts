/**
 * Eras: the large tables are partitioned by the upper bits of their numbers (era · 38 bits), so that old rows can be
 * removed by dropping a partition. The partitions of the next era are created in advance; an era begins when the
 * sequences are moved to its numbers, after a number of recipients or a time, and where the database may have lost its last
 * transactions: a number that was given in one of these is in mail that was sent, and must not become that of another recipient.
 * Any node may do this; only one does so at a time, and repeating it is harmless.
 */
import type { Clock } from '../../../lib/clock.ts';
import { type PutBack, placeOf } from './checks.ts';
import type { Link } from './connections.ts';

/** Of a number within its era. */
export const NUMBER_BITS = 38;

/** Partitioned tables, with the column whose number contains the era. */
const PARTITIONED = {
  message: 'seq',
  content: 'message_seq',
  message_metadata: 'message_seq',
  message_notice: 'message_seq',
  delivery: 'id',
  return_fact: 'delivery_id',
  event: 'seq',
  webhook_call: 'event_seq',
} as const;

const SEQUENCES = ['message_seq_seq', 'delivery_id_seq', 'event_seq_seq', 'webhook_call_id_seq'] as const;

/** In `meta`: where the database was when the last era began. */
const PLACE = 'place';
/** In `meta`: the last position of a log that is lost, and the last event. */
const LOST_POSITION = 'lost_position';
const LOST_EVENT = 'lost_event';
/** In `meta`: on which timeline events were missing, how many, and when that was found. */
const LOSS = 'loss';

const DAY_MS = 24 * 3_600_000;
/** An era ends after this many recipients, or after a time with fewer. */
const ENDS: readonly { recipients: number; ms: number }[] = [
  { recipients: 20_000_000, ms: 0 },
  { recipients: 2_000_000, ms: DAY_MS },
  { recipients: 1, ms: 30 * DAY_MS },
];

/** The first number of an era. */
export function firstOf(era: number): number {
  return era * 2 ** NUMBER_BITS;
}

/**
 * Begins the next era if this one is full or a standby or a restored copy has taken over, and creates partitions in advance.
 * Returns the number of the era.
 */
export async function keepEras(link: Link, clock: Clock, ends = ENDS): Promise<number> {
  const { db, exec } = link;
  // Gives up waiting for a table lock before others wait too long behind it; the next call tries again.
  await exec('BEGIN; SET LOCAL lock_timeout = 1000');
  try {
    await exec('LOCK TABLE era IN EXCLUSIVE MODE');
    const rows = await db.all<{ number: number; begun_at: number | null }>(
      'SELECT number, begun_at FROM era ORDER BY number',
    );
    const made = new Set(rows.map(({ number }) => number));
    const make = async (era: number) => {
      if (!made.has(era)) await makeEra(link, era);
      made.add(era);
    };
    let now = rows.findLast((row) => row.begun_at !== null);
    if (now === undefined) {
      await make(0);
      await db.run('UPDATE era SET begun_at = $1 WHERE number = 0', clock.now());
      now = { number: 0, begun_at: clock.now() };
    }
    await make(now.number + 1);
    const { system, oid, timeline } = await placeOf(db, link.timeline);
    const place = `${system} ${oid} ${timeline}`;
    const last = await db.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', PLACE);
    if (last?.value !== place) await db.put('meta', 'name', { name: PLACE, value: place });
    const isElsewhere = last !== undefined && last.value !== place;
    if (isElsewhere || (await isOver(link, now.number, clock.now() - (now.begun_at ?? 0), ends))) {
      now = { number: now.number + 1, begun_at: clock.now() };
      await beginEra(link, now.number, clock.now());
      await make(now.number + 1);
    }
    await exec('COMMIT');
    return now.number;
  } catch (error) {
    if (!link.isBroken()) await exec('ROLLBACK').catch(() => link.cut());
    throw error;
  }
}

/**
 * The database was put back and has lost everything after that, up to this position of its log or this event. The next time that eras
 * are kept, a new one begins, only once if several nodes notice it. Its number follows all that were given.
 */
export async function leavePlace(
  link: Link,
  clock: Clock,
  { position, event }: Pick<PutBack, 'position' | 'event'>,
): Promise<void> {
  const { db } = link;
  const [name, lost] = position === null ? [LOST_EVENT, event] : [LOST_POSITION, position];
  const last = await db.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', name);
  if (Number(last?.value ?? 0) >= lost) return;
  await makeErasUpTo(link, clock, event);
  await db.put('meta', 'name', { name, value: String(lost) });
  await db.put('meta', 'name', { name: PLACE, value: '' });
}

/** Events that the server lacks since it took over, or since a recovery to a point in time. */
export interface Loss {
  events: number;
  at: number;
}

/** Counts the numbers of events up to `known` that are missing at the end, and notes them for all nodes. */
export async function noteLoss({ db, timeline }: Link, clock: Clock, known: number): Promise<number> {
  const sql = 'SELECT max(seq)::int8 AS last FROM event WHERE seq <= $1';
  const last = (await db.get<{ last: number | null }>(sql, known))?.last ?? 0;
  const events = Math.min(known - last, known % firstOf(1));
  const noted = (await db.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', LOSS))?.value;
  const [notedOn, notedEvents] = noted?.split(' ') ?? [];
  if (events > (notedOn === timeline ? Number(notedEvents) : 0))
    await db.put('meta', 'name', { name: LOSS, value: `${timeline} ${events} ${clock.now()}` });
  return events;
}

export async function lastLoss({ db }: Link): Promise<Loss | null> {
  const sql = 'SELECT value FROM meta WHERE name = $1';
  const [, events, at] = (await db.get<{ value: string }>(sql, LOSS))?.value.split(' ') ?? [];
  return at === undefined ? null : { events: Number(events), at: Number(at) };
}

/**
 * Creates the eras up to the one that contains a number, and begins the last of them. For rows that come from another
 * database.
 */
export async function makeErasUpTo(link: Link, clock: Clock, largest: number): Promise<void> {
  const last = Math.floor(largest / firstOf(1));
  await link.exec('BEGIN');
  try {
    await link.exec('LOCK TABLE era IN EXCLUSIVE MODE');
    const rows = await link.db.all<{ number: number }>('SELECT number FROM era');
    const made = new Set(rows.map(({ number }) => number));
    for (let era = 0; era <= last + 1; era += 1) if (!made.has(era)) await makeEra(link, era);
    await link.db.run(
      'UPDATE era SET begun_at = $1 WHERE number = $2 AND begun_at IS NULL',
      clock.now(),
      last,
    );
    await link.exec('COMMIT');
  } catch (error) {
    if (!link.isBroken()) await link.exec('ROLLBACK').catch(() => link.end());
    throw error;
  }
}

/** Attaching a complete table blocks nobody. */
async function makeEra({ exec, db }: Link, era: number): Promise<void> {
  const range = `FROM (${firstOf(era)}) TO (${firstOf(era + 1)})`;
  for (const table of Object.keys(PARTITIONED)) {
    const name = `${table}_e${era}`;
    await exec(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)
      WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`);
    // A unique index over all partitions must contain their column.
    if (table === 'message') await exec(`CREATE UNIQUE INDEX ${name}_id ON ${name} (id)`);
    await exec(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${range}`);
  }
  await db.insert('era', { number: era });
}

async function isOver({ db }: Link, era: number, ageMs: number, ends: typeof ENDS): Promise<boolean> {
  const row = await db.get<{ last: number }>('SELECT last_value AS last FROM delivery_id_seq');
  const recipients = (row?.last ?? 0) - firstOf(era);
  return ends.some((end) => recipients >= end.recipients && ageMs >= end.ms);
}

/** New numbers belong to the new era; running transactions may still use some of the previous one. */
async function beginEra({ db }: Link, era: number, now: number): Promise<void> {
  for (const sequence of SEQUENCES) {
    await db.all(
      `SELECT setval('${sequence}', $1::int8) FROM ${sequence} WHERE last_value < $1::int8`,
      firstOf(era),
    );
  }
  await db.run('UPDATE era SET begun_at = $1 WHERE number = $2', now, era);
}
