/** Why mail waits, as the API says it, in words for a terminal. */
import { DEFERRED, isHeldReason, reasonSentence, SCHEDULED } from '../model/wait-reason.ts';
import { shortened } from './terminal.ts';

const MAX_REPLY = 100;

/** Without the word that says what kind of reason it is. `reply`: what deferred one of them; null: not known. */
export function waitText(reason: string, reply: string | null = null): string {
  if (reason === DEFERRED) return reply === null ? 'Deferred' : `Deferred: ${shortened(reply, MAX_REPLY)}`;
  if (reason === SCHEDULED) return 'Scheduled';
  const sentence = reasonSentence(reason);
  return isHeldReason(reason) ? `Held: ${sentence}` : sentence;
}
