/** Whether a capture in memory matches, with the same conditions as the store's query. */
import { foldText } from '../../../model/search-text.ts';
import type { CaptureFilter, CaptureView } from '../../../store/topics/captures.ts';

/** `wish.subject` is folded, as for the store. */
export function fits(capture: CaptureView, wish: CaptureFilter): boolean {
  return (
    (wish.inbox === undefined || capture.inbox === wish.inbox) &&
    (wish.domains === undefined || wish.domains.includes(capture.domain)) &&
    (wish.to === undefined || capture.envelopeTo === wish.to) &&
    (wish.from === undefined || capture.lists.from.address === wish.from) &&
    (wish.subject === undefined || foldText(capture.subject).includes(wish.subject)) &&
    (wish.tag === undefined || capture.tags.includes(wish.tag)) &&
    (wish.since === undefined || capture.at >= wish.since) &&
    (wish.seen === undefined || (capture.seenAt !== null) === wish.seen) &&
    (wish.until === undefined || capture.at < wish.until)
  );
}
