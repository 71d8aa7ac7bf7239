/**
 * An identity provider on loopback that signs people in without asking: metadata, keys, the page of the sign-in, tokens, facts
 * about the person. It refuses what a real one refuses: another client secret, a code used before or for another address, a
 * wrong PKCE verifier. A test says who signs in, and what is wrong with the answers.
 */
import { createHash, createPublicKey, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose';
import { generateDkimKeyPair, loadPrivateKey } from '../../src/policy/domains/dkim-keys.ts';

export const CLIENT = { id: 'postrider', secret: 'a secret of the client' };

/** What is wrong; nothing where it is left out. */
export interface Wrong {
  /** Replace claims of the ID token; undefined leaves one out. */
  claims?: Record<string, unknown>;
  /** How the ID token is signed. */
  signed?: 'not' | 'by-somebody-else' | 'with-client-secret';
  /** Members of the metadata that are replaced. */
  metadata?: Record<string, unknown>;
  /** Paths that are answered so. */
  paths?: Record<string, (request: IncomingMessage, response: ServerResponse) => void>;
}

export interface FakeIdentityProvider {
  issuer: string;
  /** When the person last gave the password there, in seconds; null = the provider never says it. */
  authTime: number | null;
  /** Who signs in next. */
  claims: Record<string, unknown>;
  wrong: Wrong;
  /** Paths that were asked for. */
  asked: string[];
  /** What the browser does with the address: the query that it is sent back with. */
  visit(url: string): Promise<string>;
  close(): Promise<void>;
}

export async function startIdentityProvider(): Promise<FakeIdentityProvider> {
  // An RSA key like those of sender domains, which tests take from a pool.
  const signer = async () => loadPrivateKey((await generateDkimKeyPair()).privateDer);
  const [own, others] = [await signer(), await signer()];
  const jwk = { ...(await exportJWK(createPublicKey(own))), kid: 'one', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, { redirect: string; challenge: string; nonce: string; again: boolean }>();
  const provider: FakeIdentityProvider = {
    issuer: '',
    authTime: null,
    claims: { sub: 'ada', email: 'ada@example.com', email_verified: true },
    wrong: {},
    asked: [],
    async visit(url) {
      const answer = await fetch(url, { redirect: 'manual' });
      const back = answer.headers.get('location');
      if (back === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
      return new URL(back).search.slice(1);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', provider.issuer);
    provider.asked.push(url.pathname);
    const odd = provider.wrong.paths?.[url.pathname];
    if (odd !== undefined) odd(request, response);
    else
      answer(request, url).then(
        ({ status = 200, headers = {}, body = {} }) => {
          response.writeHead(status, { 'content-type': 'application/json', ...headers });
          response.end(JSON.stringify(body));
        },
        (cause: unknown) => response.destroy(cause as Error),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;

  async function answer(
    request: IncomingMessage,
    { pathname, searchParams }: URL,
  ): Promise<{ status?: number; headers?: Record<string, string>; body?: unknown }> {
    const { issuer } = provider;
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return {
          body: {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/keys`,
            userinfo_endpoint: `${issuer}/userinfo`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['RS256'],
            ...provider.wrong.metadata,
          },
        };
      case '/keys':
        return { body: { keys: [jwk] } };
      case '/authorize': {
        const given = Object.fromEntries(searchParams);
        if (given.client_id !== CLIENT.id || given.code_challenge_method !== 'S256') return { status: 400 };
        const code = randomUUID();
        const { redirect_uri: redirect = '', code_challenge: challenge = '', nonce = '' } = given;
        const again = given.prompt === 'login' && given.max_age === '0';
        codes.set(code, { redirect, challenge, nonce, again });
        const back = new URL(redirect);
        back.search = new URLSearchParams({ code, state: given.state ?? '' }).toString();
        return { status: 302, headers: { location: back.href } };
      }
      case '/token': {
        const given = new URLSearchParams(await textOf(request));
        const basic = `${encodeURIComponent(CLIENT.id)}:${encodeURIComponent(CLIENT.secret).replaceAll('%20', '+')}`;
        if (request.headers.authorization !== `Basic ${Buffer.from(basic).toString('base64')}`)
          return { status: 401, body: { error: 'invalid_client' } };
        const known = codes.get(given.get('code') ?? '');
        codes.delete(given.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(given.get('code_verifier') ?? '')
          .digest('base64url');
        if (
          known === undefined ||
          known.redirect !== given.get('redirect_uri') ||
          known.challenge !== challenge
        )
          return { status: 400, body: { error: 'invalid_grant' } };
        return {
          body: { access_token: 'for-facts', token_type: 'Bearer', id_token: await idToken(known) },
        };
      }
      case '/userinfo':
        return request.headers.authorization === 'Bearer for-facts'
          ? { body: provider.claims }
          : { status: 401 };
      default:
        return { status: 404 };
    }
  }

  async function idToken({ nonce, again }: { nonce: string; again: boolean }): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    if (again && provider.authTime !== null) provider.authTime = now;
    const time = provider.authTime === null ? {} : { auth_time: provider.authTime };
    const usual = { iss: provider.issuer, aud: CLIENT.id, iat: now, exp: now + 300, nonce, ...time };
    const claims = { ...usual, ...provider.claims, ...provider.wrong.claims };
    switch (provider.wrong.signed) {
      case 'not':
        return new UnsecuredJWT(claims).encode();
      case 'with-client-secret':
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(CLIENT.secret));
      default: {
        const key = provider.wrong.signed === undefined ? own : others;
        return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key);
      }
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString();
}
