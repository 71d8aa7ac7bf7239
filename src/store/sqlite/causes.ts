/** The cause of an outcome, as settling needs it; what is asked about causes is in `../shared/operations/causes.ts`. */
import { causeIdOf } from '../shared/rows/causes.ts';
import { resultOf } from '../shared/work.ts';
import type { NewCause } from '../topics/causes.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';

/** The id of a cause, created if new; null if there are too many. */
export function causeId(session: Session, cause: NewCause, now: number): number | null {
  const sender = cause.senderDomain === '' ? 0 : session.nameId(cause.senderDomain);
  return resultOf(causeIdOf(sharedDb(session.db), sender, cause, now));
}
