/** A transaction of this engine as shared work needs it (`../shared/operation.ts`). */
import type { Session as SharedSession } from '../shared/operation.ts';
import { awaited } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import {
  deleteContent,
  dropCaptures,
  dropOrLeaveContent,
  dropUnkeptContents,
  forgetTexts,
  rewriteDate,
} from './contents.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { appendAll, appendEvent, isStored, storedAmong } from './events.ts';
import { isLiving, staysLiving } from './nodes.ts';
import { noteFacts } from './notices.ts';

export function sharedSession(session: Session): SharedSession {
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
    captured: session.captured,
    suppressed: session.suppressed,
    suppressing() {},
    queueIds: (keys) => awaited(session.queueIds(keys)),
    forgetContents: (messages) =>
      awaited(
        forgetTexts(
          db,
          messages.map(({ seq }) => seq),
        ),
      ),
    dropCaptures: (seqs) => awaited(dropCaptures(db, seqs)),
    dropUnkeptContent: (messageSeq) => awaited(dropUnkeptContents(db, [messageSeq])),
    deleteContent: ({ seq }) => awaited(deleteContent(db, seq)),
    dropOrLeaveContent: (messageSeq) => awaited(dropOrLeaveContent(session, messageSeq)),
    rewriteDate: (messageSeq, date) => awaited(rewriteDate(db, messageSeq, date)),
    beginResume: (resume) => awaited(beginResume(db, resume)),
  };
}
