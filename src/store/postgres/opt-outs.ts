/**
 * What is kept of a deleted message with an unsubscribe link: for each copy that may have arrived, the number of its
 * delivery and, once per reader, the address. The token in the mail contains only that number, so this is all that a
 * later unsubscribe needs. Erasing a reader deletes the address of all of them.
 */
import { suppressionKey } from '../../model/suppression.ts';
import { stateCode } from '../shared/codes.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';

/** The bit of `message.personal` for messages with our unsubscribe link. */
const OFFERS = 2;

/** Copies that may have arrived: really sent, or being sent when a process died, and not bounced. */
const ARRIVED = `SELECT d.id, d.address FROM delivery d WHERE d.message_seq = $1 AND d.sandbox IS NULL
  AND (d.attempts > 0 OR d.may_be_duplicate) AND d.state <> ${stateCode.of('bounced')} AND d.address <> $2`;

/**
 * Keeps what the links of a message need that is about to be deleted, unless its address is `except`; returns how many
 * rows.
 */
export async function keepOptOuts(
  db: Db,
  message: { seq: number; domainId: number; personal: number; sandbox: boolean; createdAt: number },
  except: string,
): Promise<number> {
  if ((message.personal & OFFERS) === 0 || message.sandbox) return 0;
  const { seq, domainId, createdAt } = message;
  const copies = await db.all<{ id: number; address: string }>(ARRIVED, seq, except);
  const addresses = new Map(copies.map(({ address }) => [suppressionKey(address), address]));
  // Two messages of one reader may be deleted at the same time, so their rows are locked in one order.
  const keys = [...addresses.keys()].sort();
  await db.run(
    `INSERT INTO opt_out_reader AS r (domain_id, key, address, last_at)
     SELECT $1, g.key, g.address, $2 FROM unnest($3::text[], $4::text[]) g (key, address)
     ON CONFLICT (key, domain_id) DO UPDATE SET last_at = greatest(r.last_at, excluded.last_at)`,
    domainId,
    createdAt,
    texts(keys),
    texts(keys.map((key) => addresses.get(key) ?? key)),
  );
  return db.run(
    `INSERT INTO opt_out_link (delivery_id, reader_id, at)
     SELECT g.id, r.id, $2 FROM unnest($3::int8[], $4::text[]) g (id, key)
     JOIN opt_out_reader r ON r.key = g.key AND r.domain_id = $1 ON CONFLICT DO NOTHING`,
    domainId,
    createdAt,
    int8s(copies.map(({ id }) => id)),
    texts(copies.map(({ address }) => suppressionKey(address))),
  );
}
