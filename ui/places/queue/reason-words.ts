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

/** A number of things: `1 recipient`, `1,204 recipients`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${COUNT.format(count)} ${count === 1 ? one : many}`;
}

const COUNT = new Intl.NumberFormat(undefined);

/** `1,204`, and `1,000+` where not all were counted. */
export function countText(count: number, isAll = true): string {
  return `${COUNT.format(count)}${isAll ? '' : '+'}`;
}
