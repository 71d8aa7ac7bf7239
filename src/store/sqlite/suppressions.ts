/** Suppressions, as claiming and settling need them; the list is in `../shared/operations/suppressions.ts`. */
import { type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import { suppressionReasonCode } from '../shared/codes.ts';
import { ERASING_KEY, erasedKeys } from '../shared/erased.ts';
import { namesIn } from './engine/names-in.ts';
import { readInSteps } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** Reasons in force for one address. Tests hold its plan to the index. */
export const REASONS_SQL = `SELECT reason FROM suppression
  WHERE domain_id = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY reason`;

export const suppressedDomains = readInSteps('suppressedDomains', (db) => namesIn(db, 'suppression'));

/** Reasons in force for a recipient that is being claimed; costs nothing if the domain has no entries. */
export function reasonsFor(
  session: Session,
  domainId: number,
  address: string,
  now: number,
): readonly SuppressionReason[] {
  if (!session.suppressing().entries.has(domainId)) return [];
  const key = suppressionKey(address);
  const keys = [key, ...erasedKeys(session.db.get(ERASING_KEY), [key])];
  return keys.flatMap((each) =>
    session.db
      .all<{ reason: number }>(REASONS_SQL, domainId, each, now)
      .map((row) => suppressionReasonCode.word(row.reason)),
  );
}

/** A delivery proves that the mailbox works: the evidence against it is deleted. */
export function forgetEvidence(session: Session, domainId: number, address: string): void {
  if (!session.suppressing().evidence.has(domainId)) return;
  session.db.run(
    'DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ?',
    domainId,
    suppressionKey(address),
  );
}
