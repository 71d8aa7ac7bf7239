/** Suppressions, as claiming and settling need them; the list is in `../shared/operations/suppressions.ts`. */
import { type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import { suppressionReasonCode } from '../shared/codes.ts';
import { ERASING_KEY, erasedKeys } from '../shared/erased.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainsIn } from './engine/domains-in.ts';
import { read } from './engine/operation.ts';

export const suppressedDomains = read('suppressedDomains', (db) => domainsIn(db, 'suppression'));

/** Reasons in force for recipients that were claimed, by the number of their delivery; those without are left out. */
export async function reasonsFor(
  db: Db,
  rows: readonly { id: number; domain_id: number; address: string }[],
  now: number,
): Promise<ReadonlyMap<number, readonly SuppressionReason[]>> {
  const found = new Map<number, SuppressionReason[]>();
  const keys = rows.map(({ address }) => suppressionKey(address));
  const erased = erasedKeys(await db.get(ERASING_KEY), keys);
  const entries = await db.all<{ id: number; reason: number }>(
    `SELECT g.id, s.reason FROM unnest($1::int8[], $2::int8[], $3::text[], $4::text[]) g (id, domain_id, key, erased)
     CROSS JOIN unnest(ARRAY[g.key, g.erased]) k (key) JOIN suppression s ON s.domain_id = g.domain_id AND s.key = k.key
       AND (s.expires_at IS NULL OR s.expires_at > $5)
     ORDER BY g.id, s.reason`,
    int8s(rows.map(({ id }) => id)),
    int8s(rows.map((row) => row.domain_id)),
    texts(keys),
    texts(keys.map((_, i) => erased[i] ?? null)),
    now,
  );
  for (const { id, reason } of entries) {
    const reasons = found.get(id) ?? [];
    reasons.push(suppressionReasonCode.word(reason));
    found.set(id, reasons);
  }
  return found;
}

/** A delivery proves that the mailbox works: the evidence against it is deleted. */
export async function forgetEvidence(db: Db, domainId: number, address: string): Promise<void> {
  const sql = 'DELETE FROM suppression_evidence WHERE domain_id = $1 AND key = $2';
  await db.run(sql, domainId, suppressionKey(address));
}
