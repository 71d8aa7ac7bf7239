/** Webhooks that are being removed: out of sight for the ten seconds in which that can be undone. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { removeWebhook, WEBHOOKS } from '../../api/webhooks.ts';
import { undoable } from '../../components/undoable.ts';

const LEAVING = ['webhooks-leaving'] as const;
const NONE: ReadonlySet<number> = new Set();

export function useLeaving(): ReadonlySet<number> {
  return useQuery({
    queryKey: LEAVING,
    queryFn: () => NONE,
    initialData: NONE,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  }).data;
}

export function useRemoval(): (id: number) => void {
  const queries = useQueryClient();
  return (id) => {
    change(queries, (all) => all.add(id));
    undoable({
      text: 'The webhook is deleted',
      run: (leaving) => removeWebhook(id, leaving),
      onBack: () => change(queries, (all) => all.delete(id)),
      onDone: () => void queries.invalidateQueries({ queryKey: WEBHOOKS }),
    });
  };
}

function change(queries: QueryClient, how: (all: Set<number>) => void): void {
  queries.setQueryData<ReadonlySet<number>>(LEAVING, (before) => {
    const next = new Set(before);
    how(next);
    return next;
  });
}
