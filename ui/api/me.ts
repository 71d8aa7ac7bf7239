/** Who asks, what they may do, and how the server was started. */
import { queryOptions } from '@tanstack/react-query';
import type { Me } from '../../src/client/api-types.ts';
import { call } from './call.ts';

export const ME = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => call<Me>('GET', '/me', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Whether these rights are enough for what needs `scope`, or for `operation`, which may be granted alone. */
export function mayDo(me: Me | undefined, scope: string, operation?: string): boolean {
  if (me === undefined) return false;
  return (
    me.Scopes.some((one) => one === scope || one === 'admin') ||
    (operation !== undefined && me.Operations.includes(operation))
  );
}
