/** Changing captures: marking them as seen, deleting them, and storing what was read in their messages. */
import { STEP_BYTES } from '../shared/operations/removal.ts';
import type { CaptureStore, UnreadCapture } from '../topics/captures.ts';
import { placesOf, rangesOf } from './captures.ts';
import { dropUnkeptContents } from './contents.ts';
import { bools, int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

export const markCaptures = write('markCaptures', async ({ db }, params) => {
  const { seenAt, limit } = params;
  const found = await chosen(db, params);
  const changed = await db.run(
    `UPDATE capture SET seen_at = $1::int8 WHERE seq IN (SELECT seq FROM capture WHERE seq = ANY ($2::int8[])
       AND (seen_at IS NULL) <> ($1::int8 IS NULL) ORDER BY seq FOR UPDATE)`,
    seenAt,
    int8s(found),
  );
  return { changed, next: found.length < limit ? null : (found.at(-1) ?? null) };
});

export const deleteCaptures = write('deleteCaptures', async ({ db }, params) => {
  const found = await chosen(db, params);
  const gone = await upToStep(db, found);
  await dropCaptures(db, gone);
  const isWhole = found.length < params.limit && gone.length === found.length;
  return { deleted: gone.length, next: isWhole ? null : (gone.at(-1) ?? null) };
});

/** The captures to delete or mark: given ids, or the next portion of an inbox, of domains or of all. */
async function chosen(db: Db, params: Parameters<CaptureStore['deleteCaptures']>[0]): Promise<number[]> {
  const { ids, beforeSeq = Number.MAX_SAFE_INTEGER, limit } = params;
  if (ids === undefined) {
    const range = { from: await placesOf(db, params), above: 0, below: beforeSeq, order: 'DESC' } as const;
    return (await mergedRows<{ seq: number }>(db, rangesOf(range), limit)).map(({ seq }) => seq);
  }
  const filter = createFilter();
  filter.oneOf('id', ids);
  filter.when('inbox = ?', params.inbox);
  filter.oneOf('domain_id', await findNameIds(db, params.domains));
  filter.when('seq < ?', beforeSeq);
  const sql = `SELECT seq FROM capture ${filter.where()} ORDER BY seq DESC LIMIT ?`;
  return (await db.all<{ seq: number }>(sql, ...filter.values(), limit)).map(({ seq }) => seq);
}

/** The first of the captures, until the contents that may be deleted with them are as much as one step deletes. */
export async function upToStep(db: Db, seqs: readonly number[]): Promise<number[]> {
  const rows = await db.all<{ seq: number }>(
    `SELECT s.seq FROM (
       SELECT g.seq, g.place, sum(coalesce(o.size, 0)) OVER (ORDER BY g.place) - coalesce(o.size, 0) AS bytes
       FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place) LEFT JOIN capture c ON c.seq = g.seq
         LEFT JOIN message m ON m.seq = c.message_seq AND NOT m.keep_content
         LEFT JOIN content o ON o.message_seq = m.seq) s
     WHERE s.bytes < ${STEP_BYTES} ORDER BY s.place`,
    int8s(seqs),
  );
  return rows.map(({ seq }) => seq);
}

/** Deletes captures, what was indexed of messages without other ones, and contents that were kept only for them. */
export async function dropCaptures(db: Db, seqs: readonly number[]): Promise<void> {
  // Messages are locked before their captures, as by outcomes and by all who delete messages.
  await db.run(
    `SELECT FROM message WHERE seq = ANY (ARRAY(SELECT message_seq FROM capture WHERE seq = ANY ($1::int8[])))
     ORDER BY seq FOR UPDATE`,
    int8s(seqs),
  );
  const rows = await db.all<{ message_seq: number }>(
    `DELETE FROM capture WHERE seq IN (SELECT seq FROM capture WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE)
     RETURNING message_seq`,
    int8s(seqs),
  );
  const messages = [...new Set(rows.map((row) => row.message_seq))];
  await forgetTexts(db, messages);
  await dropUnkeptContents(db, messages);
}

/** Deletes what was indexed of those of the messages that have no captures any more. */
export async function forgetTexts(db: Db, messageSeqs: readonly number[]): Promise<void> {
  const messages = int8s(messageSeqs);
  // A capture that is being stored is waited for.
  await db.run('SELECT FROM message WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE', messages);
  const gone = `message_seq = ANY ($1::int8[]) AND NOT EXISTS (SELECT FROM capture c WHERE c.message_seq = t.message_seq)`;
  await db.run(`DELETE FROM capture_text t WHERE ${gone}`, messages);
  await db.run(`DELETE FROM capture_unread t WHERE ${gone}`, messages);
}

/** Deletes the content of a message, also one that is needed, and what is indexed of it; its captures are deleted before. */
export async function deleteContent(db: Db, messageSeq: number): Promise<void> {
  await forgetTexts(db, [messageSeq]);
  await db.run('DELETE FROM content WHERE message_seq = $1', messageSeq);
}

export const unreadCaptures = read('unreadCaptures', async (db, params) => {
  const { afterDomain = -1, limit } = params;
  return db.all<UnreadCapture>(
    `WITH RECURSIVE domain (id) AS (
       SELECT min(domain_id) FROM capture_unread WHERE domain_id > $1
       UNION ALL
       SELECT (SELECT min(domain_id) FROM capture_unread WHERE domain_id > domain.id) FROM domain
       WHERE domain.id IS NOT NULL)
     SELECT d.id AS "domainId", u.seq AS "messageSeq"
     FROM (SELECT id FROM domain WHERE id IS NOT NULL LIMIT $2) d CROSS JOIN LATERAL
       (SELECT message_seq AS seq FROM capture_unread WHERE domain_id = d.id ORDER BY message_seq DESC LIMIT $2) u
     ORDER BY d.id, u.seq DESC`,
    afterDomain,
    limit,
  );
});

export const putCaptureTexts = write('putCaptureTexts', { whole: true }, async ({ db }, params) => {
  const given = [...new Map(params.texts.map((text) => [text.messageSeq, text])).values()];
  await db.run(
    `WITH known AS (DELETE FROM capture_unread WHERE message_seq = ANY ($1::int8[]))
     INSERT INTO capture_text (message_seq, has_files, text)
     SELECT g.* FROM unnest($1::int8[], $2::bool[], $3::text[]) g (message_seq, has_files, text)
     WHERE EXISTS (SELECT FROM capture c WHERE c.message_seq = g.message_seq) ORDER BY g.message_seq
     ON CONFLICT (message_seq) DO UPDATE SET has_files = excluded.has_files, text = excluded.text`,
    int8s(given.map(({ messageSeq }) => messageSeq)),
    bools(given.map(({ hasFiles }) => hasFiles)),
    texts(given.map(({ text }) => text)),
  );
});
