/**
 * Routes of the API that need no token: the pages of errors, the OpenAPI document, and the public keys of tokens. The
 * reference lists the same routes.
 */
import { ERRORS, isErrorName } from '../../lib/errors.ts';
import { escapeHtml } from '../../lib/escape-html.ts';
import type { PlainAnswer, PlainRoute } from '../../lib/plain-route.ts';
import type { Access } from '../../policy/access/access.ts';
import { referenceRoutes } from './reference/routes.ts';
import { type ApiRoute, BASE, refuse } from './route.ts';

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

const CSP =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The page behind each `type` link of an error body: a few lines of HTML from the error registry, without scripts or any
 * content of a request. Throws AppError not-found for an unknown name.
 */
function problemPage(name: string): PlainAnswer {
  if (!isErrorName(name)) throw refuse('not-found');
  const facts = ERRORS[name];
  const text = escapeHtml(facts.text);
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': CSP },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${name}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}code{font-size:1.05em}</style>
<h1><code>${name}</code></h1>
<p>${text}.</p>
<dl><dt>Code</dt><dd>${facts.code}</dd><dt>HTTP status</dt><dd>${facts.status}</dd></dl>
<p>${advice(facts.status)}</p>
</html>
`,
  };
}

function advice(status: number): string {
  if (status === 429 || status === 503) return 'Wait as long as the Retry-After header says, then try again.';
  if (status === 401) return 'Send a valid token in the Authorization header.';
  if (status === 403) return 'The token is valid but may not do this.';
  if (status >= 500) return 'The request may be repeated; with an Idempotency-Key nothing is sent twice.';
  return 'Repeating the request unchanged gives the same answer. Each item of Errors names the field to correct.';
}
