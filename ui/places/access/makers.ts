/** Who made a token or a credential, in words: a token, a person, oneself. */
import { useQuery } from '@tanstack/react-query';
import type { Me } from '../../../src/client/api-types.ts';
import { listPeople, listTokens } from '../../api/access.ts';
import { mayDo } from '../../api/me.ts';
import { SESSION } from '../../api/session.ts';
import { usePages } from '../../components/pages.ts';
import { PEOPLE, TOKENS } from './keys.ts';

/** Gives the words for an id; null = the server itself, or not known. */
export function useMakerText(me: Me): (id: string | null) => string {
  const own = useQuery(SESSION).data?.Person?.PersonID;
  const tokens = usePages(TOKENS, listTokens, mayDo(me, 'tokens:read')).items;
  const people = usePages(PEOPLE, listPeople, mayDo(me, 'admin')).items;
  return (id) => {
    if (id === null) return 'the server';
    if (id === own) return 'you';
    const token = tokens?.find(({ TokenID }) => TokenID === id);
    if (token !== undefined) return `the token ${token.Name}`;
    return people?.find(({ PersonID }) => PersonID === id)?.Email ?? 'somebody else';
  };
}
