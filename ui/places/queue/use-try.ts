/** Tries a site now, says what came of it, and shows the queue as it is then. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { isMissing } from '../../api/call.ts';
import { trySite } from '../../api/queue.ts';
import { messageOf, toast } from '../../components/toasts.tsx';

const OUTCOME_MS = 2_000;

export function useTry(site: string): { tryNow(): void; isTrying: boolean } {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => trySite(site),
    onSuccess: ({ Tried }) =>
      toast({
        text:
          Tried > 0
            ? `${site} is tried now with one message`
            : `${site} is open: what waits goes when it is due`,
      }),
    onError: (error) =>
      toast({
        text: isMissing(error)
          ? `${site} was not tried since the start: what waits goes when it is due`
          : `Not tried: ${messageOf(error)}`,
      }),
    onSettled() {
      const look = () => void queries.invalidateQueries({ queryKey: ['queue'] });
      look();
      // The attempt has ended by then.
      setTimeout(look, OUTCOME_MS);
    },
  });
  return { tryNow: () => mutate(), isTrying: isPending };
}
