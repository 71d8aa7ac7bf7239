/**
 * What is kept of a deleted message with an unsubscribe link: for each copy that may have arrived, the number of its
 * delivery and, once per reader, the address. The token in the mail contains only that number, so this is all that a
 * later unsubscribe needs. About twenty bytes per link. Erasing a reader deletes the address of all of them.
 */
import { suppressionKey } from '../../../model/suppression.ts';
import { stateCode } from '../codes.ts';
import { ERASED } from '../erased.ts';
import type { Db } from '../operation.ts';
import { isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';

/** The bit of `message.personal` for messages with our unsubscribe link. */
const OFFERS = 2;

/** Copies that may have arrived: really sent, or being sent when a process died, and not bounced. */
const ARRIVED = `SELECT d.id, d.address FROM delivery d WHERE d.message_seq = ? AND d.sandbox IS NULL
  AND (d.attempts > 0 OR {d.may_be_duplicate = 1|d.may_be_duplicate}) AND d.state <> ${stateCode.of('bounced')}
  AND d.address <> '${ERASED}'`;

/** Keeps what the links of a message need that is about to be deleted; returns how many rows. */
export function* keepOptOuts(
  db: Db,
  message: { seq: number; domainId: number; personal: number; sandbox: StoredFlag; createdAt: number },
): Work<number> {
  if ((message.personal & OFFERS) === 0 || isTrue(message.sandbox)) return 0;
  const { seq, domainId, createdAt } = message;
  const copies = yield* db.all<{ id: number; address: string }>(ARRIVED, seq);
  const addresses = new Map(copies.map(({ address }) => [suppressionKey(address), address]));
  // Two messages of one reader may be deleted at the same time, so their rows are locked in one order.
  const keys = [...addresses.keys()].sort();
  const readers = db.rows('g', {
    key: { text: keys },
    address: { text: keys.map((key) => addresses.get(key) ?? key) },
  });
  yield* db.run(
    `INSERT INTO opt_out_reader AS r (domain_id, key, address, last_at)
     SELECT {?, g.key, g.address, ?|?::int8, g.key, g.address, ?::int8} FROM ${readers.from} WHERE true
     ON CONFLICT (key, domain_id) DO UPDATE SET last_at = {max|greatest}(r.last_at, excluded.last_at)`,
    ...[domainId, createdAt, ...readers.values],
  );
  const links = db.rows('g', {
    id: { int8: copies.map(({ id }) => id) },
    key: { text: copies.map(({ address }) => suppressionKey(address)) },
  });
  return yield* db.run(
    `INSERT INTO opt_out_link (delivery_id, reader_id, at) SELECT g.id, r.id, {?|?::int8}
     FROM ${links.from} {CROSS|} JOIN opt_out_reader r ON r.key = g.key AND r.domain_id = ? WHERE true
     ON CONFLICT DO NOTHING`,
    ...[createdAt, ...links.values, domainId],
  );
}
