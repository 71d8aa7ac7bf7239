/** A transaction of this engine as shared work needs it (`../shared/operation.ts`). */
import type { Session as SharedSession } from '../shared/operation.ts';
import { done } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import {
  deleteContent,
  dropCaptures,
  dropOrLeaveContent,
  dropUnkeptContent,
  forgetContents,
  rewriteDate,
} from './contents.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { appendEvent, isStored, storedBeside } from './events.ts';
import { noteFact } from './notices.ts';

export function sharedSession(session: Session): SharedSession {
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
    captured: session.captured,
    suppressed: session.suppressed,
    suppressing: (domainId, table) => session.suppressing()[table].add(domainId),
    queueIds: (keys) =>
      done(
        keys.map((key) =>
          session.queueId(key.lane, key.sandbox, key.senderDomainId, key.recipientDomain, key.routeKey),
        ),
      ),
    forgetContents: (messages) => done(forgetContents(session.db, messages)),
    dropCaptures: (seqs) => done(dropCaptures(session.db, seqs)),
    dropUnkeptContent: (messageSeq) => done(dropUnkeptContent(session.db, messageSeq)),
    deleteContent: (message) => done(deleteContent(session.db, message)),
    dropOrLeaveContent: (messageSeq) => done(dropOrLeaveContent(session, messageSeq)),
    rewriteDate: (messageSeq, date) => done(rewriteDate(session.db, messageSeq, date)),
    beginResume: (resume) => done(beginResume(session.db, resume)),
  };
}
