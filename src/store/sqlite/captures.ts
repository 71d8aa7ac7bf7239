/** Inboxes of captured mail, and its texts; the rest is in `../shared/operations/captures.ts`. */
import type { UnreadCapture } from '../topics/captures.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

export const listInboxes = read('listInboxes', 'measured', { search: true }, (db, params) => {
  const domainIds = findNameIds(db, params.domains);
  const { inbox = '', domain = '' } = params.after ?? {};
  const behind = '(i.inbox > ? OR (i.inbox = ? AND n.text > ?))';
  const name = 'CROSS JOIN name n ON n.id = i.domain_id WHERE i.inbox >= ?';
  const columns =
    'SELECT i.inbox AS inbox, n.text AS domain, i.domain_id AS domainId, i.count AS count, i.unseen AS unseen';
  const after = [inbox, inbox, inbox, domain];
  const ranges: Ranges = {
    ...(domainIds === undefined
      ? { sql: `${columns} FROM inbox i ${name} AND ${behind}`, values: [after] }
      : {
          sql: `${columns} FROM inbox i INDEXED BY inbox_domain ${name} AND i.domain_id = ? AND ${behind}`,
          values: domainIds.map((id) => [inbox, id, ...after.slice(1)]),
        }),
    order: 'inbox, domain',
  };
  return mergedRows<InboxRow>(db, ranges, params.limit).flatMap((row) => {
    const latest = db.get<{ id: string; at: number; subject: string }>(
      `SELECT c.id, c.at, m.subject FROM capture c CROSS JOIN message m ON m.seq = c.message_seq
       WHERE c.seq = (SELECT max(seq) FROM capture INDEXED BY capture_inbox WHERE domain_id = ? AND inbox = ?)`,
      row.domainId,
      row.inbox,
    );
    const { domain, inbox, count, unseen } = row;
    return latest === undefined ? [] : [{ domain, inbox, count, unseen, latest }];
  });
});

interface InboxRow {
  inbox: string;
  domain: string;
  domainId: number;
  count: number;
  unseen: number;
}

export const unreadCaptures = read('unreadCaptures', 'as asked', (db, params) => {
  const { afterDomain = -1, limit } = params;
  const found: UnreadCapture[] = [];
  const next = 'SELECT min(domain_id) AS id FROM capture_unread WHERE domain_id > ?';
  let domainId = db.get<{ id: number | null }>(next, afterDomain)?.id ?? null;
  for (let domains = 0; domains < limit && domainId !== null; domains += 1) {
    const sql = `SELECT domain_id AS domainId, message_seq AS messageSeq FROM capture_unread
      WHERE domain_id = ? ORDER BY message_seq DESC LIMIT ?`;
    found.push(...db.all<UnreadCapture>(sql, domainId, limit));
    domainId = db.get<{ id: number | null }>(next, domainId)?.id ?? null;
  }
  return found;
});

export const putCaptureTexts = write('putCaptureTexts', 'by key', { patient: 'texts' }, ({ db }, params) => {
  for (const { messageSeq, hasFiles, text } of params.texts) {
    db.run('DELETE FROM capture_unread WHERE message_seq = ?', messageSeq);
    db.run(
      `INSERT OR REPLACE INTO capture_text (message_seq, has_files, text)
       SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM capture WHERE message_seq = ?1)`,
      messageSeq,
      hasFiles ? 1 : 0,
      text,
    );
  }
});
