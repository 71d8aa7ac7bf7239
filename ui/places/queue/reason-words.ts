/** Why mail waits, as a person reads it: the words of the API without the marks by which programs tell them apart. */
import { DEFERRED, dashboardSentence, isHeldReason, SCHEDULED } from '../../../src/model/wait-reason.ts';
import { withLocalTimes } from '../../components/local-times.ts';

export function reasonText(reason: string): string {
  if (reason === '') return 'Its turn';
  if (reason === DEFERRED) return 'Deferred';
  if (reason === SCHEDULED) return 'Scheduled for later';
  const plain = withLocalTimes(`${isHeldReason(reason) ? 'held: ' : ''}${dashboardSentence(reason)}`);
  // The name of a host stays as it is.
  return /^\S*[.:]\S/.test(plain) ? plain : plain.charAt(0).toUpperCase() + plain.slice(1);
}
