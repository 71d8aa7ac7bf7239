/** Why mail waits, as the API says it, in words for a terminal. */
import { printable } from './terminal.ts';

/** Without the word that says what kind of reason it is. A reply to one message is shown with that message only. */
export function waitText(reason: string): string {
  if (reason === 'deferred') return 'Deferred; `message` shows why';
  if (reason === 'scheduled') return 'Scheduled';
  return printable(reason.replace(/^path: /, '').replace(/^held\b/, 'Held'));
}
