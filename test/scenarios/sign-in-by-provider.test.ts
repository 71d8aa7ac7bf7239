/**
 * Signing in by an identity provider (OpenID Connect) on a whole server: who gets a session, whose account a person is from
 * then on, and what happens with a provider that lies, or a browser that brings back what it did not begin.
 */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeIdentityProvider, startIdentityProvider, type Wrong } from '../fakes/identity-provider.ts';
import { command } from './commands.ts';
import { type Answer, fileScope, type Instance, startInstance } from './harness.ts';
import { startSigningIn } from './signing-in.ts';

const scope = fileScope();
const Password = 'correct horse battery';
const WITHOUT_PASSWORD = { Role: 'operator' };
let provider: FakeIdentityProvider;
let server: Instance;
let n = 0;

const startWith = (settings: Record<string, string> = {}) =>
  startSigningIn(scope, provider.issuer, { 'oidc-name': 'Example Login', ...settings });

beforeAll(async () => {
  provider = await startIdentityProvider();
  scope.defer(() => provider.close());
  server = await startWith();
});

/** A person who is at the provider by that address, and here unless `body` is null. */
async function newPerson(body: object | null = WITHOUT_PASSWORD): Promise<string> {
  n += 1;
  const Email = `person-${n}@example.com`;
  provider.claims = { sub: `subject-${n}`, email: Email, email_verified: true };
  if (body !== null) {
    const added = await server.call('POST', '/people', { body: { Email, ...body } });
    expect(added.status, added.text).toBe(201);
  }
  return Email;
}

/** A browser with the dashboard of `at` open. */
function browser(at = server) {
  const cookies = new Map<string, string>();
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const answer = await at.call(method, path, {
      token: null,
      headers: { origin: at.server.localUrl, 'x-postrider-dashboard': '1', cookie },
      ...(body === undefined ? {} : { body }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    return answer;
  };
  return {
    cookies,
    ask,
    go: async (body?: object) => (await ask('POST', '/session/provider', body)).json.URL as string,
    back: (Query: string) => ask('PUT', '/session/provider', { Query }),
    async signIn() {
      return this.back(await provider.visit(await this.go()));
    },
  };
}

const refusalOf = ({ status, json }: Answer) => [status, json.type?.split('/').at(-1)];
const REFUSED = [403, 'identity-refused'];
const UNKNOWN = [403, 'identity-unknown'];
const UNAVAILABLE = [503, 'identity-unavailable'];

beforeEach(() => {
  provider.wrong = {};
});

describe('signing in by the identity provider', () => {
  it('gives a person without a password a session like any other', async () => {
    const Email = await newPerson({
      ...WITHOUT_PASSWORD,
      Role: 'member',
      Domains: ['example.com'],
      Preset: 'Send',
    });
    const ada = browser();
    expect((await ada.ask('GET', '/session/provider')).json).toEqual({
      Name: 'Example Login',
      Origin: server.server.localUrl,
    });
    const url = new URL(await ada.go());
    expect(url.origin).toBe(provider.issuer);
    expect(url.searchParams.get('redirect_uri')).toBe(`${server.server.localUrl}/sign-in`);
    const answer = await ada.back(await provider.visit(url.href));
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toMatchObject({
      Person: { Email, Role: 'member', HasPassword: false },
      Domains: ['example.com'],
    });
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^postrider-session=[\w-]{43}; .*HttpOnly; SameSite=Strict$/,
    );
    expect((await ada.ask('GET', '/session')).json).toEqual(answer.json);
    expect((await ada.ask('GET', '/people')).status).toBe(403);
    const [entry] = (await server.call('GET', '/audit?Operation=signInByProvider')).json.Items;
    expect(entry.WhoName).toBe(Email);
    expect((await ada.ask('DELETE', '/session')).status).toBe(200);
    expect((await ada.ask('GET', '/session')).status).toBe(401);
  });

  it('is for whom an operator added, also with a password beside it, and for nobody else', async () => {
    await newPerson({ Password, Role: 'operator' });
    expect((await browser().signIn()).status).toBe(200);
    await newPerson(null);
    expect(refusalOf(await browser().signIn())).toEqual(UNKNOWN);
    const msg = 'no person belongs to this account of the identity provider';
    expect(server.logs).toContainEqual(expect.objectContaining({ msg, email: 'p***@example.com' }));
    const Email = await newPerson();
    const { Items } = (await server.call('GET', '/people')).json;
    const { PersonID } = Items.find((one: { Email: string }) => one.Email === Email);
    await server.call('PATCH', `/people/${PersonID}`, { body: { Disabled: true } });
    expect(refusalOf(await browser().signIn())).toEqual(UNKNOWN);
    const none = await browser().ask('POST', '/session', { Email, Password: '' });
    expect(none.status).toBe(401);
  });

  it('keeps a person the account of the first time, until an operator lets it be forgotten', async () => {
    const Email = await newPerson();
    expect((await browser().signIn()).status).toBe(200);
    // The address went to somebody else.
    provider.claims = { ...provider.claims, sub: 'somebody else' };
    expect(refusalOf(await browser().signIn())).toEqual(UNKNOWN);
    const unlinked = await command(['user', 'unlink', Email, '--data', server.folder]);
    expect([unlinked.code, unlinked.stderr]).toEqual([0, '']);
    expect((await browser().signIn()).status).toBe(200);
    const { Items } = (await server.call('GET', '/people')).json;
    expect(Items.find((one: { Email: string }) => one.Email === Email).Identity).toEqual({
      Issuer: provider.issuer,
      Subject: 'somebody else',
    });
    const { PersonID } = Items.find((one: { Email: string }) => one.Email === Email);
    const forgotten = await server.call('DELETE', `/people/${PersonID}/identity`);
    expect(forgotten.json).toMatchObject({ Email, Identity: null });
  });

  it.each([
    ['says when the person gave the password', Math.floor(Date.now() / 1000) - 3_600],
    ['does not say it', null],
  ])('proves who somebody is only after signing in there again, at a provider that %s', async (_, time) => {
    provider.authTime = time;
    await newPerson();
    const ada = browser();
    expect((await ada.signIn()).status).toBe(200);
    const make = () => ada.ask('POST', '/tokens', { Name: 'n', Domains: ['example.com'] });
    expect(refusalOf(await make())).toEqual([403, 'proof-required']);
    expect((await ada.back(await provider.visit(await ada.go({ Again: true })))).status).toBe(200);
    expect((await make()).status).toBe(201);
    provider.authTime = null;
  });

  it('proves nothing of who has a password, at a provider that does not say when it was given there', async () => {
    await newPerson({ Password, Role: 'operator' });
    const ada = browser();
    const make = () => ada.ask('POST', '/tokens', { Name: 'n', Domains: ['example.com'] });
    expect((await ada.back(await provider.visit(await ada.go({ Again: true })))).status).toBe(200);
    expect(refusalOf(await make())).toEqual([403, 'proof-required']);
    expect((await ada.ask('GET', '/session')).json).toMatchObject({ ProvenUntil: null });
    expect((await ada.ask('POST', '/session/proof', { Password })).status).toBe(200);
    expect((await make()).status).toBe(201);
    provider.authTime = 1_000;
    expect((await ada.back(await provider.visit(await ada.go({ Again: true })))).status).toBe(200);
    expect((await make()).status).toBe(201);
    provider.authTime = null;
  });

  it('asks for no second factor of this server, also where passwords need one', async () => {
    const at = await startWith({ 'require-totp': 'on' });
    const Email = await newPerson();
    await at.call('POST', '/people', { body: { Email, ...WITHOUT_PASSWORD } });
    expect((await browser(at).signIn()).json).toMatchObject({ MustSetUpSecondFactor: false, Domains: ['*'] });
  });

  it('asks the provider for the address where the token does not say it', async () => {
    await newPerson();
    provider.wrong = { claims: { email: undefined, email_verified: undefined } };
    const answer = await browser().signIn();
    expect(answer.status, answer.text).toBe(200);
  });

  it('is not begun where the browser would not come back to', async () => {
    const at = new URL(server.server.localUrl);
    at.hostname = 'localhost';
    const headers = { host: at.host, origin: at.origin, 'x-postrider-dashboard': '1' };
    const answer = await server.call('POST', '/session/provider', { token: null, headers });
    // `fetch` sets Host itself: to this server the origin is not its own.
    expect(answer.status).toBe(403);
  });

  it('is not offered where no provider is configured, and people need a password there', async () => {
    const plain = await startInstance(scope);
    expect((await browser(plain).ask('GET', '/session/provider')).json).toEqual({ Name: null, Origin: null });
    for (const method of ['POST', 'PUT'])
      expect((await browser(plain).ask(method, '/session/provider', { Query: '' })).status).toBe(404);
    const added = await plain.call('POST', '/people', {
      body: { Email: 'a@example.com', ...WITHOUT_PASSWORD },
    });
    expect([added.status, added.json.Errors[0].Field]).toEqual([422, '/Password']);
  });
});

describe('a provider that lies', () => {
  const LIES: Record<string, Wrong> = {
    'another nonce': { claims: { nonce: 'another' } },
    'no nonce': { claims: { nonce: undefined } },
    'another audience': { claims: { aud: 'another client' } },
    'another issuer': { claims: { iss: 'https://login.example' } },
    'a token that has ended': { claims: { exp: 1_000, iat: 900 } },
    'no subject': { claims: { sub: undefined } },
    'no signature': { signed: 'not' },
    'the key of somebody else': { signed: 'by-somebody-else' },
    'the secret of the client as a key': { signed: 'with-client-secret' },
    'an address that is not verified': { claims: { email_verified: false } },
    'an address that is verified in a text only': { claims: { email_verified: 'true' } },
    'an address that says nothing of it': { claims: { email_verified: undefined } },
    'no address': { claims: { email: 'nobody' } },
    'letters that look like an address': { claims: { email: 'person-\u212a@example.com' } },
    'no ID token': {
      paths: {
        '/token': (_, response) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('{"access_token":"a","token_type":"Bearer"}'),
      },
    },
  };

  it.each(Object.entries(LIES))('is not believed: %s', async (_, wrong) => {
    await newPerson();
    const ada = browser();
    provider.wrong = wrong;
    expect(refusalOf(await ada.signIn())).toEqual(REFUSED);
    expect(ada.cookies.has('postrider-session')).toBe(false);
    expect(server.logs.some(({ msg, why }) => msg.includes('was refused') && why !== undefined)).toBe(true);
  });

  it.each<[string, string, Wrong['paths']]>([
    ['metadata that is no JSON', '/.well-known/openid-configuration', {}],
    ['an error of its own', '/token', {}],
    ['a body without an end', '/token', {}],
    ['a redirect', '/token', {}],
  ])('is asked no longer: %s', async (what, path) => {
    const at = await startWith();
    const answers: Record<string, NonNullable<Wrong['paths']>[string]> = {
      'metadata that is no JSON': (_, response) => response.writeHead(200).end('<html>'),
      'an error of its own': (_, response) => response.writeHead(502).end('bad gateway'),
      'a body without an end': (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      },
      'a redirect': (_, response) => response.writeHead(307, { location: `${provider.issuer}/keys` }).end(),
    };
    const given = answers[what];
    if (given === undefined) throw new Error(what);
    provider.wrong = { paths: { [path]: given } };
    const ada = browser(at);
    const begun = await ada.ask('POST', '/session/provider');
    const answer = begun.status === 200 ? await ada.back(await provider.visit(begun.json.URL)) : begun;
    expect(refusalOf(answer)).toEqual(UNAVAILABLE);
  });

  it('sends nobody to the network of this server', async () => {
    const at = await startWith();
    provider.wrong = {
      metadata: { token_endpoint: 'https://10.0.0.1/token', jwks_uri: 'https://10.0.0.1/keys' },
    };
    const ada = browser(at);
    expect(refusalOf(await ada.back(await provider.visit(await ada.go())))).toEqual(UNAVAILABLE);
  });

  it('is down: people are told so, the doctor too, and passwords go on', async () => {
    const down = await startWith({ 'oidc-issuer': 'http://127.0.0.1:9' });
    const answer = await browser(down).ask('POST', '/session/provider');
    expect(refusalOf(answer)).toEqual(UNAVAILABLE);
    expect(down.logs.some(({ level, msg }) => level === 'error' && msg.includes('identity provider'))).toBe(
      true,
    );
    const checkOf = async (one: Instance) =>
      (await one.call('GET', '/doctor?Part=server')).json.Instance.find(
        ({ Name }: { Name: string }) => Name === 'sign-in',
      );
    expect(await checkOf(down)).toMatchObject({ Status: 'Warning' });
    expect(await checkOf(server)).toMatchObject({ Status: 'Ok' });
    const ada = { Email: 'ada@example.com', Password };
    await down.call('POST', '/people', { body: { ...ada, Role: 'operator' } });
    expect((await browser(down).ask('POST', '/session', ada)).status).toBe(200);
  });

  it('has another secret for this server', async () => {
    const at = await startWith({ 'oidc-client-secret': 'another' });
    expect(refusalOf(await browser(at).signIn())).toEqual(UNAVAILABLE);
    expect(at.logs.some(({ why }) => why === 'invalid_client')).toBe(true);
  });

  it('does not say a claim that is required', async () => {
    const at = await startWith({ 'oidc-require': 'groups=mail,hd=example.com' });
    const Email = await newPerson();
    const added = await at.call('POST', '/people', { body: { Email, ...WITHOUT_PASSWORD } });
    expect(added.status).toBe(201);
    for (const claims of [{}, { groups: ['mail'] }, { groups: 'other', hd: 'example.com' }]) {
      provider.wrong = { claims };
      expect(refusalOf(await browser(at).signIn())).toEqual(REFUSED);
    }
    provider.wrong = { claims: { groups: ['other', 'mail'], hd: 'example.com' } };
    expect((await browser(at).signIn()).status).toBe(200);
  });
});

describe('what a browser brings back', () => {
  it('counts once, in the browser that began it, and only as the provider gave it', async () => {
    await newPerson();
    const [ada, eve] = [browser(), browser()];
    const query = await provider.visit(await ada.go());
    // Of no browser, and of one that has begun a sign-in of its own.
    expect(refusalOf(await eve.back(query))).toEqual(REFUSED);
    await eve.go();
    expect(refusalOf(await eve.back(query))).toEqual(REFUSED);
    const state = new URLSearchParams(query).get('state') ?? '';
    for (const other of ['', 'code=none', `code=none&state=${state}`, `error=access_denied&state=${state}`])
      expect(refusalOf(await ada.back(other)), other).toEqual(REFUSED);
    expect((await ada.back(query)).status).toBe(200);
    const again = await ada.back(query);
    expect(refusalOf(again)).toEqual(REFUSED);
    expect(again.json.detail).toContain('invalid_grant');
  });

  it('is nothing that another server sealed', async () => {
    await newPerson();
    const [ada, other] = [browser(), browser(await startWith())];
    const query = await provider.visit(await other.go());
    ada.cookies.set('postrider-pending', other.cookies.get('postrider-pending') ?? '');
    expect(refusalOf(await ada.back(query))).toEqual(REFUSED);
  });

  it('comes from the dashboard of this server, not from the page of somebody else', async () => {
    for (const method of ['POST', 'PUT'])
      for (const headers of [
        { origin: 'https://evil.example', 'x-postrider-dashboard': '1' },
        { origin: server.server.localUrl },
      ]) {
        const answer = await server.call(method, '/session/provider', {
          ...{ token: null, headers: headers as Record<string, string>, body: { Query: 'code=a&state=b' } },
        });
        expect(refusalOf(answer)).toEqual([403, 'origin-not-allowed']);
      }
  });

  it('waits for a slow provider four at once for each address, and the others are told to come back', async () => {
    await newPerson();
    const all = Array.from({ length: 5 }, () => browser());
    const queries: string[] = [];
    for (const one of all) queries.push(await provider.visit(await one.go()));
    const held: (() => void)[] = [];
    provider.wrong = {
      paths: { '/token': (_, response) => void held.push(() => response.writeHead(500).end()) },
    };
    const answers = all.map((one, i) => one.back(queries[i] ?? ''));
    const first = await Promise.race(answers);
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '5']);
    await expect.poll(() => held.length).toBe(4);
    for (const release of held) release();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(503);
  });
});
