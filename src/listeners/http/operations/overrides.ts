/** Limits learned from replies or set for a time: GET /overrides, and DELETE for one that should end now. */
import type { Override } from '../../../policy/limits/shaping/types.ts';
import { nothing, pageOf } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { inOrder, memoryPaging } from '../paging.ts';
import { type ApiRoute, existing } from '../route.ts';
import { overrideItem, toOverride } from './traffic-items.ts';

const PAGES = memoryPaging('overrides', ({ createdAt, id }: Override) => `${inOrder(createdAt)} ${id}`, {
  newestFirst: true,
});

export function overrideOperations({ traffic }: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /overrides', {
      id: 'listOverrides',
      scope: 'admin',
      summary: 'List limits that were learned or set',
      description:
        'Limits learned from replies or set for a time, newest first, a page: `{OverrideID, Scope, Key, Param, Value, Until, Rule, Why, CreatedAt}`',
      query: PAGES.query,
      answer: pageOf('OverridesAnswer', overrideItem),
      handle: ({ query }) => PAGES.pageOf(traffic.overrides.list(), query, toOverride),
    }),
    operation('DELETE /overrides/:id', {
      id: 'deleteOverride',
      scope: 'admin',
      summary: 'End a learned limit',
      description:
        'Ends one now, and the pause of the path that the same reply caused: `{}`. The next such reply may create it again',
      answer: nothing,
      handle: async ({ params }) => {
        existing(await traffic.overrides.remove(params.id));
        return {};
      },
    }),
  ];
}
