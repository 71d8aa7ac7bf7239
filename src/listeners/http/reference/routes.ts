/**
 * The contract of the API as it is served, without a token: GET /api/v1 says where it is, …/openapi.json is the document
 * with this server's address, …/docs a page made from it. Each is made once, when it is first asked for, and as bytes: a
 * text would be copied for each client that reads slowly.
 */
import type { PlainRoute } from '../../../lib/plain-route.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { ApiRoute } from '../route.ts';
import { type ReferencePage, referencePage } from './page.ts';

/** The three routes. `publicUrl` is asked when a request comes, because a port may be free until then. */
export function referenceRoutes(
  base: string,
  routes: readonly ApiRoute[],
  publicUrl: () => string,
): readonly PlainRoute[] {
  let document: Uint8Array | null = null;
  let page: (Pick<ReferencePage, 'csp'> & { html: Uint8Array }) | null = null;
  return [
    {
      method: 'GET',
      path: base,
      handle: () => {
        const at = publicUrl() + base;
        return {
          status: 200,
          body: JSON.stringify({ Reference: `${at}/docs`, OpenAPI: `${at}/openapi.json` }),
        };
      },
    },
    {
      method: 'GET',
      path: `${base}/openapi.json`,
      handle: () => {
        document ??= Buffer.from(JSON.stringify(openApiDocument(routes, publicUrl())));
        return { status: 200, body: document };
      },
    },
    {
      method: 'GET',
      path: `${base}/docs`,
      handle: () => {
        page ??= madeOf(referencePage(openApiDocument(routes, publicUrl())));
        return {
          status: 200,
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': page.csp,
            'referrer-policy': 'no-referrer',
          },
          body: page.html,
        };
      },
    },
  ];
}

function madeOf({ csp, html }: ReferencePage) {
  return { csp, html: Buffer.from(html) };
}
