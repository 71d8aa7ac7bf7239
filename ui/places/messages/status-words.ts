/** Where a message stands as one line: its word, or how many recipients stand where. Pure. */
import type { MessageSummary } from '../../../src/client/api-types.ts';
import { statusName } from '../../components/status.tsx';

/** Of several words the one whose colour says most. */
const WORST_FIRST = ['Bounced', 'Failed', 'Rejected', 'Held', 'Deferred', 'Suppressed'];

/** Where a line is cut, what is well is missing. */
const rank = (word: string) => (WORST_FIRST.includes(word) ? WORST_FIRST.indexOf(word) : WORST_FIRST.length);

export function statusOf({ Status, RecipientStatuses }: MessageSummary): { status: string; words: string } {
  const counts = Object.entries(RecipientStatuses).sort(([a], [b]) => rank(a) - rank(b));
  const [only, ...others] = counts;
  if (only !== undefined && others.length === 0) {
    const [word, count] = only;
    return { status: word, words: count === 1 ? statusName(word) : `${statusName(word)} ${count}` };
  }
  const worst = WORST_FIRST.find((word) => counts.some(([one]) => one === word));
  return {
    status: Status === 'PartiallyDelivered' ? Status : (worst ?? Status),
    words: counts.map(([word, count]) => `${statusName(word)} ${count}`).join(', '),
  };
}
