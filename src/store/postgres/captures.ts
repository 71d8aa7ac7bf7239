/** Inboxes of captured mail, and its texts; the rest is in `../shared/operations/captures.ts`. */
import type { UnreadCapture } from '../topics/captures.ts';
import { bools, int8s, texts } from './engine/arrays.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

/** $1: domains, $2, $3: inbox and domain behind which, $4: limit. Steps from one inbox of a domain to the next. */
const INBOXES = `WITH page AS MATERIALIZED (
    SELECT i.inbox, n.text AS domain, g.place AS domain_id FROM unnest($1::int8[]) g (place) JOIN name n ON n.id = g.place
    CROSS JOIN LATERAL (
      WITH RECURSIVE step (inbox) AS (
        (SELECT c.inbox FROM capture c WHERE c.domain_id = g.place AND c.inbox >= $2 ORDER BY c.inbox LIMIT 1)
        UNION ALL
        SELECT (SELECT c.inbox FROM capture c WHERE c.domain_id = g.place AND c.inbox > step.inbox ORDER BY c.inbox LIMIT 1)
        FROM step WHERE step.inbox IS NOT NULL)
      SELECT inbox FROM step WHERE inbox IS NOT NULL LIMIT $4::int8 + 1) i
    WHERE (i.inbox, n.text) > ($2, $3) ORDER BY i.inbox, n.text LIMIT $4)
  SELECT p.domain, p.inbox, counted.count, counted.unseen, c.id, c.at, m.subject
  FROM page p CROSS JOIN LATERAL (
      SELECT count(*) AS count, count(*) FILTER (WHERE c.seen_at IS NULL) AS unseen, max(c.seq) AS seq
      FROM capture c WHERE c.domain_id = p.domain_id AND c.inbox = p.inbox) counted
    JOIN capture c ON c.seq = counted.seq JOIN message m ON m.seq = c.message_seq
  ORDER BY p.inbox, p.domain`;

export const listInboxes = read('listInboxes', { search: true }, async (db, params) => {
  const { inbox = '', domain = '' } = params.after ?? {};
  const domainIds = (await findNameIds(db, params.domains)) ?? (await domainIdsIn(db, 'capture'));
  const rows = await db.all<{
    domain: string;
    inbox: string;
    count: number;
    unseen: number;
    id: string;
    at: number;
    subject: string;
  }>(INBOXES, int8s(domainIds), inbox, domain, params.limit);
  return rows.map(({ id, at, subject, ...row }) => ({ ...row, latest: { id, at, subject } }));
});

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
