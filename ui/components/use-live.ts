/**
 * An answer of the API that is asked for again while it is looked at: a hidden page asks nothing, and asks at once when it is
 * shown again. What was known stays in sight while the server is away.
 */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { asksAgainAfterMs } from '../api/call.ts';

export interface Live<Answer> {
  /** Undefined until the first answer. */
  data: Answer | undefined;
  /** The last request failed. */
  error: Error | null;
  again(): void;
}

/** `everyMs`: at least ten seconds, so that many open pages cost the server little. */
export function useLive<Answer>(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<Answer>,
  everyMs: number | ((last: Answer | undefined) => number),
): Live<Answer> {
  const query: UseQueryResult<Answer> = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => ask(signal),
    staleTime: 5_000,
    refetchInterval: ({ state: { data, error } }) =>
      Math.max(typeof everyMs === 'number' ? everyMs : everyMs(data), asksAgainAfterMs(error)),
    refetchOnWindowFocus: 'always',
  });
  /** Until the next answer, also while it is asked for. */
  const lastError = useRef<Error | null>(null);
  if (query.error !== null || query.data !== undefined || query.errorUpdateCount === 0)
    lastError.current = query.error;
  return {
    data: query.data,
    error: lastError.current,
    again() {
      lastError.current = null;
      void query.refetch();
    },
  };
}
