/** What is deleted together with another thing, and what is left for later portions (`purgeLeftovers`). */
import { anyOf, type Db, type Session } from '../operation.ts';
import type { ColumnValue } from '../record.ts';
import type { Work } from '../work.ts';

/** Approximate octets of contents that one step deletes: a content has at most 25 MB, which takes some 10 ms. */
export const STEP_BYTES = 16_777_216;

/** Things with rows of their own, and messages whose content is no longer needed. */
export type LeftoverKind = 'webhook' | 'template' | 'sandbox-rule' | 'content';

/** Records that the rows of things are to be deleted; their own rows are deleted in the same transaction. */
export function leaveRows(db: Db, kind: LeftoverKind, owners: readonly number[]): Work<number> {
  return db.run(
    `INSERT INTO leftover (kind, owner)
     SELECT ?1, {value FROM json_each(?2)|value::int8 FROM json_array_elements_text(?2::json)}
     WHERE true ON CONFLICT DO NOTHING`,
    kind,
    JSON.stringify(owners),
  );
}

/** Deletes the webhooks that a condition finds; how many. Their calls are deleted later, in portions. */
export function* deleteWebhooks(session: Session, where: string, ...values: ColumnValue[]): Work<number> {
  const { db } = session;
  const rows = yield* db.all<{ id: number }>(`DELETE FROM webhook ${where} RETURNING id`, ...values);
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  const of = anyOf(db, 'webhook_id', ids);
  yield* db.run(`DELETE FROM webhook_resume ${of.where()}`, ...of.values());
  yield* leaveRows(db, 'webhook', ids);
  session.hooksChanged();
  return rows.length;
}

/** Deletes those of a domain that is being removed. */
export function deleteWebhooksOf(session: Session, domainId: number): Work<number> {
  return deleteWebhooks(session, 'WHERE domain_id = ?', domainId);
}

/** Deletes those created with a token, at most `limit`; returns how many. */
export function deleteWebhooksMadeWith(session: Session, tokenId: string, limit: number): Work<number> {
  const made =
    'SELECT id FROM webhook {INDEXED BY webhook_maker|} WHERE created_by = ? LIMIT ? {|FOR UPDATE}';
  return deleteWebhooks(session, `WHERE id IN (${made})`, tokenId, limit);
}

/** Removes the templates of a domain that is being removed. */
export function* removeTemplatesOf(db: Db, domain: string): Work<void> {
  const gone = yield* db.all<{ seq: number }>('DELETE FROM template WHERE domain = ? RETURNING seq', domain);
  yield* leaveRows(
    db,
    'template',
    gone.map(({ seq }) => seq),
  );
}
