/** Why mail waits, as the API says it, in words for a terminal. */
import { DEFERRED, isHeldReason, reasonSentence, SCHEDULED } from '../model/wait-reason.ts';

/** Without the word that says what kind of reason it is. A reply to one message is shown with that message only. */
export function waitText(reason: string): string {
  if (reason === DEFERRED) return 'Deferred; `message` shows why';
  if (reason === SCHEDULED) return 'Scheduled';
  const sentence = reasonSentence(reason);
  return isHeldReason(reason) ? `Held: ${sentence}` : sentence;
}
