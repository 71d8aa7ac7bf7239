/**
 * Sends the rows of a plan in portions, one after the other. A portion with an address that the server refuses is sent again
 * without it. After a stop or a failure it goes on where it was; sending a portion twice changes nothing.
 */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { InvalidRow } from '../../../../src/policy/suppressions/import-file.ts';
import { ApiError } from '../../../api/call.ts';
import { addSuppressions, type NewSuppression, SUPPRESSIONS } from '../../../api/suppressions.ts';
import type { OpenFile, Row, ShownPlan } from './open-file.ts';

const NOTHING = {
  state: 'idle' as 'idle' | 'sending' | 'stopped' | 'done',
  /** Rows that were answered, the refused ones too. */
  sent: 0,
  added: 0,
  existing: 0,
  refused: [] as readonly InvalidRow[],
  error: null as Error | null,
};

export function useSending(file: OpenFile, plan: ShownPlan, domain: string) {
  const queries = useQueryClient();
  const [progress, setProgress] = useState(NOTHING);
  const ended = useRef<AbortController | null>(null);
  // Another plan begins anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the plan and the domain are what counts
  useEffect(() => {
    setProgress(NOTHING);
    return () => ended.current?.abort();
  }, [plan, domain]);

  const start = async (): Promise<void> => {
    const mine = new AbortController();
    ended.current = mine;
    let now = { ...progress, state: 'sending' as const, error: null as Error | null };
    setProgress(now);
    try {
      while (now.sent < plan.count) {
        const portion = await file.portion(now.sent);
        // The rows may be those of another plan by now.
        mine.signal.throwIfAborted();
        const { Added, Existing, refused } = await sendPortion(domain, portion, mine.signal);
        now = {
          ...now,
          sent: now.sent + portion.length,
          added: now.added + Added,
          existing: now.existing + Existing,
          refused: [...now.refused, ...refused],
        };
        setProgress(now);
      }
      setProgress({ ...now, state: 'done' });
    } catch (error) {
      const stopped = mine.signal.aborted ? null : error instanceof Error ? error : new Error(String(error));
      if (ended.current === mine) setProgress({ ...now, state: 'stopped', error: stopped });
    }
    void queries.invalidateQueries({ queryKey: SUPPRESSIONS });
  };
  return { ...progress, start: () => void start(), stop: () => ended.current?.abort() };
}

async function sendPortion(domain: string, portion: readonly Row[], signal: AbortSignal) {
  const refused: InvalidRow[] = [];
  // One answer names some of the refused ones only.
  for (let rest = portion; rest.length > 0; ) {
    try {
      const items = rest.map(({ item }) => item as NewSuppression);
      return { ...(await addSuppressions(domain, items, signal)), refused };
    } catch (error) {
      const problems = problemsOf(error);
      if (problems.size === 0) throw error;
      for (const [place, problem] of problems) {
        const row = rest[place];
        if (row !== undefined) refused.push({ line: row.line, text: row.item.Email ?? '', problem });
      }
      rest = rest.filter((_, place) => !problems.has(place));
    }
  }
  return { Added: 0, Existing: 0, refused };
}

/** By the place in the portion. */
function problemsOf(error: unknown): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof ApiError) || error.status !== 422) return found;
  for (const [pointer, message] of error.fields) {
    const place = /^\/Items\/(\d{1,4})/.exec(pointer)?.[1];
    if (place !== undefined) found.set(Number(place), message);
  }
  return found;
}
