/**
 * Signing in by the identity provider (OpenID Connect): whether there is one, the redirect to it, and the session
 * after the return. All three requests come from the dashboard of this server. The page to which the provider
 * redirects passes on its query, so requests of other sites can neither begin nor end a sign-in.
 */
import { z } from 'zod';
import { PENDING_MS } from '../../../policy/access/identity-provider.ts';
import { cookieText, setCookie } from '../../../policy/access/session-page.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withHeaders } from '../operation.ts';
import { type ApiRoute, refuse } from '../route.ts';
import { browserOf, sessionAnswer, signedInAnswer } from './session.ts';

const NO_PROVIDER = 'No identity provider is configured: sign in by a password';

const GOING = z.object({
  Again: z
    .boolean()
    .optional()
    .describe(
      'Prove again who one is, also where the provider knows the browser: for what a session may not do later',
    ),
});

const RETURNED = z.object({
  Query: z
    .string({ error: 'the query is required' })
    .max(7_000)
    .describe('What follows the question mark in the address that the provider sent the browser to'),
});

/** `provider`: null = none is configured. */
export function providerOperations({
  sessions,
  identityProvider: provider = null,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /session/provider', {
      id: 'getIdentityProvider',
      scope: null,
      open: true,
      summary: 'Show the identity provider',
      description: 'The identity provider by which people can sign in; only for the dashboard of this server',
      answer: z
        .object({
          Name: z.string().nullable().describe('null: there is none'),
          Origin: z.string().nullable().describe('Where one signs in by it: the origin of `public-url`'),
        })
        .meta({ id: 'IdentityProvider' }),
      handle: () => ({ Name: provider?.name ?? null, Origin: provider?.origin ?? null }),
    }),
    operation('POST /session/provider', {
      id: 'goToIdentityProvider',
      scope: null,
      open: true,
      summary: 'Go to the identity provider',
      description:
        '`{URL}`: where the browser signs in, within ten minutes. A cookie ties the result to this browser. 404 if no provider is configured',
      body: { schema: GOING, example: { Again: true }, mayBeEmpty: true },
      answer: z.object({ URL: z.string() }).meta({ id: 'IdentityProviderAddress' }),
      headers: { 'Set-Cookie': 'The sign-in that has begun' },
      errors: ['not-found', 'identity-refused', 'identity-unavailable', 'unavailable'],
      handle: async ({ body, request }) => {
        if (provider === null) throw refuse('not-found', NO_PROVIDER);
        // The provider redirects the browser there, and the cookie belongs to one host.
        if (request.header('origin') !== provider.origin) {
          throw refuse('identity-refused', `Open ${provider.origin}/ to sign in by the identity provider`);
        }
        const { url, pending } = await provider.begin(request.ip, body.Again === true);
        return withHeaders(
          { URL: url },
          {
            'set-cookie': setCookie('pending', pending, PENDING_MS / 1000, request),
          },
        );
      },
    }),
    operation('PUT /session/provider', {
      id: 'signInByProvider',
      scope: null,
      open: true,
      summary: 'Sign in by the identity provider',
      description:
        '`{Query}`, as the provider sent the browser back: the session, as `POST /session` gives it. The provider must have verified the address of the person',
      body: { schema: RETURNED, example: { Query: 'code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj' } },
      answer: sessionAnswer,
      headers: { 'Set-Cookie': 'As of `POST /session`' },
      errors: ['not-found', 'identity-refused', 'identity-unavailable', 'identity-unknown', 'unavailable'],
      handle: async ({ body, request }) => {
        if (provider === null) throw refuse('not-found', NO_PROVIDER);
        const signedIn = await sessions.signInByProvider({
          identify: () => provider.finish(cookieText('pending', request), body.Query, request.ip),
          ...browserOf(request),
        });
        return signedInAnswer(signedIn, request);
      },
    }),
  ];
}
