/** What is stored, and deleting contents; the rest of retention is in `../shared/operations/retention.ts`. */
import { UNFINISHED } from '../shared/rows/queue.ts';
import { SHOWN, WAITS } from '../shared/rows/retention.ts';
import { dropContents } from './contents.ts';
import { int8s, texts } from './engine/arrays.ts';
import { domainsIn } from './engine/domains-in.ts';
import { read, write } from './engine/operation.ts';

export const domainsWithMail = read('domainsWithMail', (db) => domainsIn(db, 'message'));

/** Octets of all contents: a scan of a narrow index. */
export const contentBytes = read('contentBytes', { search: true }, async (db) => {
  return (await db.get<{ n: number | null }>('SELECT sum(size) AS n FROM content'))?.n ?? 0;
});

export const domainUse = read('domainUse', { lane: 'count' }, (db, params) =>
  db.all(
    `SELECT g.domain, coalesce((SELECT sum(k.size) FROM content k WHERE k.domain_id = n.id), 0)
         + coalesce((SELECT sum(length(c.prefix)) FROM capture c WHERE c.domain_id = n.id), 0) AS bytes,
       ${UNFINISHED} AS recipients
     FROM unnest($1::text[]) WITH ORDINALITY g (domain, place) LEFT JOIN name n ON n.text = g.domain ORDER BY g.place`,
    texts(params.domains),
  ),
);

export const purgeContents = write('purgeContents', async ({ db }, { seqs, maxBytes }) => {
  const rows = await db.all<{ bytes: number }>(
    `SELECT sum(CASE WHEN ${WAITS} OR ${SHOWN} THEN 0 ELSE coalesce(k.size, 0) END) OVER (ORDER BY g.place) AS bytes
     FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place) LEFT JOIN message m ON m.seq = g.seq
       LEFT JOIN content k ON k.message_seq = g.seq ORDER BY g.place`,
    int8s(seqs),
  );
  const enough = rows.findIndex(({ bytes }) => bytes >= maxBytes);
  const done = enough < 0 ? seqs.length : enough + 1;
  const removed = await dropContents(db, seqs.slice(0, done));
  return { done, removed: removed.length };
});
