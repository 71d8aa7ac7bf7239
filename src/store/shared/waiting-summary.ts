/** What is told of the rows that wait in one queue: how many, since when, until when, for which reasons. */

import { DEFERRED } from '../../model/wait-reason.ts';
import type { WaitingQueue } from '../topics/queue.ts';

export interface WaitingRow {
  created_at: number;
  due_at: number;
  wait_reason: string | null;
  last_reply: string | null;
}

type Summary = Pick<WaitingQueue, 'waiting' | 'due' | 'oldestCreatedAt' | 'nextDueAt' | 'byAge' | 'reasons'>;

/** `ageLimitsMs`: as in the question; the rows may be in any order. */
export function summaryOf(rows: readonly WaitingRow[], now: number, ageLimitsMs: readonly number[]): Summary {
  const byAge = new Array<number>(ageLimitsMs.length + 1).fill(0);
  const reasons = new Map<string, { reason: string; count: number; reply: string | null }>();
  let due = 0;
  let oldestCreatedAt = Number.POSITIVE_INFINITY;
  let nextDueAt = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const place = ageLimitsMs.findIndex((limit) => now - row.created_at < limit);
    const index = place < 0 ? ageLimitsMs.length : place;
    byAge[index] = (byAge[index] ?? 0) + 1;
    if (row.due_at <= now) due += 1;
    oldestCreatedAt = Math.min(oldestCreatedAt, row.created_at);
    nextDueAt = Math.min(nextDueAt, row.due_at);
    const reason = row.wait_reason ?? '';
    const same = reasons.get(reason);
    if (same !== undefined) same.count += 1;
    else reasons.set(reason, { reason, count: 1, reply: reason === DEFERRED ? row.last_reply : null });
  }
  return {
    waiting: rows.length,
    due,
    oldestCreatedAt,
    nextDueAt,
    byAge,
    reasons: [...reasons.values()].sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
  };
}
