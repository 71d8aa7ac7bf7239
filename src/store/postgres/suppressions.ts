/**
 * Suppressions and the evidence that leads to them. The entry (or evidence) of an outcome with a signal is written in
 * the outcome's own transaction. Ended rows are ignored; they stay until `purgeSuppressions` or a new entry replaces
 * them.
 */
import { type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import { suppressionReasonCode } from '../shared/codes.ts';
import type { NewSuppression, SuppressionChange, SuppressionSignal } from '../topics/suppressions.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, type EventSubject } from './events.ts';

const DAY_MS = 86_400_000;

/** Reasons in force for recipients that were claimed, by the number of their delivery; those without are left out. */
export async function reasonsFor(
  db: Db,
  rows: readonly { id: number; domain_id: number; address: string }[],
  now: number,
): Promise<ReadonlyMap<number, readonly SuppressionReason[]>> {
  const found = new Map<number, SuppressionReason[]>();
  const entries = await db.all<{ id: number; reason: number }>(
    `SELECT g.id, s.reason FROM unnest($1::int8[], $2::int8[], $3::text[]) g (id, domain_id, key)
     JOIN suppression s ON s.domain_id = g.domain_id AND s.key = g.key AND (s.expires_at IS NULL OR s.expires_at > $4)
     ORDER BY g.id, s.reason`,
    int8s(rows.map(({ id }) => id)),
    int8s(rows.map((row) => row.domain_id)),
    texts(rows.map(({ address }) => suppressionKey(address))),
    now,
  );
  for (const { id, reason } of entries) {
    const reasons = found.get(id) ?? [];
    reasons.push(suppressionReasonCode.word(reason));
    found.set(id, reasons);
  }
  return found;
}

/** The meaning of an outcome for its recipient, written with the outcome. */
export async function applySignal(
  session: Session,
  signal: SuppressionSignal,
  subject: EventSubject & { messageSeq: number },
  address: string,
  now: number,
): Promise<void> {
  const key = suppressionKey(address);
  if (signal.needs !== null && !(await isEnough(session.db, signal, subject.domainId, key, now))) return;
  const message = await session.db.get<{ id: string }>(
    'SELECT id FROM message WHERE seq = $1',
    subject.messageSeq,
  );
  const entry: NewSuppression = {
    address,
    reason: signal.reason,
    note: '',
    expiresAt: signal.expiresAt,
    source: { messageId: message?.id ?? '', reply: signal.reply, rule: signal.rule },
  };
  if (await insertSuppression(session, subject.domainId, entry, now)) {
    await appendEvent(session, signal.event, subject);
  }
}

/** A delivery proves that the mailbox works: the evidence against it is deleted. */
export async function forgetEvidence(db: Db, domainId: number, address: string): Promise<void> {
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = $1 AND key = $2';
  await db.run(sql, domainId, suppressionKey(address));
}

/** Counts one more bounce; returns whether there were enough days over a long enough time. Then the count is reset. */
async function isEnough(
  db: Db,
  { reason, needs }: SuppressionSignal,
  domainId: number,
  key: string,
  now: number,
): Promise<boolean> {
  if (needs === null) return true;
  const code = suppressionReasonCode.of(reason);
  const row = await db.get<{ days: number; first_at: number }>(
    `INSERT INTO suppression_evidence AS e (domain_id, key, reason, days, first_at, last_at) VALUES ($1, $2, $3, 1, $4, $4)
     ON CONFLICT (domain_id, key, reason) DO UPDATE SET
       days = e.days + CASE WHEN e.last_at / ${DAY_MS} < excluded.last_at / ${DAY_MS} THEN 1 ELSE 0 END,
       last_at = greatest(e.last_at, excluded.last_at)
     RETURNING days, first_at`,
    ...[domainId, key, code, now],
  );
  if (row === undefined || row.days < needs.days || now - row.first_at < needs.spanMs) return false;
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = $1 AND key = $2 AND reason = $3';
  await db.run(sql, domainId, key, code);
  return true;
}

/** false if an entry for the reason is in force; an ended one is replaced. */
export async function insertSuppression(
  session: Session,
  domainId: number,
  entry: NewSuppression,
  now: number,
): Promise<boolean> {
  const { db } = session;
  const key = suppressionKey(entry.address);
  const reason = suppressionReasonCode.of(entry.reason);
  await db.run(
    'DELETE FROM suppression WHERE domain_id = $1 AND key = $2 AND reason = $3 AND expires_at <= $4',
    ...[domainId, key, reason, now],
  );
  const { source } = entry;
  const changes = await db.insert(
    'suppression',
    {
      domain_id: domainId,
      key,
      reason,
      address: entry.address,
      note: entry.note,
      created_at: now,
      expires_at: entry.expiresAt,
      message_id: source === null || source.messageId === '' ? null : source.messageId,
      reply: source?.reply ?? null,
      rule: source?.rule ?? null,
    },
    'ON CONFLICT DO NOTHING',
  );
  if (changes === 0) return false;
  await tellChange(session, domainId, { key, reason: entry.reason });
  return true;
}

/** Has a change of the list reported after the commit, because mail that waits in memory was checked before it. */
export async function tellChange(
  session: Session,
  domainId: number,
  change: Omit<SuppressionChange, 'senderDomain'>,
): Promise<void> {
  const name = await session.db.get<{ text: string }>('SELECT text FROM name WHERE id = $1', domainId);
  if (name !== undefined) session.suppressed.push({ senderDomain: name.text, ...change });
}
