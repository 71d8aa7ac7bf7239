/**
 * Webhook calls in portions. A commit creates fifty calls of a domain at most; the rest is recorded in `later_call`,
 * one row per event, and when a webhook is switched on, its waiting calls are processed by `webhook_resume`. `prepareCalls`
 * continues with both, up to a number of rows of each, of which each webhook or domain has an equal share, so that nobody's
 * backlog delays another's.
 */
import { callStateCode } from '../shared/codes.ts';
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';

/** Calls that one transaction creates for a domain; about 1 ms of the writer. */
export const MOST_CALLS = 50;

/** Whether calls of the domain are recorded. */
export function owesCalls(db: Connection, domainId: number): boolean {
  return db.get('SELECT 1 FROM later_call WHERE domain_id = ? LIMIT 1', domainId) !== undefined;
}

/** Records which calls of an event must be created later. */
export function makeLater(
  db: Connection,
  event: { domainId: number; seq: number; at: number },
  webhooks: readonly number[],
): void {
  const sql = 'INSERT INTO later_call (domain_id, event_seq, at, webhooks) VALUES (?, ?, ?, ?)';
  db.run(sql, event.domainId, event.seq, event.at, JSON.stringify(webhooks));
}

/** Starts to process the calls that waited while a webhook was off, with the first portion. */
export function beginResume(db: Connection, resume: { id: number; since: number; now: number }): void {
  db.run(
    'INSERT OR REPLACE INTO webhook_resume (webhook_id, since, at, due_at, call_id) VALUES (?, ?, ?, -1, -1)',
    resume.id,
    resume.since,
    resume.now,
  );
  const row = db.get<ResumeRow>('SELECT * FROM webhook_resume WHERE webhook_id = ?', resume.id);
  if (row !== undefined) goOnResuming(db, row, MOST_CALLS);
}

export const prepareCalls = write(
  'prepareCalls',
  'measured',
  { portion: true, rows: 'limit' },
  ({ db }, params) => {
    const resuming = db.all<ResumeRow>('SELECT * FROM webhook_resume LIMIT ?', params.limit);
    for (const row of resuming) goOnResuming(db, row, shareOf(params.limit, resuming.length));
    const domains = domainsOwed(db, params.limit);
    for (const id of domains) makeCallsOf(db, id, shareOf(params.limit, domains.length));
    return mustPrepare(db);
  },
);

/** Whether calls still have to be created or processed. */
export function mustPrepare(db: Connection): boolean {
  const sql = 'SELECT 1 WHERE EXISTS (SELECT 1 FROM later_call) OR EXISTS (SELECT 1 FROM webhook_resume)';
  return db.get(sql) !== undefined;
}

function shareOf(limit: number, among: number): number {
  return Math.max(1, Math.floor(limit / Math.max(1, among)));
}

interface ResumeRow {
  webhook_id: number;
  since: number;
  at: number;
  due_at: number;
  call_id: number;
}

/** Pending calls after a position. Tests check that its plan uses the index. */
export const WAITING_CALLS_SQL = `SELECT id, due_at, updated_at
  FROM webhook_call INDEXED BY webhook_call_due
  WHERE webhook_id = ? AND state = 0 AND due_at >= ? AND (due_at > ? OR id > ?) ORDER BY due_at, id LIMIT ?`;

function goOnResuming(db: Connection, resume: ResumeRow, limit: number): void {
  const rows = db.all<{ id: number; due_at: number; updated_at: number }>(
    WAITING_CALLS_SQL,
    resume.webhook_id,
    resume.due_at,
    resume.due_at,
    resume.call_id,
    limit,
  );
  for (const row of rows) {
    // Calls created or tried since then are not included, for example a replay of an old call.
    if (row.updated_at > resume.at) continue;
    if (row.updated_at < resume.since) {
      db.run(
        `UPDATE webhook_call SET state = ?, error = 'Given up: the webhook was switched off for too long',
           updated_at = ? WHERE id = ?`,
        callStateCode.of('failed'),
        resume.at,
        row.id,
      );
    } else if (row.due_at > resume.at) {
      db.run('UPDATE webhook_call SET due_at = ? WHERE id = ?', resume.at, row.id);
    }
  }
  const last = rows.at(-1);
  if (rows.length < limit || last === undefined) {
    db.run('DELETE FROM webhook_resume WHERE webhook_id = ?', resume.webhook_id);
    return;
  }
  const sql = 'UPDATE webhook_resume SET due_at = ?, call_id = ? WHERE webhook_id = ?';
  db.run(sql, last.due_at, last.id, resume.webhook_id);
}

/** Domains with calls to create, one step of the key each. */
function domainsOwed(db: Connection, limit: number): number[] {
  const next = 'SELECT min(domain_id) FROM later_call';
  return db
    .all<{ id: number }>(
      `WITH RECURSIVE step (id) AS (
         ${next} UNION ALL SELECT (${next} WHERE domain_id > step.id) FROM step WHERE step.id IS NOT NULL
       ) SELECT id FROM step WHERE id IS NOT NULL LIMIT ?`,
      limit,
    )
    .map((row) => row.id);
}

/** Creates up to `limit` calls of a domain, those of the oldest event first. */
function makeCallsOf(db: Connection, domainId: number, limit: number): void {
  const rows = db.all<{ event_seq: number; at: number; webhooks: string }>(
    'SELECT event_seq, at, webhooks FROM later_call WHERE domain_id = ? ORDER BY event_seq LIMIT ?',
    domainId,
    limit,
  );
  let room = limit;
  for (const { event_seq: seq, at, webhooks } of rows) {
    if (room <= 0) return;
    const owed = JSON.parse(webhooks) as number[];
    for (const id of owed.splice(0, room)) {
      room -= 1;
      // An existing one was created by a replay meanwhile; a webhook that was deleted gets none.
      db.run(
        `INSERT INTO webhook_call (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at,
           updated_at) SELECT ?1, ?2, 0, 0, ?3, 0, 0, '', ?3, ?3 WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?1)
         ON CONFLICT DO NOTHING`,
        id,
        seq,
        at,
      );
    }
    if (owed.length === 0) dropLater(db, domainId, seq);
    else {
      const sql = 'UPDATE later_call SET webhooks = ? WHERE domain_id = ? AND event_seq = ?';
      db.run(sql, JSON.stringify(owed), domainId, seq);
    }
  }
}

/** Drops the recorded calls of an event; returns how many rows. */
export function dropLater(db: Connection, domainId: number, seq: number): number {
  return db.run('DELETE FROM later_call WHERE domain_id = ? AND event_seq = ?', domainId, seq).changes;
}
