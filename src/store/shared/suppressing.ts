/**
 * Suppressions and the evidence that leads to them, as other operations write them: the entry (or evidence) of an outcome with
 * a signal is written in the transaction of the outcome. Ended rows are ignored; they stay until `purgeSuppressions` or a
 * new entry replaces them.
 */
import { suppressionKey } from '../../model/suppression.ts';
import type { NewSuppression, SuppressionChange, SuppressionSignal } from '../topics/suppressions.ts';
import { suppressionReasonCode } from './codes.ts';
import type { Session } from './operation.ts';
import type { EventSubject } from './rows/events.ts';
import { idOf, type StoredId } from './stored.ts';
import type { Work } from './work.ts';

const DAY_MS = 86_400_000;

/** The meaning of an outcome for its recipient, written with the outcome. */
export function* applySignal(
  on: Session,
  signal: SuppressionSignal,
  subject: EventSubject & { messageSeq: number },
  address: string,
  now: number,
): Work<void> {
  const { domainId, messageSeq } = subject;
  if (!(yield* isEnough(on, signal, domainId, suppressionKey(address), now))) return;
  const message = yield* on.db.get<{ id: StoredId }>('SELECT id FROM message WHERE seq = ?', messageSeq);
  const entry: NewSuppression = {
    address,
    reason: signal.reason,
    note: '',
    expiresAt: signal.expiresAt,
    source: {
      messageId: message === undefined ? '' : idOf(message.id),
      reply: signal.reply,
      rule: signal.rule,
    },
  };
  if (yield* suppress(on, domainId, entry, now)) yield* on.appendEvent(signal.event, subject);
}

/** Counts one more bounce; returns whether there were enough days over a long enough time. Then the count is reset. */
function* isEnough(
  on: Session,
  { reason, needs }: SuppressionSignal,
  domainId: number,
  key: string,
  now: number,
): Work<boolean> {
  if (needs === null) return true;
  const code = suppressionReasonCode.of(reason);
  on.suppressing(domainId, 'evidence');
  const row = yield* on.db.get<{ days: number; first_at: number }>(
    `INSERT INTO suppression_evidence AS e (domain_id, key, reason, days, first_at, last_at) VALUES (?1, ?2, ?3, 1, ?4, ?4)
     ON CONFLICT (domain_id, key, reason) DO UPDATE SET
       days = e.days + CASE WHEN e.last_at / ${DAY_MS} < excluded.last_at / ${DAY_MS} THEN 1 ELSE 0 END,
       last_at = {max|greatest}(e.last_at, excluded.last_at)
     RETURNING days, first_at`,
    ...[domainId, key, code, now],
  );
  if (row === undefined || row.days < needs.days || now - row.first_at < needs.spanMs) return false;
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ? AND reason = ?';
  yield* on.db.run(sql, domainId, key, code);
  return true;
}

/** false if an entry for the reason is in force; an ended one is replaced. */
export function* suppress(on: Session, domainId: number, entry: NewSuppression, now: number): Work<boolean> {
  const { db } = on;
  const key = suppressionKey(entry.address);
  const reason = suppressionReasonCode.of(entry.reason);
  const sql = 'DELETE FROM suppression WHERE domain_id = ? AND key = ? AND reason = ? AND expires_at <= ?';
  yield* db.run(sql, domainId, key, reason, now);
  on.suppressing(domainId, 'entries');
  const { address, note, expiresAt, source } = entry;
  const added = yield* db.insert(
    'suppression',
    {
      ...{ domain_id: domainId, key, reason, address, note, created_at: now, expires_at: expiresAt },
      message_id: source === null ? null : db.storedId(source.messageId),
      reply: source?.reply ?? null,
      rule: source?.rule ?? null,
    },
    'ON CONFLICT DO NOTHING',
  );
  if (added === 0) return false;
  yield* tellChanges(on, domainId, [{ key, reason: entry.reason }]);
  return true;
}

/** Has changes of the list reported after the commit, because mail that waits in memory was checked before them. */
export function* tellChanges(
  { db, suppressed }: Session,
  domainId: number,
  changes: readonly Omit<SuppressionChange, 'senderDomain'>[],
): Work<void> {
  if (changes.length === 0) return;
  const name = yield* db.get<{ text: string }>('SELECT text FROM name WHERE id = ?', domainId);
  if (name === undefined) return;
  for (const change of changes) suppressed.push({ senderDomain: name.text, ...change });
}
