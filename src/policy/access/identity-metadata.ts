/**
 * What an identity provider says about itself (OpenID Connect Discovery 1.0), and the HTTP for asking it: with limits, and only
 * to allowed addresses. The metadata is kept for an hour; after a failure nothing is asked for 5 s.
 */
import type { Configuration } from 'openid-client';
import type { Clock } from '../../lib/clock.ts';
import type { GuardedHttp, HttpOutcome } from '../../net/guarded-http.ts';

/** How the operator registered this server at the provider. */
export interface Registration {
  /** As in the provider's tokens; https, or http within this machine. */
  issuer: string;
  clientId: string;
  /** null = a public client, which uses PKCE only. */
  clientSecret: string | null;
}

export interface MetadataDeps {
  /** May connect to the host of the issuer, which the operator chose. */
  own: Pick<GuardedHttp, 'get' | 'post'>;
  /** For all other hosts. */
  http: Pick<GuardedHttp, 'get' | 'post'>;
  clock: Clock;
}

interface Asked {
  method: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
}

export interface IdentityMetadata {
  /** Requested once for all concurrent callers. Rejects if the provider cannot be used. */
  configuration(): Promise<Configuration>;
  /** Takes the place of `fetch` in the library. Rejects with Unanswered. */
  fetch(url: string, asked: Asked): Promise<Response>;
}

const CALL_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** Metadata is read again after this. */
const METADATA_MS = 3_600_000;
/** After a request without an answer, the provider is not asked again for this time. */
const FAILED_MS = 5_000;

/** The provider gave no complete answer, or its host may not be contacted. */
export class Unanswered extends Error {}

/** Loaded when somebody signs in: most servers never need it. */
export function openidClient(): Promise<typeof import('openid-client')> {
  return import('openid-client');
}

export function createIdentityMetadata(deps: MetadataDeps, registration: Registration): IdentityMetadata {
  const { clock } = deps;
  const { clientId, clientSecret } = registration;
  const issuerUrl = new URL(registration.issuer);
  let found: { configuration: Promise<Configuration>; until: number } | null = null;

  return { configuration, fetch: limitedFetch };

  function configuration(): Promise<Configuration> {
    if (found === null || found.until <= clock.monotonicMs()) {
      const entry = { configuration: discovered(), until: Number.POSITIVE_INFINITY };
      found = entry;
      entry.configuration.then(
        () => {
          entry.until = clock.monotonicMs() + METADATA_MS;
        },
        () => {
          entry.until = clock.monotonicMs() + FAILED_MS;
        },
      );
    }
    return found.configuration;
  }

  async function discovered(): Promise<Configuration> {
    const client = await openidClient();
    const isPlain = issuerUrl.protocol === 'http:';
    const configuration = await client.discovery(issuerUrl, clientId, undefined, clientAuthentication(), {
      [client.customFetch]: limitedFetch,
      execute: isPlain
        ? [client.allowInsecureRequests, client.enableNonRepudiationChecks]
        : [client.enableNonRepudiationChecks],
    });
    const { authorization_endpoint, token_endpoint } = configuration.serverMetadata();
    if (authorization_endpoint === undefined || token_endpoint === undefined)
      throw new TypeError('its metadata names no authorization_endpoint or token_endpoint');
    return configuration;

    /**
     * The client secret is sent in the body if the provider supports that, otherwise in a header (OpenID Connect Core
     * §9).
     */
    function clientAuthentication() {
      if (clientSecret === null) return client.None();
      const [inBody, inHeader] = [
        client.ClientSecretPost(clientSecret),
        client.ClientSecretBasic(clientSecret),
      ];
      return (...asked: Parameters<typeof inBody>) => {
        const methods = asked[0].token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
        return (methods.includes('client_secret_basic') ? inHeader : inBody)(...asked);
      };
    }
  }

  async function limitedFetch(url: string, asked: Asked): Promise<Response> {
    const isOwn = new URL(url).origin === issuerUrl.origin;
    const options = {
      headers: asked.headers ?? {},
      timeoutMs: CALL_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      allowHttp: isOwn && issuerUrl.protocol === 'http:' ? 'always' : 'never',
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    } as const;
    const http = isOwn ? deps.own : deps.http;
    const outcome =
      asked.method === 'POST'
        ? await http.post(url, { ...options, body: String(asked.body ?? '') })
        : await http.get(url, options);
    return responseOf(url, outcome);
  }
}

function responseOf(url: string, outcome: HttpOutcome): Response {
  const { origin } = new URL(url);
  if (outcome.kind !== 'answered') throw new Unanswered(`${origin}: ${outcome.detail}`);
  if (outcome.isCut) throw new Unanswered(`${origin}: the answer is longer than ${MAX_ANSWER_BYTES} octets`);
  const { status } = outcome;
  if (status < 200 || (status >= 300 && status < 400) || status >= 500)
    throw new Unanswered(`${origin}: status ${status}`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(outcome.headers))
    if (value !== undefined) headers.set(name, value);
  const body = [204, 205].includes(status) ? null : new Uint8Array(outcome.bodyBytes);
  return new Response(body, { status, headers });
}
