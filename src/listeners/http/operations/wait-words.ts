/** Why mail in the store waits: the current reason counts more than the stored one. */

import { isPathReason, SCHEDULED, withoutNoCode } from '../../../model/wait-reason.ts';
import { holdReason } from '../../../policy/limits/holds.ts';
import type { WaitingQueue, WaitingReason } from '../../../store/topics/queue.ts';
import type { Traffic, WaitingMail } from './traffic.ts';

/** The reason of mail that only waits for other mail: to its site, or of its sender domain in memory. */
export const ITS_TURN = 'its turn: earlier mail, or other mail of its sender domain, goes first';

/** Never ''. `stored`: the reason in its row; null or '' = none. `isDue`: its time has come. */
export function waitReason(
  stored: string | null,
  isDue: boolean,
  mail: WaitingMail,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'blockedFor'>,
): string {
  const hold = traffic.heldBy(mail);
  if (hold !== null) return holdReason(hold);
  const paused = traffic.pausedBy(mail);
  if (paused !== null) return paused.reason;
  const said = stored ?? '';
  // Its own time, of a retry or a schedule, comes before any reason of its path.
  if (!isDue && said !== '') return said;
  const blocked = traffic.blockedFor(mail);
  if (blocked !== null) return blocked.reason;
  return said === '' || isPathReason(said) || said === SCHEDULED ? ITS_TURN : said;
}

/**
 * When it is tried next, epoch milliseconds, never before `now`: at its own time, or when the reason ends, whichever is
 * later. null: a person ends the reason, so the time is unknown.
 */
export function nextTryAt(
  dueAt: number,
  mail: WaitingMail,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'blockedFor'>,
  now: number,
): number | null {
  const hold = traffic.heldBy(mail);
  if (hold !== null && hold.until === null) return null;
  const ends = [hold, traffic.pausedBy(mail), traffic.blockedFor(mail)].map((kept) => kept?.until ?? 0);
  return Math.max(now, dueAt, ...ends);
}

/** What the rows of one queue wait for, and how many, most frequent first. Never ''. */
export function queueReasons(
  queue: WaitingQueue,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'blockedFor'>,
): readonly WaitingReason[] {
  const found = new Map<string, WaitingReason>();
  for (const { reason, count, reply } of queue.reasons) {
    const said = queue.sandbox ? reason || ITS_TURN : waitReason(reason, false, queue, traffic);
    const shown = said === reason && reply !== null ? withoutNoCode(reply) : null;
    addReason(found, { reason: said, count, reply: shown });
  }
  return mostFirst(found);
}

/** Adds to those for the same reason; the first reply stays. */
export function addReason(found: Map<string, WaitingReason>, { reason, count, reply }: WaitingReason): void {
  const same = found.get(reason);
  found.set(reason, { reason, count: count + (same?.count ?? 0), reply: same?.reply ?? reply });
}

export function mostFirst(found: ReadonlyMap<string, WaitingReason>): WaitingReason[] {
  return [...found.values()].sort((a, b) => b.count - a.count);
}
