/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type { SharedRead, Session as SharedSession, SharedWrite } from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { done, resultOf } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import { deleteContent, dropOrLeaveContent, dropUnkeptContent, rewriteDate } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import type { Read, Write } from './engine/operation.ts';
import { domainIdsIn, type Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { erasedKey } from './erasing.ts';
import { appendEvent, isStored, storedBeside } from './events.ts';
import { noteFact } from './notices.ts';
import { applySignal, insertSuppression, tellChanges } from './suppressions.ts';

function sharedSession(session: Session): SharedSession {
  const isLiving = (epoch: number) => done(!session.hasEnded(epoch));
  return {
    db: sharedDb(session.db),
    nameId: (text) => done(session.nameId(text)),
    appendEvent: (event, subject) => done(appendEvent(session, event, subject)),
    appendEvents: (events) => done(events.map(({ event, subject }) => appendEvent(session, event, subject))),
    isLiving,
    staysLiving: isLiving,
    epochsChanged: session.epochsChanged,
    hooksChanged: session.hooksChanged,
    isStored: (domainId, event) => done(isStored(session.db, domainId, event)),
    storedAmong: (domainId, events) => done(storedBeside(session.db, domainId, events)),
    noteFact: (fact) => done(noteFact(session.db, fact)),
    suppress: (domainId, entry, now) => done(insertSuppression(session, domainId, entry, now)),
    applySignal: (...given) => done(applySignal(session, ...given)),
    tellChanges: (domainId, changes) => done(tellChanges(session, domainId, changes)),
    erasedKey: (key) => done(erasedKey(session.db, key)),
    dropUnkeptContent: (messageSeq) => done(dropUnkeptContent(session.db, messageSeq)),
    deleteContent: (message) => done(deleteContent(session.db, message)),
    dropOrLeaveContent: (messageSeq) => done(dropOrLeaveContent(session, messageSeq)),
    rewriteDate: (messageSeq, date) => done(rewriteDate(session.db, messageSeq, date)),
    domainIdsIn: (table) => done(domainIdsIn(session.db, table)),
    beginResume: (resume) => done(beginResume(session.db, resume)),
  };
}

type Own<One> =
  One extends SharedWrite<infer Name, infer How>
    ? Write<Name, How>
    : One extends SharedRead<infer Name, infer How>
      ? Read<Name, How>
      : never;

/** By name. */
export const COMMON = Object.fromEntries(
  Object.entries(SHARED).map(([name, one]) => [name, own(one as SharedWrite<never> | SharedRead<never>)]),
) as object as { readonly [Name in keyof typeof SHARED]: Own<(typeof SHARED)[Name]> };

function own(shared: SharedWrite<never> | SharedRead<never>) {
  const run =
    shared.kind === 'write'
      ? (session: Session, params: never) => resultOf(shared(sharedSession(session), params))
      : (db: Connection, params: never) => resultOf(shared(sharedDb(db), params));
  const { operation, kind, bound, options } = shared;
  return Object.assign(run, { operation, kind, bound, options });
}
