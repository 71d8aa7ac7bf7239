/** An identity provider that does not answer, or does not say when somebody signed in there; and what it says too late. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  CLIENT,
  type FakeIdentityProvider,
  startIdentityProvider,
} from '../../../test/fakes/identity-provider.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import { createGuardedHttp } from '../../net/guarded-http.ts';
import { createManualClock } from '../../store/sqlite/test-support.ts';
import { createIdentityProvider, type IdentityProvider } from './identity-provider.ts';

const nothing = (): void => undefined;
let far: FakeIdentityProvider;
let clock: ReturnType<typeof createManualClock>;
let http: ReturnType<typeof createGuardedHttp>;
let provider: IdentityProvider;

beforeEach(async () => {
  far = await startIdentityProvider();
  clock = createManualClock();
  const none = async () => ({ kind: 'no-name', ttlSeconds: 60, secure: false }) as const;
  const filter = { check: () => ({ allowed: true, listed: true }) as const };
  http = createGuardedHttp({ clock, resolver: { of: () => ({ a: none, aaaa: none }) }, filter });
  const sealer = createSealer([{ id: 'one', secret: new Uint8Array(32) }]);
  const log = { info: nothing, warn: nothing, error: nothing, debug: nothing };
  provider = createIdentityProvider(
    { own: http, http, clock, random: createSystemRandom(), sealer, log },
    {
      ...{ issuer: far.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, name: 'Example' },
      ...{ required: [], redirectUri: 'http://127.0.0.1/sign-in' },
    },
  );
});
afterEach(async () => {
  http.close();
  await far.close();
});

it.each(['/.well-known/openid-configuration', '/token', '/keys'])(
  'gives up after ten seconds when %s does not answer, and asks again later',
  async (path) => {
    let isAsked = false;
    far.wrong = {
      paths: {
        [path]: (_, response) => {
          isAsked = true;
          // A beginning, and then nothing.
          response.writeHead(200, { 'content-type': 'application/json' }).write('{');
        },
      },
    };
    const signIn = async () => {
      const { url, pending } = await provider.begin('192.0.2.1', false);
      return provider.finish(pending, await far.visit(url), '192.0.2.1');
    };
    const refused = expect(signIn()).rejects.toMatchObject({ problems: [{ name: 'identity-unavailable' }] });
    await expect.poll(() => isAsked).toBe(true);
    clock.advance(10_000);
    await refused;
    far.wrong = {};
    clock.advance(5_000);
    await expect(signIn()).resolves.toMatchObject({ email: 'ada@example.com' });
    expect(await provider.problem()).toBeNull();
  },
);

it('does not take what was begun more than ten minutes ago', async () => {
  const { url, pending } = await provider.begin('192.0.2.1', false);
  const query = await far.visit(url);
  clock.advance(600_000);
  await expect(provider.finish(pending, query, '192.0.2.1')).rejects.toMatchObject({
    problems: [{ name: 'identity-refused' }],
  });
});

it('takes no sign-in for a proof of which the provider could say when it was, and does not', async () => {
  const again = async (change: (url: URL) => void = () => undefined) => {
    const { url, pending } = await provider.begin('192.0.2.1', true);
    const address = new URL(url);
    change(address);
    return provider.finish(pending, await far.visit(address.href), '192.0.2.1');
  };
  /** As somebody at a browser does for whom the provider would not ask again by itself. */
  const unasked = ({ searchParams }: URL) => {
    for (const name of ['prompt', 'max_age']) searchParams.delete(name);
  };
  far.wrong = { metadata: { claims_supported: ['sub', 'auth_time'] } };
  const refused = expect(again(unasked)).rejects;
  await refused.toMatchObject({
    problems: [
      { name: 'identity-refused', message: expect.stringContaining('put auth_time into the ID token') },
    ],
  });
  far.authTime = 1_000;
  expect(await again(unasked)).toMatchObject({ provenAt: 1_000_000 });
  expect((await again()).provenAt).toBeGreaterThan(1_000_000);
});

it('says what is wrong with the provider', async () => {
  await far.close();
  expect(await provider.problem()).toMatch(/ECONNREFUSED|refused|connect/i);
});
