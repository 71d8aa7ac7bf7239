/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type { SharedRead, Session as SharedSession, SharedWrite } from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { awaited, finished } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import { deleteContent } from './capture-changes.ts';
import { dropOrLeaveContent, dropUnkeptContents, rewriteDate } from './contents.ts';
import type { Db } from './engine/db.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import type { Read, Write } from './engine/operation.ts';
import type { Session, Shared } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { erasedKey } from './erasing.ts';
import { appendAll, appendEvent, isStored, storedAmong } from './events.ts';
import { isLiving, staysLiving } from './nodes.ts';
import { noteFacts } from './notices.ts';
import { applySignal, insertSuppression, tellChanges } from './suppressions.ts';

function sharedSession(session: Session): SharedSession {
  const { db } = session;
  return {
    db: sharedDb(db, session),
    nameId: (text) => awaited(session.nameId(text)),
    appendEvent: (event, subject) => awaited(appendEvent(session, event, subject)),
    appendEvents: (events) => awaited(appendAll(session, events)),
    isLiving: (epoch) => awaited(isLiving(db, epoch)),
    staysLiving: (epoch) => awaited(staysLiving(db, epoch)),
    epochsChanged() {},
    hooksChanged() {},
    isStored: (domainId, event) => awaited(isStored(db, domainId, event)),
    storedAmong: (domainId, events) => awaited(storedAmong(db, domainId, events)),
    noteFact: (fact) => awaited(noteFacts(session, [fact])),
    suppress: (domainId, entry, now) => awaited(insertSuppression(session, domainId, entry, now)),
    applySignal: (...given) => awaited(applySignal(session, ...given)),
    tellChanges: (domainId, changes) => awaited(tellChanges(session, domainId, changes)),
    erasedKey: (key) => awaited(erasedKey(db, key)),
    dropUnkeptContent: (messageSeq) => awaited(dropUnkeptContents(db, [messageSeq])),
    deleteContent: ({ seq }) => awaited(deleteContent(db, seq)),
    dropOrLeaveContent: (messageSeq) => awaited(dropOrLeaveContent(session, messageSeq)),
    rewriteDate: (messageSeq, date) => awaited(rewriteDate(db, messageSeq, date)),
    domainIdsIn: (table) => awaited(domainIdsIn(db, table)),
    beginResume: (resume) => awaited(beginResume(db, resume)),
  };
}

type Own<One> =
  One extends SharedWrite<infer Name> ? Write<Name> : One extends SharedRead<infer Name> ? Read<Name> : never;

/** By name. */
export const COMMON = Object.fromEntries(
  Object.entries(SHARED).map(([name, one]) => [name, own(one as SharedWrite<never> | SharedRead<never>)]),
) as object as { readonly [Name in keyof typeof SHARED]: Own<(typeof SHARED)[Name]> };

function own(shared: SharedWrite<never> | SharedRead<never>) {
  const run =
    shared.kind === 'write'
      ? (session: Session, params: never) => finished(shared(sharedSession(session), params))
      : (db: Db, params: never, store: Shared) => finished(shared(sharedDb(db, store), params));
  const { operation, kind, options } = shared;
  return Object.assign(run, { operation, kind, options });
}
