import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createLoggers } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { Token } from '../../model/token.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { type Access, createAccess, type MintRequest } from './access.ts';
import { KEY_SEAL } from './signing-keys.ts';

const INSTANCE = '0198f000-0000-7000-8000-000000000000';
const URN = `urn:postrider:${INSTANCE}`;
const IP = '198.51.100.7';
const REQUEST: MintRequest = {
  name: 'shop',
  domains: ['example.com'],
  scopes: ['email:send'],
  expiresInSeconds: 3_600,
  sandbox: false,
  ipAllowList: [],
  rateLimit: null,
};

let clock: VirtualClock;
let store: Store;
let access: Access;
let lines: string[];
const random = createSystemRandom();
const sealer = createSealer([{ id: 'test', secret: random.bytes(32) }]);

function newAccess(options = {}): Access {
  const log = createLoggers({
    destination: { write: (line) => void lines.push(line) },
    level: 'debug',
    maskAddresses: false,
  }).service;
  return createAccess({ store, clock, random, sealer, instanceId: INSTANCE, log }, options);
}

// One store for all: every test mints tokens of its own.
beforeAll(async () => {
  store = await openTestStore(systemClock);
});

afterAll(async () => {
  await store.close();
});

beforeEach(() => {
  clock = createVirtualClock();
  lines = [];
  access = newAccess();
});

const bearer = (jwt: string) => `Bearer ${jwt}`;

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AppError) return error.problems[0].name;
    throw error;
  }
  return 'accepted';
}

/** The instance's real signing key, as if it had leaked: only the rules about header and claims are left. */
async function leakedKey(): Promise<{ kid: string; privateKey: KeyObject; x: string }> {
  const [row] = await store.signingKeys();
  if (row === undefined) throw new Error('no key');
  const der = Buffer.from(sealer.open(row.privateSealed, KEY_SEAL));
  const { x } = JSON.parse(row.publicJwk);
  return { kid: row.kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }), x };
}

interface Forgery {
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  key?: KeyObject;
}

/** A token like ours for row `jti`, but for the changes. */
async function forge(jti: string, { header = {}, claims = {}, key }: Forgery): Promise<string> {
  const { kid, privateKey } = await leakedKey();
  const now = Math.floor(clock.now() / 1000);
  const payload = {
    iss: URN,
    aud: URN,
    sub: 'o',
    client_id: 'o',
    jti,
    iat: now,
    nbf: now,
    exp: now + 600,
    scope: 'admin',
    dom: ['*'],
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header })
    .sign(key ?? privateKey);
}

/** header.payload.signature by hand, for what jose will not write. */
function raw(header: object, payload: object, signature: (input: string) => string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part(header)}.${part(payload)}`;
  return `${input}.${signature(input)}`;
}

describe('a minted token', () => {
  it('authenticates as its row says', async () => {
    const { id, jwt } = await access.mint({ ...REQUEST, owner: 'project-1', rateLimit: 5 });
    const caller = await access.authenticate(bearer(jwt), IP);
    expect(caller).toMatchObject({
      tokenId: id,
      name: 'shop',
      owner: 'project-1',
      domains: ['example.com'],
      scopes: new Set(['email:send']),
      sandbox: false,
      rateLimit: 5,
    });
    expect(await access.authenticate(`bearer  ${jwt} `, IP)).toEqual(caller);
  });

  it('is verifiable by anyone with the published keys', async () => {
    const { jwt } = await access.mint(REQUEST);
    const { keys } = await access.jwks();
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' });
    expect(JSON.stringify(keys)).not.toContain('"d"');
    const header = JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString());
    expect(header).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: keys[0]?.kid });
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({
      iss: URN,
      aud: URN,
      scope: 'email:send',
      dom: ['example.com'],
      sbx: false,
    });
  });

  it('still authenticates after a restart and in another process', async () => {
    const { jwt } = await access.mint(REQUEST);
    const other = newAccess();
    expect((await other.authenticate(bearer(jwt), IP)).domains).toEqual(['example.com']);
    expect(await store.signingKeys()).toHaveLength(1);
  });

  it('lives from when it was asked for, so that it does not outlive its creator by the time that making it takes', async () => {
    const askedAt = clock.now() - 7;
    const { id } = await access.mint({ ...REQUEST, expiresInSeconds: 60, askedAt });
    expect(await store.getToken({ id })).toMatchObject({ createdAt: askedAt, expiresAt: askedAt + 60_000 });
  });

  it('has no exp when it never expires, and ends with its row otherwise', async () => {
    const never = await access.mint({ ...REQUEST, expiresInSeconds: null });
    expect(Buffer.from(never.jwt.split('.')[1] ?? '', 'base64url').toString()).not.toContain('"exp"');
    const short = await access.mint({ ...REQUEST, expiresInSeconds: 60 });
    await access.authenticate(bearer(short.jwt), IP);
    await clock.advance(60_000);
    expect(await refusal(access.authenticate(bearer(short.jwt), IP))).toBe('token-invalid');
    await clock.advance(20 * 365 * 86_400_000);
    await access.authenticate(bearer(never.jwt), IP);
  });

  it.each([
    { domains: [] },
    { scopes: [] },
    { domains: ['*'] },
    { domains: ['*', 'a.test'], scopes: ['admin'] },
    { expiresInSeconds: 59 },
    { expiresInSeconds: 400_000_000 },
    { expiresInSeconds: Number.NaN },
    { ipAllowList: ['192.0.2.0/99'] },
  ] as Partial<MintRequest>[])('is not made from %j', async (changes) => {
    expect(await refusal(access.mint({ ...REQUEST, ...changes }))).toBe('invalid-parameter');
  });
});

describe('a bad credential', () => {
  it('is missing when the header holds nothing that could be a token', async () => {
    const headers = [undefined, '', 'Bearer', 'Bearer ', 'Basic dTpw', 'Bearer a b', 'Bearer ü'];
    for (const header of [...headers, `Bearer ${'a'.repeat(9_000)}`, 'a'.repeat(1_000_000)]) {
      expect(await refusal(access.authenticate(header, IP))).toBe('token-missing');
    }
  });

  it('is refused with one text for every reason if it is unknown, and the reason is in the log without the token', async () => {
    const unknown = await forge('019a5e0c-1111-7222-8333-444455556666', {});
    const texts = new Set<string>();
    for (const text of [unknown, 'x.y.z']) {
      await access.authenticate(bearer(text), IP).catch((error: Error) => texts.add(error.message));
    }
    expect([...texts]).toEqual([
      expect.stringMatching(/^The token is not valid: .* another server made it$/),
    ]);
    expect(lines.join('')).toContain('no such token');
    expect(lines.join('')).not.toContain(unknown.split('.')[2]);
  });

  it.each<[string, Forgery]>([
    ['signed by another key', { key: generateKeyPairSync('ed25519').privateKey }],
    ['with an unknown kid', { header: { kid: 'other' } }],
    ['without a kid', { header: { kid: undefined } }],
    ['of another type', { header: { typ: 'JWT' } }],
    ['without a type', { header: { typ: undefined } }],
    ['with a jku', { header: { jku: 'http://127.0.0.1:1/keys' } }],
    ['with an x5u', { header: { x5u: 'http://127.0.0.1:1/cert' } }],
    ['with an x5c', { header: { x5c: ['AAAA'] } }],
    ['for another audience', { claims: { aud: 'urn:postrider:other' } }],
    ['from another issuer', { claims: { iss: 'urn:postrider:other' } }],
    ['without an issuer', { claims: { iss: undefined } }],
    ['without an audience', { claims: { aud: undefined } }],
    ['that expired', { claims: { exp: Math.floor(createVirtualClock().now() / 1000) - 61 } }],
    ['that is not valid yet', { claims: { nbf: Math.floor(createVirtualClock().now() / 1000) + 301 } }],
    ['with a jti that is not a text', { claims: { jti: 7 } }],
    ['without a jti', { claims: { jti: undefined } }],
  ])('%s is refused', async (_name, forgery) => {
    const { id } = await access.mint(REQUEST);
    expect(await refusal(access.authenticate(bearer(await forge(id, forgery)), IP))).toBe('token-invalid');
  });

  it('that brings its own key in the header is refused', async () => {
    const { id } = await access.mint(REQUEST);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const header = { jwk: publicKey.export({ format: 'jwk' }) };
    const text = await forge(id, { header, key: privateKey });
    expect(await refusal(access.authenticate(bearer(text), IP))).toBe('token-invalid');
    const ours = await forge(id, { header });
    expect(await refusal(access.authenticate(bearer(ours), IP))).toBe('token-invalid');
  });

  it('without a signature or with one made from the public key is refused', async () => {
    const { id, jwt } = await access.mint(REQUEST);
    const { kid, x } = await leakedKey();
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
    const payload = { ...claims, jti: id };
    const forgeries = [
      ...['none', 'None', 'NONE', ''].map((alg) => raw({ alg, typ: 'at+jwt', kid }, payload, () => '')),
      ...['HS256', 'HS512'].flatMap((alg) =>
        [x, Buffer.from(x, 'base64url'), JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x })].map((secret) =>
          raw({ alg, typ: 'at+jwt', kid }, payload, (input) =>
            createHmac(alg === 'HS256' ? 'sha256' : 'sha512', secret)
              .update(input)
              .digest('base64url'),
          ),
        ),
      ),
      raw({ alg: 'EdDSA', typ: 'at+jwt', kid }, payload, () => ''),
      raw(
        { alg: 'EdDSA', typ: 'at+jwt', kid },
        { ...payload, scope: 'admin' },
        () => jwt.split('.')[2] ?? '',
      ),
    ];
    for (const text of forgeries) {
      const from = `192.0.2.${forgeries.indexOf(text)}`;
      expect(await refusal(access.authenticate(bearer(text), from))).toBe('token-invalid');
    }
  });

  it('within the leeway of another clock is still good: 60 s at its end, 300 s at its beginning', async () => {
    const { id } = await access.mint(REQUEST);
    const now = Math.floor(clock.now() / 1000);
    for (const claims of [{ exp: now - 50 }, { nbf: now + 290 }, { iat: now + 100_000 }]) {
      const text = await forge(id, { claims });
      expect((await access.authenticate(bearer(text), IP)).scopes).toEqual(new Set(['email:send']));
    }
  });
});

describe('a token from the future', () => {
  it('is refused with a word on the clock, and pauses nobody', async () => {
    const { jwt } = await access.mint(REQUEST);
    // Made by a clock that was a day ahead.
    const now = Math.floor(clock.now() / 1000);
    const { id } = await access.mint(REQUEST);
    const text = await forge(id, { claims: { iat: now + 86_400, nbf: now + 86_400, exp: now + 90_000 } });
    for (let i = 0; i < 30; i += 1) {
      const error = await access.authenticate(bearer(text), '127.0.0.1').catch((e: unknown) => e);
      expect(error).toMatchObject({ status: 401, problems: [{ name: 'token-invalid' }] });
      expect((error as AppError).message).toContain('the clock of this server');
    }
    expect(lines.join('')).toContain('the clock was ahead, or is behind');
    // A wrong one is still told so, and not that it has to wait.
    expect(await refusal(access.authenticate('Bearer x.y.z', '127.0.0.1'))).toBe('token-invalid');
    expect(await refusal(access.authenticate(bearer(jwt), '127.0.0.1'))).toBe('accepted');
  });
});

describe('a revoked token', () => {
  it('ends at once in the process that revoked it', async () => {
    const { id, jwt } = await access.mint(REQUEST);
    await access.authenticate(bearer(jwt), IP);
    expect(await access.revoke(id)).toEqual({ tokens: 0, credentials: 0, webhooks: 0 });
    expect(await refusal(access.authenticate(bearer(jwt), IP))).toBe('token-invalid');
    expect(await access.revoke('019a5e0c-1111-7222-8333-444455556666')).toBeNull();
  });

  it('is refused with its id and the time, as one that expired, and pauses nobody', async () => {
    const [revoked, expired] = [
      await access.mint(REQUEST),
      await access.mint({ ...REQUEST, expiresInSeconds: 60 }),
    ];
    await access.revoke(revoked.id);
    const at = new Date(clock.now()).toISOString();
    await clock.advance(200_000);
    for (let i = 0; i < 30; i += 1) {
      for (const [{ id, jwt }, how] of [
        [revoked, `was revoked at ${at}`],
        [expired, `expired at `],
      ] as const) {
        const error = await access.authenticate(bearer(jwt), IP).catch((e: unknown) => e);
        expect(error).toMatchObject({ status: 401, problems: [{ name: 'token-invalid' }] });
        expect((error as AppError).message).toContain(`The token ${id} ${how}`);
      }
    }
    expect(await refusal(access.authenticate('Bearer x.y.z', IP))).toBe('token-invalid');
  });

  it('ends within 5 s in another process', async () => {
    const { id, jwt } = await access.mint(REQUEST);
    const other = newAccess();
    await other.authenticate(bearer(jwt), IP);
    await access.revoke(id);
    expect(await refusal(other.authenticate(bearer(jwt), IP))).toBe('accepted');
    await clock.advance(5_000);
    expect(await refusal(other.authenticate(bearer(jwt), IP))).toBe('token-invalid');
  });

  it('does not slip into the cache through a look-up that the revocation overtook', async () => {
    const { id, jwt } = await access.mint(REQUEST);
    const other = newAccess();
    const [racing] = await Promise.allSettled([other.authenticate(bearer(jwt), IP), other.revoke(id)]);
    expect(['fulfilled', 'rejected']).toContain(racing.status);
    expect(await refusal(other.authenticate(bearer(jwt), IP))).toBe('token-invalid');
  });
});

describe('authentication under load', () => {
  it('keeps a bounded number of answers', async () => {
    const small = newAccess({ maxCached: 2 });
    const tokens = await Promise.all([1, 2, 3].map(() => small.mint(REQUEST)));
    for (const { jwt } of tokens) await small.authenticate(bearer(jwt), IP);
    // Revoked behind its back: what is still cached is believed, what was pushed out is read again.
    for (const { id } of tokens) await store.revokeToken({ id, now: clock.now() });
    const results = [];
    for (const { jwt } of tokens) results.push(await refusal(small.authenticate(bearer(jwt), IP)));
    expect(results).toEqual(['token-invalid', 'accepted', 'accepted']);
  });

  it('pauses failing requests of an address after ten a minute, and never a valid token', async () => {
    const { jwt } = await access.mint(REQUEST);
    for (let i = 0; i < 10; i++) {
      expect(await refusal(access.authenticate('Bearer x.y.z', IP))).toBe('token-invalid');
    }
    const error = await access.authenticate('Bearer x.y.z', IP).catch((e: unknown) => e);
    expect(error).toMatchObject({ status: 429, retryAfterSeconds: 300 });
    expect(await refusal(access.authenticate(bearer(jwt), IP))).toBe('accepted');
    expect(await refusal(access.authenticate('Bearer x.y.z', '203.0.113.1'))).toBe('token-invalid');
    await clock.advance(300_000);
    expect(await refusal(access.authenticate('Bearer x.y.z', IP))).toBe('token-invalid');
  });

  it('takes a token only from the addresses it is tied to, cached or not', async () => {
    const { jwt } = await access.mint({ ...REQUEST, ipAllowList: ['192.0.2.0/24', '2001:db8::/32'] });
    for (let round = 0; round < 2; round++) {
      expect(await refusal(access.authenticate(bearer(jwt), '192.0.2.77'))).toBe('accepted');
      expect(await refusal(access.authenticate(bearer(jwt), '2001:db8::5'))).toBe('accepted');
      expect(await refusal(access.authenticate(bearer(jwt), IP))).toBe('ip-not-allowed');
    }
  });

  it('notes the last use at most once a minute', async () => {
    const { id, jwt } = await access.mint(REQUEST);
    const start = clock.now();
    const lastUse = async () => {
      const row = await store.getToken({ id });
      return [row?.lastUsedAt, row?.lastUsedIp];
    };
    await access.authenticate(bearer(jwt), IP);
    await expect.poll(lastUse).toEqual([start, IP]);
    await clock.advance(59_000);
    await access.authenticate(bearer(jwt), '192.0.2.1');
    expect(await lastUse()).toEqual([start, IP]);
    await clock.advance(6_000);
    await access.authenticate(bearer(jwt), '192.0.2.2');
    await expect.poll(lastUse).toEqual([start + 65_000, '192.0.2.2']);
  });
});

describe('the tokens of a domain', () => {
  it('are limited in number; each can be replaced, and revoking one makes room', async () => {
    const few = newAccess({ maxPerDomain: 2 });
    const request = { ...REQUEST, domains: ['limited.example'], expiresInSeconds: null };
    const [one, two] = [await few.mint(request), await few.mint(request)];
    await expect(few.mint(request)).rejects.toMatchObject({
      problems: [{ name: 'token-limit' }],
      message: expect.stringContaining('revoke'),
    });
    const replace = (old: Token) => few.rotate(old, 60, { createdBy: old.id, endsAt: null });
    for (const { token } of [one, two]) expect(await replace(token)).not.toBeNull();
    const extra = await store.listTokens({ domains: ['limited.example'], limit: 1, look: 100 });
    await expect(replace(extra.tokens[0] as Token)).rejects.toMatchObject({
      problems: [{ name: 'token-limit' }],
    });
    for (const { id } of (await store.listTokens({ domains: ['limited.example'], limit: 9, look: 100 }))
      .tokens)
      await few.revoke(id);
    expect((await few.mint(request)).token.domains).toEqual(['limited.example']);
  });
});
