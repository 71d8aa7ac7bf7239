/**
 * What is kept of a deleted message with an unsubscribe link: for each copy that may have arrived, the number of its
 * delivery and, once per reader, the address. The token in the mail contains only that number, so this is all that a
 * later unsubscribe needs. About twenty bytes per link. Erasing a reader deletes the address of all of them.
 */
import { stateCode } from '../shared/codes.ts';
import type { Connection } from './engine/connection.ts';

/** The bit of `message.personal` for messages with our unsubscribe link. */
const OFFERS = 2;

/** Copies that may have arrived: really sent, or being sent when a process died, and not bounced. */
const ARRIVED = `d.message_seq = ?1 AND d.sandbox IS NULL AND (d.attempts > 0 OR d.may_be_duplicate = 1) AND d.state <> ${stateCode.of('bounced')}`;

/**
 * Keeps what the links of a message need that is about to be deleted, unless its address is `except`; returns how many
 * rows.
 */
export function keepOptOuts(
  db: Connection,
  message: { seq: number; domainId: number; personal: number; sandbox: number; createdAt: number },
  except: string,
): number {
  if ((message.personal & OFFERS) === 0 || message.sandbox !== 0) return 0;
  const { seq, domainId, createdAt } = message;
  db.run(
    `INSERT INTO opt_out_reader (domain_id, key, address, last_at)
     SELECT ?2, fold(d.address), d.address, ?3 FROM delivery d WHERE ${ARRIVED} AND d.address <> ?4
     ON CONFLICT (key, domain_id) DO UPDATE SET last_at = max(last_at, excluded.last_at)`,
    seq,
    domainId,
    createdAt,
    except,
  );
  return db.run(
    `INSERT OR IGNORE INTO opt_out_link (delivery_id, reader_id, at)
     SELECT d.id, r.id, ?3 FROM delivery d CROSS JOIN opt_out_reader r ON r.key = fold(d.address) AND r.domain_id = ?2
     WHERE ${ARRIVED}`,
    seq,
    domainId,
    createdAt,
  ).changes;
}
