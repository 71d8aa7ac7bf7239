/** What erasing a person (`../shared/operations/erasing.ts`) does in another way than SQLite. */
import { suppressionKey } from '../../model/suppression.ts';
import { EVENTS_READ } from '../shared/erased.ts';
import { KEPT_TEXTS } from '../shared/rows/messages.ts';
import { int8s } from './engine/arrays.ts';
import { read, write } from './engine/operation.ts';

/** Approximate rows of messages, recipients and events that one query or step reads. */
const ROWS_AT_ONCE = 2_000;

/** An SQL expression that folds an address as `suppressionKey` does. */
const folded = (text: string) => `lower((${text}) COLLATE "und-x-icu")`;
const names = (text: string) => `position($3 IN ${folded(text)}) > 0`;
const textOf = ({ column, isList }: (typeof KEPT_TEXTS)[number]) =>
  `|| coalesce(${isList ? `array_to_string(m.${column}, ' ')` : `m.${column}`}, '')`;

/**
 * $1: seq, $2: limit, $3: the address. The messages after the seq whose rows are read, and whether one may mention
 * the address; only reading a message tells exactly.
 */
const MENTIONS = `WITH page AS MATERIALIZED (SELECT seq FROM message WHERE seq > $1 ORDER BY seq LIMIT $2),
  weighed AS MATERIALIZED (
    SELECT p.seq, e.n AS events, sum(1 + r.n + e.n) OVER (ORDER BY p.seq) - (1 + r.n + e.n) AS before
    FROM page p
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM delivery WHERE message_seq = p.seq LIMIT 1000) d) r
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM
        (SELECT FROM event WHERE message_seq = p.seq LIMIT ${EVENTS_READ + 1}) f) e)
  SELECT m.seq, w.events > ${EVENTS_READ}
    OR ${names(`m.lists ${KEPT_TEXTS.map(textOf).join(' ')}`)}
    OR EXISTS (SELECT FROM delivery d WHERE d.message_seq = m.seq
      AND ${names(`d.address || ' ' || coalesce(d.last_reply, '') || coalesce(d.wait_reason, '')`)} OFFSET 0)
    OR EXISTS (SELECT FROM event e WHERE e.message_seq = m.seq AND ${names('e.detail')} OFFSET 0)
    OR EXISTS (SELECT FROM message_notice n WHERE n.message_seq = m.seq
      AND ${names(`n.sender || ' ' || coalesce(n.envid, '') || ' ' || coalesce(n.orcpts, '')`)} OFFSET 0) AS found,
    (SELECT count(*) FROM page) AS looked
  FROM weighed w JOIN message m ON m.seq = w.seq WHERE w.before < ${ROWS_AT_ONCE} ORDER BY m.seq`;

export const findMentions = read('findMentions', { search: true }, async (db, params) => {
  const { address, afterSeq, limit } = params;
  const key = suppressionKey(address);
  const rows = await db.all<{ seq: number; found: boolean; looked: number }>(MENTIONS, afterSeq, limit, key);
  const seqs = rows.filter(({ found }) => found).map(({ seq }) => seq);
  const waiting = await db.all<{ messageSeq: number; deliveryId: number }>(
    `SELECT message_seq AS "messageSeq", id AS "deliveryId" FROM delivery
     WHERE message_seq = ANY ($1::int8[]) AND state IN (0, 1) AND ${folded('address')} = $2 ORDER BY message_seq, id`,
    int8s(seqs),
    key,
  );
  const newest = await db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM message');
  const looked = rows[0]?.looked ?? 0;
  const isOver = looked < limit && rows.length === looked;
  return { seqs, waiting, nextSeq: isOver ? null : (rows.at(-1)?.seq ?? null), lastSeq: newest?.seq ?? 0 };
});

/** Nothing is overwritten here: what the server keeps is the operator's. */
export const scrub = write('scrub', { whole: true }, async () => false);
