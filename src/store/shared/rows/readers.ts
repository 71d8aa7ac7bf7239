/** The delivery that a reader opened, clicked in or unsubscribed from, as a row, and what follows from such a fact. */
import type { NewEvent } from '../../topics/events.ts';
import type { ReaderFact } from '../../topics/readers.ts';
import type { NewSuppression } from '../../topics/suppressions.ts';
import { stateCode } from '../codes.ts';
import { idOf, type StoredId } from '../stored.ts';

/** Of delivery `d`, its message `m` and the name `n` of its sender domain. */
export const READ_COLUMNS =
  'd.message_seq, m.domain_id, n.text AS domain, m.id AS message_id, d.address, d.sandbox, d.state, d.updated_at';

export interface ReadRow {
  message_seq: number;
  domain_id: number;
  domain: string;
  message_id: StoredId;
  address: string;
  sandbox: number | null;
  state: number;
  updated_at: number;
}

/** What an event of it is about. */
export function readSubject(row: ReadRow, deliveryId: number) {
  return { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId };
}

const TOO_QUICK = 'followed within a second of the delivery';

/** The fact as an event; a click less than `quickMs` after the delivery is marked as automatic. */
export function readerEvent({ deliveryId: _, ...fact }: ReaderFact, row: ReadRow, quickMs: number): NewEvent {
  const isQuick =
    fact.kind === 'clicked' && row.state === stateCode.of('delivered') && fact.at < row.updated_at + quickMs;
  return isQuick && fact.detail?.bot !== true
    ? { ...fact, detail: { ...fact.detail, bot: true, reason: TOO_QUICK } }
    : fact;
}

/** What keeps mail from a reader who unsubscribed. `messageId`: null where the message was deleted. */
export function unsubscribed(address: string, messageId: StoredId | null, rule: string): NewSuppression {
  const source = { messageId: messageId === null ? '' : idOf(messageId), reply: '', rule };
  return { address, reason: 'Unsubscribe', note: '', expiresAt: null, source };
}
