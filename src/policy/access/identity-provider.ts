/**
 * Signing in by OpenID Connect (authorization code with PKCE, RFC 6749 and RFC 7636; OpenID Connect Core §3.1). Sends
 * a browser to the identity provider, with a sealed state in a cookie of that browser; when the browser returns, says
 * who the person is according to the provider. Every answer of the provider is checked: signature, issuer, audience,
 * times, nonce. A failure is a sentence for the person and a line of the log.
 */
import type { Configuration } from 'openid-client';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import { createTally } from '../../lib/tally.ts';
import type { Identity } from '../../model/person.ts';
import { networkKey } from './failed-logins.ts';
import {
  createIdentityMetadata,
  type MetadataDeps,
  openidClient,
  type Registration,
  Unanswered,
} from './identity-metadata.ts';
import { emailOf } from './person-address.ts';

export interface IdentitySettings extends Registration {
  /** What people call the provider. */
  name: string;
  /** Claims that a person must have, each with its value; in a claim that is a list, the value must be one item. */
  required: readonly { claim: string; value: string }[];
  /** The URL to which the provider redirects browsers. */
  redirectUri: string;
}

/** Who the provider says that signs in. */
export interface Identified {
  identity: Identity;
  /** Lower case, and verified by the provider. */
  email: string;
  /**
   * When the person last authenticated to the provider. null = the provider does not say, and was not asked to
   * authenticate again: it may only have recognised the browser.
   */
  provenAt: number | null;
  /** The provider says so itself; false = it was asked to authenticate the person again, and may not have done it. */
  isSaid: boolean;
}

export interface IdentityProvider {
  readonly name: string;
  /** Origin of the sign-in page: `https://mail.example.com`. */
  readonly origin: string;
  /**
   * Returns the URL to open, and the text for the browser's cookie. Throws AppError `identity-unavailable`, or
   * `unavailable` if too many requests wait for the provider, in total or from `ip`. `again`: the provider must
   * authenticate the person again.
   */
  begin(ip: string, again: boolean): Promise<{ url: string; pending: string }>;
  /**
   * Checks the text of the browser's cookie (null: there is none) and the query of the redirect. Throws AppError
   * `identity-refused`, and the errors of `begin`.
   */
  finish(pending: string | null, query: string, ip: string): Promise<Identified>;
  /**
   * Requests the metadata and keys of the provider. null = both are fine; otherwise the problem as a clause for the
   * operator.
   */
  problem(): Promise<string | null>;
}

/** Content of the cookie while the browser is at the provider. */
interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  endsAt: number;
  again: boolean;
}

/** Who takes longer begins again. */
export const PENDING_MS = 10 * 60_000;
const SEAL = 'identity-pending';
/** Sign-ins that wait for the provider at the same time, in total and per network address. */
const MAX_WAITING = 32;
const MAX_WAITING_EACH = 4;
const MAX_DETAIL_CHARS = 200;
/**
 * Characters whose lower case is an ASCII letter (U+212A, the Kelvin sign): they could imitate the address of another
 * person.
 */
const ASCII_ADDRESS = /^[!-~]{1,320}$/;

const AGAIN = 'This sign-in was begun in another browser, or more than ten minutes ago: begin again';
const UNTRUSTED = 'The answer of the identity provider cannot be trusted: begin again, or ask an operator';

export function createIdentityProvider(
  deps: MetadataDeps & {
    random: Random;
    sealer: Sealer;
    log: Logger;
  },
  settings: IdentitySettings,
): IdentityProvider {
  const { clock, random, sealer, log } = deps;
  const { issuer, redirectUri } = settings;
  const metadata = createIdentityMetadata(deps, settings);
  /** By network address. */
  const waiting = createTally();
  let allWaiting = 0;

  return {
    name: settings.name,
    origin: new URL(redirectUri).origin,

    begin: (ip, again) =>
      limited(ip, async () => {
        const [client, configuration] = await Promise.all([openidClient(), provider()]);
        const word = () => Buffer.from(random.bytes(32)).toString('base64url');
        const endsAt = clock.now() + PENDING_MS;
        const kept = { state: word(), nonce: word(), verifier: word(), endsAt, again };
        const url = client.buildAuthorizationUrl(configuration, {
          ...{ redirect_uri: redirectUri, scope: 'openid email' },
          ...{ state: kept.state, nonce: kept.nonce },
          code_challenge: await client.calculatePKCECodeChallenge(kept.verifier),
          code_challenge_method: 'S256',
          ...(again ? { prompt: 'login', max_age: '0' } : {}),
        });
        return { url: url.href, pending: sealed(kept) };
      }),

    finish: (pending, query, ip) =>
      limited(ip, async () => {
        const kept = pending === null ? null : opened(pending);
        if (kept === null || kept.endsAt <= clock.now()) throw refused(AGAIN, 'no sign-in is pending');
        const [client, configuration] = await Promise.all([openidClient(), provider()]);
        const at = new URL(redirectUri);
        at.search = query;
        try {
          const tokens = await client.authorizationCodeGrant(configuration, at, {
            expectedState: kept.state,
            expectedNonce: kept.nonce,
            pkceCodeVerifier: kept.verifier,
            idTokenExpected: true,
          });
          const claims = tokens.claims();
          if (claims === undefined) throw refused(UNTRUSTED, 'there is no ID token');
          // Some providers put the address into the ID token, others only into the answer of the userinfo endpoint.
          const more =
            claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
              ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
              : {};
          const saysWhen = configuration.serverMetadata().claims_supported?.includes('auth_time') === true;
          return identified({ ...more, ...claims }, { again: kept.again, saysWhen });
        } catch (cause) {
          throw problemOf(cause);
        }
      }),

    async problem() {
      try {
        const keys = (await provider()).serverMetadata().jwks_uri;
        if (keys === undefined) return 'its metadata names no keys (jwks_uri)';
        const answer = await metadata.fetch(keys, { method: 'GET' });
        return answer.status === 200 ? null : `its keys are answered with ${answer.status}`;
      } catch (cause) {
        return detailOf(cause instanceof AppError ? cause.cause : cause);
      }
    },
  };

  /** Throws AppError `identity-unavailable`. */
  async function provider(): Promise<Configuration> {
    try {
      return await metadata.configuration();
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  /** `saysWhen`: according to its metadata, the provider can say when the person authenticated. */
  function identified(
    claims: Readonly<Record<string, unknown>>,
    { again, saysWhen }: { again: boolean; saysWhen: boolean },
  ): Identified {
    const { iss, sub, email, email_verified, auth_time } = claims;
    const address = typeof email === 'string' && ASCII_ADDRESS.test(email) ? emailOf(email) : null;
    if (typeof iss !== 'string' || typeof sub !== 'string' || address === null)
      throw refused('The identity provider does not say your email address: ask an operator', 'no address');
    if (email_verified !== true) {
      const sentence = 'The identity provider has not verified your email address: verify it there first';
      throw refused(sentence, 'the address is not verified');
    }
    const missing = settings.required.find(({ claim, value }) => {
      const given = claims[claim];
      return Array.isArray(given) ? !given.includes(value) : given !== value;
    });
    if (missing !== undefined) {
      const sentence = 'The identity provider does not say that you may sign in here: ask an operator';
      throw refused(sentence, `the claim ${missing.claim} is not ${missing.value}`);
    }
    // With `max_age` the ID token must contain it (OpenID Connect Core §3.1.2.1). Without it, somebody may have taken
    // `max_age` and `prompt` out of the address on the way to the provider.
    if (again && saysWhen && typeof auth_time !== 'number') {
      const sentence =
        'The identity provider does not say when you last signed in there: ask an operator to let it put auth_time into the ID token';
      throw refused(sentence, 'the ID token has no auth_time');
    }
    const now = clock.now();
    const isSaid = typeof auth_time === 'number';
    const provenAt = isSaid ? Math.min(auth_time * 1000, now) : again ? now : null;
    return { identity: { issuer: iss, subject: sub }, email: address, provenAt, isSaid };
  }

  function problemOf(cause: unknown): AppError {
    if (cause instanceof AppError) return cause;
    // The library wraps the error that `fetch` of the metadata throws.
    for (let inner = cause; inner instanceof Error; inner = inner.cause)
      if (inner instanceof Unanswered) return unavailable(inner);
    const { error: word } = cause as { error?: unknown };
    if (typeof word !== 'string' || !/^[a-z_]{1,40}$/.test(word)) return refused(UNTRUSTED, detailOf(cause));
    // The person refused at the provider, or the code is too old; all other errors come from this server's
    // registration there.
    if (['access_denied', 'invalid_grant', 'login_required', 'interaction_required'].includes(word))
      return refused(`The identity provider refused the sign-in (${word}): begin again`, word);
    return unavailable(cause, word);
  }

  function refused(message: string, why: string): AppError {
    log.warn({ issuer, why }, 'a sign-in by the identity provider was refused');
    return new AppError('identity-refused', { message });
  }

  function unavailable(cause: unknown, word?: string): AppError {
    log.error({ issuer, why: word ?? detailOf(cause) }, 'the identity provider cannot be used');
    return new AppError('identity-unavailable', { retryAfterSeconds: 30, cause });
  }

  async function limited<Result>(ip: string, work: () => Promise<Result>): Promise<Result> {
    const key = networkKey(ip);
    if (allWaiting >= MAX_WAITING || waiting.of(key) >= MAX_WAITING_EACH) {
      const message = 'Too many sign-ins are under way: try again in some seconds';
      throw new AppError('unavailable', { message, retryAfterSeconds: 5 });
    }
    waiting.add(key, 1);
    allWaiting += 1;
    try {
      return await work();
    } finally {
      allWaiting -= 1;
      waiting.add(key, -1);
    }
  }

  function sealed(kept: Pending): string {
    return Buffer.from(sealer.seal(Buffer.from(JSON.stringify(kept)), SEAL)).toString('base64url');
  }

  /** null where this server did not seal it. */
  function opened(pending: string): Pending | null {
    try {
      const plain = sealer.open(Buffer.from(pending, 'base64url'), SEAL);
      return JSON.parse(Buffer.from(plain).toString()) as Pending;
    } catch {
      return null;
    }
  }
}

/** A clause about an error, without its content, which may be a token. */
function detailOf(cause: unknown): string {
  const { message, cause: inner } = cause as Error;
  const more = inner instanceof Error ? `: ${inner.message}` : '';
  return `${message}${more}`.slice(0, MAX_DETAIL_CHARS);
}
