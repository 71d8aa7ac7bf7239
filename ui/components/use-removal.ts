/** Things of a list that are being removed: out of sight for the ten seconds in which that can be undone. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { undoable } from './undoable.ts';

type Id = string | number;

const NONE: ReadonlySet<never> = new Set();

/** `key`: under what the answers about these things are kept. */
export function useLeaving<Of extends Id>(key: readonly string[]): ReadonlySet<Of> {
  return useQuery<ReadonlySet<Of>>({
    queryKey: leavingKey(key),
    queryFn: () => NONE,
    initialData: NONE,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  }).data;
}

/** `text` says that it is gone; `remove` is told whether the page is being closed. */
export function useRemoval<Of extends Id>(
  key: readonly string[],
): (id: Of, text: string, remove: (leaving: boolean) => Promise<unknown>) => void {
  const queries = useQueryClient();
  return (id, text, remove) => {
    change<Of>(queries, key, (all) => all.add(id));
    undoable({
      text,
      run: remove,
      onBack: () => change<Of>(queries, key, (all) => all.delete(id)),
      onDone: () => void queries.invalidateQueries({ queryKey: key }),
    });
  };
}

/** Not below `key`: what is asked again there must not forget who is leaving. */
function leavingKey(key: readonly string[]): readonly string[] {
  return ['leaving', ...key];
}

function change<Of extends Id>(
  queries: QueryClient,
  key: readonly string[],
  how: (all: Set<Of>) => void,
): void {
  queries.setQueryData<ReadonlySet<Of>>(leavingKey(key), (before) => {
    const next = new Set(before);
    how(next);
    return next;
  });
}
