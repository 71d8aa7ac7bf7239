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
export function mayDo(
  me: Pick<Me, 'Scopes' | 'Operations'> | undefined,
  scope: string,
  operation?: string,
): boolean {
  if (me === undefined) return false;
  return (
    me.Scopes.some((one) => one === scope || one === 'admin') ||
    (operation !== undefined && me.Operations.includes(operation))
  );
}

/** A command for this server, as an administrator types it; other people have no terminal there. */
export function commandOf(me: Pick<Me, 'Command'> | undefined, words: string): string {
  return `${me?.Command ?? 'postrider'} ${words}`;
}

/** Where programs on this machine find a token: on a development server only; null = each program has one of its own. */
export function tokenFileOf(me: Pick<Me, 'Mode' | 'DataFolder'> | undefined): string | null {
  return me?.Mode === 'dev' && me.DataFolder !== null ? `${me.DataFolder}/admin-token` : null;
}

/** The token in a command of a shell. */
export function tokenInShell(tokenFile: string | null): string {
  return tokenFile === null ? '$POSTRIDER_TOKEN' : `$(cat ${shellWord(tokenFile)})`;
}

/** One word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
