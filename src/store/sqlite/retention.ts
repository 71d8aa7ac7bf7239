/** What is stored, and deleting contents; the rest of retention is in `../shared/operations/retention.ts`. */
import { dropContent } from './contents.ts';
import { namesIn } from './engine/names-in.ts';
import { read, readInSteps, write } from './engine/operation.ts';
import { findNameId } from './engine/session.ts';
import { totalOf } from './totals.ts';

/** Sender domains with messages: one step of the index each. */
export const domainsWithMail = readInSteps('domainsWithMail', (db) => namesIn(db, 'message'));

/** Octets of all contents: a scan of their narrow table. */
export const contentBytes = read('contentBytes', 'measured', (db) => totalOf(db, 'contents'));

export const domainUse = read('domainUse', 'by key', { search: true }, (db, params) => {
  return params.domains.map((domain) => {
    const id = findNameId(db, domain);
    const row =
      id === null
        ? undefined
        : db.get<{ bytes: number | null; recipients: number | null }>(
            `SELECT (SELECT bytes FROM stored_bytes WHERE domain_id = ?1) AS bytes,
               (SELECT recipients FROM unfinished WHERE domain_id = ?1) AS recipients`,
            id,
          );
    return { domain, bytes: row?.bytes ?? 0, recipients: row?.recipients ?? 0 };
  });
});

export const purgeContents = write('purgeContents', 'measured', { portion: true }, ({ db }, params) => {
  let removed = 0;
  let done = 0;
  let bytes = 0;
  for (const seq of params.seqs) {
    if (bytes >= params.maxBytes) break;
    done += 1;
    const size = dropContent(db, seq);
    if (size === null) continue;
    removed += 1;
    bytes += size;
  }
  return { done, removed };
});
