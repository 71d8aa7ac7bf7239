/** Limits learned from replies or set for a time (api.md §3): GET /overrides, and DELETE for one that should end now. */
import type { OverridesAnswer } from '../contract/answers/traffic.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { PAGE } from '../contract/schemas/query.ts';
import { overridesAnswer } from '../contract/schemas/traffic.ts';
import { inOrder, memoryPage } from '../memory-page.ts';
import { type ApiRoute, json, refuse } from '../route.ts';
import { type Traffic, trafficRoute } from './traffic.ts';
import { toOverride } from './traffic-items.ts';

/** The two routes. */
export function overrideRoutes({ traffic }: { traffic: Pick<Traffic, 'overrides'> }): readonly ApiRoute[] {
  return [
    trafficRoute(
      'GET',
      '/overrides',
      {
        id: 'listOverrides',
        summary: 'List limits that were learned or set',
        description:
          'Limits learned from replies or set for a time, newest first, a page: `{OverrideID, Scope, Key, Param, Value, Until, Rule, Why, CreatedAt}`',
        query: PAGE,
        answer: overridesAnswer,
      },
      ({ query }) => {
        const answer: OverridesAnswer = memoryPage(query, traffic.overrides.list(), {
          list: 'overrides',
          keyOf: ({ createdAt, id }) => `${inOrder(createdAt)} ${id}`,
          itemOf: toOverride,
          newestFirst: true,
        });
        return json(answer);
      },
    ),
    trafficRoute(
      'DELETE',
      '/overrides/:id',
      {
        id: 'deleteOverride',
        summary: 'End a learned limit',
        description:
          'Ends one now, and with it the pause of the path that the same reply brought about: `{}`. The next reply of its kind may bring it back',
        answer: nothing,
      },
      async ({ params }) => {
        const removed = await traffic.overrides.remove(params.id ?? '');
        if (removed === null) throw refuse('not-found');
        return json({});
      },
    ),
  ];
}
