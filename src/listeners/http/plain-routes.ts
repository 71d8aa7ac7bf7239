/**
 * Routes of the API that need no token: the pages of errors, the OpenAPI document, and the public keys of tokens. The
 * reference lists the same routes.
 */
import type { Access } from '../../policy/access/access.ts';
import { problemPage } from './operations/problem-pages.ts';
import { referenceRoutes } from './reference/routes.ts';
import { type ApiRoute, BASE, type PlainRoute } from './route.ts';

/** `publicUrl` is called for each request. */
export function plainRoutes(
  routes: readonly ApiRoute[],
  deps: { access: Pick<Access, 'jwks'>; publicUrl(): string },
): readonly PlainRoute[] {
  return [
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      handle: async () => ({
        status: 200,
        headers: { 'cache-control': 'public, max-age=300' },
        body: JSON.stringify(await deps.access.jwks()),
      }),
    },
    ...referenceRoutes(BASE, routes, deps.publicUrl),
    {
      method: 'GET',
      path: `${BASE}/problems/:name`,
      handle: ({ params }) => problemPage(params.name ?? ''),
    },
  ];
}
