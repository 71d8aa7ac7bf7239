/** The queues of the API put together by the domain that mail goes to. Pure. */

import type { Queue } from '../../../src/client/api-types.ts';
import { holdsWords } from '../../components/search-text.ts';
import { reasonText } from './reason-words.ts';

export interface SiteRow {
  site: string;
  waiting: number;
  /** false: there are more than were counted. */
  isAll: boolean;
  /** By age: under a minute, ten minutes, an hour, a day, and older. */
  ages: readonly number[];
  oldestAt: string;
  /** null = held without an end. */
  nextAt: string | null;
  /** The most frequent first. */
  reasons: readonly { text: string; count: number; reply: string | null }[];
  senders: readonly string[];
  queues: readonly Queue[];
}

/** Columns of `ages`. */
export const AGES = ['< 1 min', '< 10 min', '< 1 h', '< 1 day', 'older'] as const;

/** Those with the most waiting first. */
export function sitesOf(queues: readonly Queue[]): readonly SiteRow[] {
  const bySite = Map.groupBy(queues, ({ Site }) => Site);
  return [...bySite].map(([site, own]) => rowOf(site, own)).sort((a, b) => b.waiting - a.waiting);
}

function rowOf(site: string, queues: readonly Queue[]): SiteRow {
  const reasons = new Map<string, SiteRow['reasons'][number]>();
  for (const { Reasons } of queues)
    for (const { Reason, Count, Reply } of Reasons) {
      const text = reasonText(Reason);
      const same = reasons.get(text);
      reasons.set(text, { text, count: Count + (same?.count ?? 0), reply: same?.reply ?? Reply });
    }
  const next = queues.flatMap(({ NextDueAt }) => NextDueAt ?? []).sort();
  return {
    site,
    waiting: queues.reduce((sum, { Waiting }) => sum + Waiting, 0),
    isAll: queues.every(({ Complete }) => Complete),
    ages: queues.reduce(
      (sums, { Ages }) =>
        [Ages.Under1m, Ages.Under10m, Ages.Under1h, Ages.Under1d, Ages.Older].map(
          (count, place) => count + (sums[place] ?? 0),
        ),
      [0, 0, 0, 0, 0],
    ),
    oldestAt: queues.map(({ OldestAt }) => OldestAt).sort()[0] ?? '',
    nextAt: next[0] ?? null,
    reasons: [...reasons.values()].sort((a, b) => b.count - a.count),
    senders: [...new Set(queues.map(({ SenderDomain }) => SenderDomain))],
    queues,
  };
}

/** Whether a row has all the words: in its name, its senders or its reasons. */
export function fits(row: SiteRow, text: string): boolean {
  return holdsWords(
    [row.site, ...row.senders, ...row.reasons.flatMap(({ text, reply }) => [text, reply])],
    text,
  );
}
