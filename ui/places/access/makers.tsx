/** Tokens and people by their ids, and who made something, in words: a token, a person, oneself. */
import { useQuery } from '@tanstack/react-query';
import type { Me } from '../../../src/client/api-types.ts';
import { listPeople, listTokens } from '../../api/access.ts';
import { mayDo } from '../../api/me.ts';
import { SESSION } from '../../api/session.ts';
import { usePages } from '../../components/pages.ts';
import { Ago } from '../../components/time.tsx';
import { PEOPLE, TOKENS } from './keys.ts';

/** Names of what is known, by id. */
export function useNames(me: Me): {
  tokenName(id: string): string | null;
  emailOf(id: string): string | null;
} {
  const tokens = usePages(TOKENS, listTokens, {
    isEnabled: mayDo(me, 'tokens:read'),
    isWhole: true,
  }).items;
  const people = usePages(PEOPLE, listPeople, { isEnabled: mayDo(me, 'admin'), isWhole: true }).items;
  return {
    tokenName: (id) => tokens?.find(({ TokenID }) => TokenID === id)?.Name ?? null,
    emailOf: (id) => people?.find(({ PersonID }) => PersonID === id)?.Email ?? null,
  };
}

/** Gives the words for an id; null = the server itself, or not known. */
export function useMakerText(me: Me): (id: string | null) => string {
  const own = useQuery(SESSION).data?.Person?.PersonID;
  const { tokenName, emailOf } = useNames(me);
  return (id) => {
    if (id === null) return 'the server';
    if (id === own) return 'you';
    const name = tokenName(id);
    return name === null ? (emailOf(id) ?? 'somebody else') : `the token ${name}`;
  };
}

/** When it was made, and by whom. */
export function Made({ at, by }: { at: string; by: string }) {
  return (
    <>
      <Ago at={at} />
      <span className="block text-soft text-xs">
        by <bdi>{by}</bdi>
      </span>
    </>
  );
}
