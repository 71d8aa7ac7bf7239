/**
 * People on a whole server: what each role may, over every operation that the document of the interface has, and the commands
 * that add and remove people.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { hotp, totpSecretOf, totpStep } from '../../src/lib/totp.ts';
import { MEMBER_PRESETS } from '../../src/model/person.ts';
import { command } from './commands.ts';
import { type CallOptions, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

const scope = fileScope();
const Password = 'correct horse battery';
/** Beside the scope that the document names. */
const ALSO: Readonly<Record<string, string>> = { releaseCapture: 'email:read', resendEmail: 'email:read' };
let n = 0;
let server: Instance;
let operations: { id: string; method: string; path: string; scope: string | null; allDomains: boolean }[];

beforeAll(async () => {
  server = await startInstance(scope);
  await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
  const { paths } = (await server.call('GET', '/openapi.json')).json;
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at as a reader without types does
  operations = Object.entries<any>(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries<any>(item)
      .filter(([method, { security }]) => method !== 'servers' && security.length > 0)
      .map(([method, { operationId, security, ...rest }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'none'),
        scope: security[0].bearer[0] ?? null,
        allDomains: rest['x-all-domains'] === true,
      })),
  );
});

async function signedIn(person: { Role: string; Domains?: string[]; Preset?: string }): Promise<CallOptions> {
  const Email = `person-${n++}@example.org`;
  const added = await server.call('POST', '/people', { body: { ...person, Email, Password } });
  expect(added.status, added.text).toBe(201);
  return signInAs(Email);
}

async function signInAs(Email: string, at = server): Promise<CallOptions> {
  const headers = { origin: at.server.localUrl, 'x-postrider-dashboard': '1' };
  const answer = await at.call('POST', '/session', { token: null, headers, body: { Email, Password } });
  expect(answer.status, answer.text).toBe(200);
  const cookie = answer.headers.getSetCookie().join().split(';')[0] ?? '';
  return { token: null, headers: { ...headers, cookie } };
}

const ROLES = [
  { Role: 'operator' },
  ...MEMBER_PRESETS.map((Preset) => ({ Role: 'member', Domains: ['example.com'], Preset })),
  { Role: 'viewer', Domains: ['example.com'] },
  { Role: 'viewer', Domains: ['*'] },
];

describe('a person', () => {
  it.each(ROLES)('may what the scopes of the role say, and nothing else: %j', async (person) => {
    const as = await signedIn(person);
    const { Scopes, Domains } = (await server.call('GET', '/session', as)).json;
    const tried: string[] = [];
    for (const operation of operations) {
      // They would not end, or end what the others are tried with.
      if (/^(?:stream|waitFor)|^(?:signOut|sendEmail|deleteCaptures|deleteSandboxRules)$/.test(operation.id))
        continue;
      const needed = [operation.scope, ALSO[operation.id]].filter((one) => typeof one === 'string');
      const hasScope = Scopes.includes('admin') || needed.every((one) => Scopes.includes(one));
      const may = hasScope && (!operation.allDomains || Domains.includes('*'));
      // What needs a body gets one that is wrong, so that nothing changes.
      const body = operation.method === 'GET' || operation.method === 'DELETE' ? {} : { body: '{' };
      const { status, text } = await server.call(operation.method, operation.path, { ...as, ...body });
      expect(status === 403 && text.includes('"scope-missing"'), `${operation.id}: ${status} ${text}`).toBe(
        !may,
      );
      tried.push(operation.id);
    }
    expect(tried.length).toBeGreaterThan(80);
  });

  it('who only reads has no operation that changes something, but for what concerns the reading itself', async () => {
    const as = await signedIn({ Role: 'viewer', Domains: ['example.com', 'example.org'] });
    const { Scopes } = (await server.call('GET', '/session', as)).json;
    const open = operations.filter(
      ({ method, scope: needed, allDomains }) =>
        method !== 'GET' && !allDomains && (needed === null || Scopes.includes(needed)),
    );
    expect(open.map(({ id }) => id).sort()).toEqual([
      'changePassword',
      'endSession',
      'makeTotpSecret',
      'markCaptures',
      'proveSession',
      'renderTemplate',
      'renderTexts',
      'signOut',
      'switchOffTotp',
      'switchOnTotp',
    ]);
  });

  it('is refused rights that the role has not', async () => {
    const add = async (body: object) =>
      (await server.call('POST', '/people', { body: { Email: 'x@example.org', Password, ...body } })).status;
    expect(await add({ Role: 'member' })).toBe(422);
    expect(await add({ Role: 'member', Domains: ['*'] })).toBe(422);
    expect(await add({ Role: 'member', Domains: ['example.com'], Preset: 'Admin' })).toBe(422);
    expect(await add({ Role: 'operator', Domains: ['example.com'] })).toBe(422);
    expect(await add({ Role: 'viewer', Domains: ['example.com'], Preset: 'Full' })).toBe(422);
    expect(await add({ Role: 'operator', Password: 'aaaaaaaaaaaaaaaa' })).toBe(422);
    expect(await add({ Role: 'operator', Email: 'no address' })).toBe(422);
  });

  it('takes along what was made with the session where that is asked for', async () => {
    const as = await signedIn({ Role: 'member', Domains: ['example.com'], Preset: 'Full' });
    const made = (await server.call('POST', '/tokens', { ...as, body: { Name: 'n' } })).json;
    const { Person } = (await server.call('GET', '/session', as)).json;
    expect((await server.call('GET', `/tokens/${made.TokenID}`)).json.CreatedBy).toBe(Person.PersonID);
    const removed = await server.call('DELETE', `/people/${Person.PersonID}?Children=true`);
    expect(removed.json).toEqual({ Tokens: 1, Credentials: 0, Webhooks: 0 });
    expect((await server.call('GET', '/me', { token: made.Token })).status).toBe(401);
    expect((await server.call('GET', '/me', as)).status).toBe(401);
  });

  it('loses what was made with the session by being disabled, and by other changes where that is asked for', async () => {
    const as = await signedIn({ Role: 'member', Domains: ['example.com'], Preset: 'Full' });
    const { PersonID, Email } = (await server.call('GET', '/session', as)).json.Person;
    const path = `/people/${PersonID}`;
    let session = as;
    const make = async () => (await server.call('POST', '/tokens', { ...session, body: { Name: 'n' } })).json;
    const statusOf = async (token: string) => (await server.call('GET', '/me', { token })).status;
    const changes: [string, string, object][] = [
      ['PATCH', `${path}?Children=true`, { Role: 'member' }],
      ['PUT', `${path}/password?Children=true`, { Password }],
      ['PATCH', path, { Disabled: true }],
    ];
    for (const [method, where, body] of changes) {
      const { Token } = await make();
      expect((await server.call('PATCH', path, { body: { Disabled: false } })).status).toBe(200);
      expect(await statusOf(Token)).toBe(200);
      expect((await server.call(method, where, { body })).status).toBe(200);
      expect(await statusOf(Token), `${method} ${where}`).toBe(401);
      if (method === 'PATCH' && 'Disabled' in body) break;
      session = await signInAs(Email);
    }
  });

  it('is removed with what was made also where only the person was removed before', async () => {
    const as = await signedIn({ Role: 'member', Domains: ['example.com'], Preset: 'Full' });
    const { PersonID } = (await server.call('GET', '/session', as)).json.Person;
    const { Token } = (await server.call('POST', '/tokens', { ...as, body: { Name: 'n' } })).json;
    expect((await server.call('DELETE', `/people/${PersonID}`)).status).toBe(200);
    expect((await server.call('GET', '/me', { token: Token })).status).toBe(200);
    const again = await server.call('DELETE', `/people/${PersonID}?Children=true`);
    expect([again.status, again.json]).toEqual([200, { Tokens: 1, Credentials: 0, Webhooks: 0 }]);
    expect((await server.call('GET', '/me', { token: Token })).status).toBe(401);
    expect((await server.call('DELETE', `/people/${PersonID}?Children=true`)).status).toBe(404);
  });

  it.each([{ ExpiresIn: 3_600 }, { IPAllowList: ['127.0.0.1'] }, { Sandbox: true }, { RateLimit: 1_000 }])(
    'is not made, changed or removed with a token that has limits, which the person has not: %j',
    async (limit) => {
      const body = { Email: `limits-${n++}@example.org`, Password, Role: 'operator' };
      const { PersonID } = (await server.call('POST', '/people', { body })).json;
      const token = await makeToken(server, {
        Domains: ['*'],
        Preset: 'Admin',
        ExpiresIn: 'never',
        ...limit,
      });
      const tries: [string, string, object?][] = [
        ['POST', '/people', { ...body, Email: 'late@example.org' }],
        ['PATCH', `/people/${PersonID}`, { Disabled: false }],
        ['PUT', `/people/${PersonID}/password`, { Password }],
        ['DELETE', `/people/${PersonID}`],
      ];
      for (const [method, path, given] of tries) {
        const answer = await server.call(method, path, { token, ...(given && { body: given }) });
        expect([answer.status, answer.json.Errors?.[0].Code], `${method} ${answer.text}`).toEqual([403, 34]);
      }
    },
  );

  it('with an open session alone cannot set the password of that session’s person', async () => {
    const as = await signedIn({ Role: 'operator' });
    const { Person } = (await server.call('GET', '/session', as)).json;
    const set = (id: string) => server.call('PUT', `/people/${id}/password`, { ...as, body: { Password } });
    const own = await set(Person.PersonID);
    expect([own.status, own.json.detail ?? own.text]).toEqual([
      422,
      expect.stringContaining('PUT /session/password'),
    ]);
    const other = await signedIn({ Role: 'operator' });
    expect((await set((await server.call('GET', '/session', other)).json.Person.PersonID)).status).toBe(200);
  });
});

describe('a server that requires a second factor', () => {
  it('lets who has none set it up and do nothing else, over every operation', async () => {
    const strict = await startInstance(scope, { settings: { 'require-totp': 'on' } });
    const Email = 'ada@example.org';
    await strict.call('POST', '/people', { body: { Email, Password, Role: 'operator' } });
    const as = await signInAs(Email, strict);
    const shown = async () => (await strict.call('GET', '/session', as)).json;
    expect(await shown()).toMatchObject({ MustSetUpSecondFactor: true, Scopes: [] });
    const open: string[] = [];
    for (const { id, method, path } of operations) {
      if (id === 'signOut') continue;
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{' };
      const { status, text } = await strict.call(method, path, { ...as, ...body });
      if (!(status === 403 && text.includes('"second-factor-required"'))) open.push(id);
    }
    expect(open.sort()).toEqual(['getSession', 'makeTotpSecret', 'switchOnTotp']);
    const { Secret } = (await strict.call('POST', '/session/totp', as)).json;
    const step = totpStep(Date.now());
    const secret = totpSecretOf(Secret) ?? new Uint8Array();
    const body = { Password, Secret, Code: hotp(secret, step) };
    expect((await strict.call('PUT', '/session/totp', { ...as, body })).status).toBe(200);
    expect(await shown()).toMatchObject({ MustSetUpSecondFactor: false, Domains: ['*'] });
    expect((await strict.call('GET', '/people', as)).status).toBe(200);
    const off = { Password, Code: hotp(secret, step + 1) };
    const kept = await strict.call('POST', '/session/totp/off', { ...as, body: off });
    expect([kept.status, kept.json.Errors[0].Code]).toEqual([403, 2214]);
  });
});

describe('the commands', () => {
  const run = (words: string, input = '') =>
    command([...words.split(' '), '--data', server.folder], {}, input);
  const signIn = (Email: string, secret: string) => {
    const headers = { origin: server.server.localUrl, 'x-postrider-dashboard': '1' };
    return server.call('POST', '/session', { token: null, headers, body: { Email, Password: secret } });
  };

  it('add a person with a password from standard input, or one that is made and printed once', async () => {
    const typed = await run('user add Ada@Example.net', `${Password}\n`);
    expect([typed.code, typed.stdout, typed.stderr]).toEqual([0, '', 'Added ada@example.net as operator.\n']);
    expect((await signIn('ada@example.net', Password)).status).toBe(200);
    const made = await run('user add bob@example.net --role member --domain example.com --generate');
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^[\w-]{20}\n$/)]);
    expect((await signIn('bob@example.net', made.stdout.trim())).status).toBe(200);
    const nothing = await run('user add eve@example.net');
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('--generate')]);
    const short = await run('user add eve@example.net', 'short\n');
    expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('at least 12 characters')]);
  });

  it('list, disable, enable and remove a person, and set a password', async () => {
    const statusOf = async (secret: string) => (await signIn('bob@example.net', secret)).status;
    const changed = await run('user passwd bob@example.net --generate');
    const secret = changed.stdout.trim();
    expect((await run('user list')).stdout).toMatch(/bob@example\.net +member \(Default\) +example\.com/);
    expect(await statusOf(secret)).toBe(200);
    await run('user disable bob@example.net');
    expect(await statusOf(secret)).toBe(401);
    await run('user enable bob@example.net');
    expect(await statusOf(secret)).toBe(200);
    expect((await run('user totp-reset bob@example.net --yes')).stdout).toContain('with the password alone');
    expect((await run('user remove bob@example.net')).code).toBe(2);
    expect((await run('user remove bob@example.net --yes')).code).toBe(0);
    expect(await statusOf(secret)).toBe(401);
    expect((await run('user passwd bob@example.net --generate')).stderr).toContain('there is no person');
    const { stdout } = await run('audit --operation deletePerson --limit 1');
    expect(stdout).toMatch(/admin +deletePerson +people\/[\w-]{36} +127\.0\.0\.1/);
  });
});
