/**
 * Sessions through the real listener: what signing in takes and gives, whose requests count, when a session ends, and how
 * guessing is slowed down.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { base32, hotp, totpStep } from '../../../lib/totp.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { type Reply, send } from '../test-support.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';

const PASSWORD = 'correct horse battery';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ADA = 'ada@example.com';
let clock: ReturnType<typeof createManualClock>;
let world: World;
let own: Record<string, string>;

beforeEach(async () => {
  clock = createManualClock();
  world = await openWorld({ clock, options: { publicUrl: 'https://mail.example.com' } });
  const { host } = new URL(world.at.url);
  own = { host, origin: `http://${host}`, 'x-postrider-dashboard': '1' };
});
afterEach(() => world.close());

const add = (email = ADA, more: object = { role: 'operator' }) =>
  world.at.people.add({ email, password: PASSWORD, role: 'operator', ...more });

/** One request of a browser; `headers` replace what the dashboard sends, '' leaves one out. */
function ask(
  method: string,
  path: string,
  given: { cookie?: string; body?: object; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const { cookie, body, headers } = given;
  const all = {
    ...own,
    ...(cookie === undefined ? {} : { cookie }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  const url = `${world.at.url}/api/v1${path}`;
  return send(url, method, { headers: sent, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

const signIn = (email = ADA, password = PASSWORD, headers: Record<string, string> = {}) =>
  ask('POST', '/session', { body: { Email: email, Password: password }, headers });

/** What the browser sends back: the cookie of a sign-in. */
async function cookieOf(email = ADA, headers: Record<string, string> = {}): Promise<string> {
  const reply = await signIn(email, PASSWORD, headers);
  expect(reply.status, reply.text).toBe(200);
  return String(reply.headers['set-cookie']).split(';')[0] ?? '';
}

const statusOf = async (cookie: string) => (await ask('GET', '/session', { cookie })).status;

describe('signing in', () => {
  it('gives a session that says who one is and what one may', async () => {
    const person = await add();
    const reply = await signIn(' ADA@Example.com ');
    expect(reply.json()).toMatchObject({
      Person: { PersonID: person.id, Email: ADA, Role: 'operator' },
      Domains: ['*'],
    });
    const [set, mark] = [reply.headers['set-cookie']].flat();
    expect(mark).toMatch(/^postrider-device=[\w.-]+; Path=\/; Max-Age=31536000; HttpOnly; SameSite=Strict$/);
    expect(set).toMatch(/^postrider-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
    const cookie = String(set).split(';')[0] ?? '';
    const me = await ask('GET', '/session', { cookie });
    expect(me.json()).toEqual(reply.json());
    expect((await ask('GET', '/tokens', { cookie })).status).toBe(200);
    expect(reply.text).not.toContain(cookie.slice(20));
  });

  it('at the public address, over https, gives a cookie for this host alone', async () => {
    await add();
    const there = { host: 'mail.example.com', origin: 'https://mail.example.com' };
    const reply = await signIn(ADA, PASSWORD, there);
    const [set] = [reply.headers['set-cookie']].flat();
    expect(set).toMatch(/^__Host-postrider=[\w-]{43}; Secure; Path=\/; /);
    const cookie = String(set).split(';')[0] ?? '';
    expect((await ask('GET', '/session', { cookie, headers: there })).status).toBe(200);
    // The name without the prefix is one that a neighbouring host could set.
    const tossed = cookie.replace('__Host-postrider', 'postrider-session');
    expect((await ask('GET', '/session', { cookie: tossed, headers: there })).status).toBe(401);
  });

  it('is refused alike for a wrong password, nobody and somebody disabled', async () => {
    const off = await add('off@example.com');
    await add();
    await world.at.people.change(off.id, { disabled: true });
    const texts = await Promise.all(
      [
        signIn(ADA, 'wrong'),
        signIn('nobody@example.com'),
        signIn('off@example.com'),
        signIn('no address'),
      ].map(async (reply) => {
        const { Errors } = (await reply).json();
        expect((await reply).status).toBe(401);
        expect((await reply).headers['set-cookie']).toBeUndefined();
        return JSON.stringify(Errors);
      }),
    );
    expect(new Set(texts).size).toBe(1);
  });

  it('gives a new session each time and ends the one before', async () => {
    await add();
    const first = await cookieOf();
    const second = await cookieOf(ADA, { cookie: first });
    expect(second).not.toBe(first);
    expect(await statusOf(first)).toBe(401);
    expect(await statusOf(second)).toBe(200);
    const planted = `postrider-session=${'A'.repeat(43)}`;
    expect(await cookieOf(ADA, { cookie: planted })).not.toBe(planted);
    expect(await statusOf(planted)).toBe(401);
  });

  it('is refused from another origin, without the own header, and under another name', async () => {
    await add();
    const wrong: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: '' },
      { origin: 'null' },
      { 'x-postrider-dashboard': '' },
      { host: 'rebound.example', origin: 'http://rebound.example' },
      { host: 'mail.example.com', origin: 'http://mail.example.com' },
    ];
    for (const headers of wrong) {
      const reply = await signIn(ADA, PASSWORD, headers);
      expect(reply.status, JSON.stringify(headers)).toBe(403);
      expect(codesOf(reply)).toEqual([2204]);
    }
  });
});

describe('a session', () => {
  it('changes nothing for another site, and shows nothing under another name', async () => {
    await add();
    const cookie = await cookieOf();
    const make = (headers: Record<string, string>) =>
      ask('POST', '/domains', { cookie, headers, body: { Domain: 'new.example', Verified: true } });
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: '' },
      { 'x-postrider-dashboard': '' },
    ])
      expect((await make(headers)).status, JSON.stringify(headers)).toBe(403);
    const rebound = { host: 'rebound.example', 'x-postrider-dashboard': '1' };
    expect((await ask('GET', '/tokens', { cookie, headers: rebound })).status).toBe(401);
    const secure = cookie.replace('postrider-session', '__Host-postrider');
    expect((await ask('GET', '/tokens', { cookie: secure, headers: rebound })).status).toBe(403);
    const changed = { ...rebound, origin: 'http://rebound.example' };
    expect((await ask('DELETE', '/domains/example.com', { cookie: secure, headers: changed })).status).toBe(
      403,
    );
    expect((await make({})).status).toBe(201);
  });

  it('ends after 12 hours without use, and after 7 days however it is used', async () => {
    await add();
    const cookie = await cookieOf();
    clock.advance(12 * HOUR - 1);
    expect(await statusOf(cookie)).toBe(200);
    clock.advance(12 * HOUR - 1);
    expect(await statusOf(cookie)).toBe(200);
    clock.advance(12 * HOUR);
    expect(await statusOf(cookie)).toBe(401);
    const used = await cookieOf();
    for (let hours = 0; hours < 7 * 24; hours += 8) {
      expect(await statusOf(used), `${hours} h`).toBe(200);
      clock.advance(8 * HOUR);
    }
    expect(await statusOf(used)).toBe(401);
  });

  it('is not used by what an open page asks for while nobody is there', async () => {
    await add();
    const cookie = await cookieOf();
    const poll = () => ask('GET', '/session', { cookie, headers: { 'x-postrider-dashboard': 'idle' } });
    for (let hours = 1; hours < 12; hours += 1) {
      clock.advance(HOUR);
      expect((await poll()).status).toBe(200);
    }
    clock.advance(HOUR);
    expect((await poll()).status).toBe(401);
  });

  it('ends by signing out, and the cookie with it', async () => {
    await add();
    const cookie = await cookieOf();
    const reply = await ask('DELETE', '/session', { cookie });
    expect(String(reply.headers['set-cookie'])).toMatch(/^postrider-session=; Path=\/; Max-Age=0;/);
    expect(await statusOf(cookie)).toBe(401);
  });

  it('can be ended from another one, by its own person only', async () => {
    await add();
    await add('bob@example.com');
    const here = await cookieOf();
    clock.advance(1);
    const there = await cookieOf(ADA, { 'user-agent': 'Phone' });
    const { Items } = (await ask('GET', '/session/all', { cookie: here })).json() as {
      Items: { SessionID: string; Current: boolean; UserAgent: string }[];
    };
    expect(Items.map(({ Current, UserAgent }) => [Current, UserAgent])).toEqual([
      [false, 'Phone'],
      [true, ''],
    ]);
    const path = `/session/all/${Items[0]?.SessionID}`;
    expect((await ask('DELETE', path, { cookie: await cookieOf('bob@example.com') })).status).toBe(404);
    expect((await ask('DELETE', path, { cookie: here })).status).toBe(200);
    expect([await statusOf(here), await statusOf(there)]).toEqual([200, 401]);
  });

  it('is the only one that stays when its person changes the password', async () => {
    await add();
    const [here, there] = [await cookieOf(), await cookieOf()];
    const change = (Password: string, NewPassword: string) =>
      ask('PUT', '/session/password', { cookie: here, body: { Password, NewPassword } });
    // 401 would mean that the session has ended.
    expect(codesOf(await change('wrong', 'a longer and better one'))).toEqual([2208]);
    expect(codesOf(await change(PASSWORD, 'short'))).toEqual([2207]);
    expect((await change(PASSWORD, 'a longer and better one')).status).toBe(200);
    expect([await statusOf(here), await statusOf(there)]).toEqual([200, 401]);
    expect((await signIn()).status).toBe(401);
    expect((await signIn(ADA, 'a longer and better one')).status).toBe(200);
  });

  it('that ends while it waits for mail is told so, not of a token', async () => {
    const { id } = await add();
    const cookie = await cookieOf();
    const waiting = ask('GET', '/sandbox/wait?Subject=never&Timeout=60', { cookie });
    // Until it waits.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await world.at.people.change(id, { disabled: true });
    let reply: Reply | null = null;
    void waiting.then((given) => {
      reply = given;
    });
    await expect
      .poll(() => {
        clock.advance(10_000);
        return reply;
      })
      .not.toBeNull();
    expect(codesOf(await waiting)).toEqual([2202]);
  });

  it('changes no password that an operator set while the new one was hashed', async () => {
    const { id } = await add();
    await cookieOf();
    const before = await world.store.getPerson({ id });
    const [session] = await world.store.listSessions({ personId: id, limit: 1 });
    if (before === null || session === undefined) throw new Error('nobody has signed in');
    await world.at.people.setPassword(id, 'set by an operator');
    const late = world.at.people.changePassword(before, 'chosen by a thief', session.id);
    await expect(late).rejects.toMatchObject({ problems: [{ name: 'session-ended' }] });
    expect((await signIn(ADA, 'set by an operator')).status).toBe(200);
  });

  it('ends when an operator changes its person', async () => {
    await add();
    const admin = await cookieOf();
    const bob = await add('bob@example.com');
    const path = `/people/${bob.id}`;
    const changes: [string, string, object?][] = [
      ['PATCH', path, { Role: 'viewer', Domains: ['*'] }],
      ['PATCH', path, { Disabled: false }],
      ['PUT', `${path}/password`, { Password: PASSWORD }],
      ['PATCH', path, { Disabled: true }],
    ];
    for (const [method, where, body] of changes) {
      const cookie = await cookieOf('bob@example.com');
      expect((await ask(method, where, { cookie: admin, body: body ?? {} })).status).toBe(200);
      expect(await statusOf(cookie), JSON.stringify(body)).toBe(401);
    }
    expect((await signIn('bob@example.com')).status).toBe(401);
    expect((await ask('DELETE', path, { cookie: admin })).status).toBe(200);
    expect((await ask('GET', path, { cookie: admin })).status).toBe(404);
  });

  it('is no token’s: who has none cannot end one or change a password', async () => {
    const body = { Password: PASSWORD, NewPassword: 'a longer and better one' };
    for (const [method, path] of [
      ['DELETE', '/session'],
      ['GET', '/session/all'],
      ['PUT', '/session/password'],
    ] as const) {
      const reply = await world.call(method, path, {
        token: world.tokens.admin,
        ...(method === 'PUT' ? { body, headers: { 'content-type': 'application/json' } } : {}),
      });
      expect(codesOf(reply), path).toEqual([2203]);
    }
    const me = await world.call('GET', '/session', { token: world.tokens.admin });
    expect(me.json()).toMatchObject({ Person: null, SessionID: null, Domains: ['*'] });
  });
});

describe('what outlives a session', () => {
  const make = (cookie: string) =>
    ask('POST', '/tokens', { cookie, body: { Name: 'n', Domains: ['*'], Preset: 'Admin' } });
  const prove = (cookie: string, Password: string, more: object = {}) =>
    ask('POST', '/session/proof', { cookie, body: { Password, ...more } });

  it('is made within ten minutes of the sign-in, and later after the password was proved again', async () => {
    await add();
    const [cookie, other] = [await cookieOf(), await cookieOf()];
    clock.advance(10 * MINUTE - 1);
    expect((await make(cookie)).status).toBe(201);
    clock.advance(1);
    expect(codesOf(await make(cookie))).toEqual([2215]);
    expect(codesOf(await prove(cookie, 'wrong'))).toEqual([2208]);
    expect(codesOf(await make(cookie))).toEqual([2215]);
    const proven = await prove(cookie, PASSWORD);
    const ProvenUntil = new Date(clock.now() + 10 * MINUTE).toISOString();
    expect([proven.status, proven.json()]).toEqual([200, { ProvenUntil }]);
    expect((await ask('GET', '/session', { cookie })).json()).toMatchObject({ ProvenUntil });
    expect((await make(cookie)).status).toBe(201);
    // Of the same person, but not the one that proved it.
    expect(codesOf(await make(other))).toEqual([2215]);
  });

  it('is every token, SMTP credential, webhook and person, and nothing that a session shows or undoes', async () => {
    await add();
    const cookie = await cookieOf();
    const hook = { Event: 'bounce', WebhookURL: 'http://127.0.0.1:1/', Domain: 'example.com' };
    const added = await ask('POST', '/webhooks', { cookie, body: hook });
    const webhook = `/webhooks/${added.json().NewWebhookID}`;
    clock.advance(10 * MINUTE);
    const asked: [method: string, path: string][] = [
      ['POST', '/tokens'],
      ['POST', '/tokens/none/rotate'],
      ['POST', '/smtp-credentials'],
      ['POST', '/webhooks'],
      ['POST', `${webhook}/secret`],
      ['POST', '/people'],
      ['PATCH', '/people/none'],
      ['DELETE', '/people/none'],
      ['PUT', '/people/none/password'],
      ['DELETE', '/people/none/totp'],
      ['DELETE', '/people/none/identity'],
    ];
    for (const [method, path] of asked) {
      const body = method === 'DELETE' ? {} : { body: {} };
      expect(codesOf(await ask(method, path, { cookie, ...body })), `${method} ${path}`).toEqual([2215]);
    }
    const patched = async (body: object) => codesOf(await ask('PATCH', webhook, { cookie, body }));
    expect(await patched({ WebhookURL: 'http://127.0.0.1:2/' })).toEqual([2215]);
    expect(await patched({ Events: ['all'] })).toEqual([2215]);
    const off = await ask('PATCH', webhook, { cookie, body: { Status: 'Disabled', Description: 'x' } });
    expect(off.json()).toMatchObject({ Status: 'Disabled', WebhookURL: hook.WebhookURL });
    const made = await world.call('POST', '/tokens', {
      token: world.tokens.admin,
      headers: { 'content-type': 'application/json' },
      body: { Name: 'n', Domains: ['example.com'] },
    });
    const token = made.json().TokenID;
    expect((await ask('DELETE', `/tokens/${token}`, { cookie })).status).toBe(200);
    expect((await ask('GET', '/people', { cookie })).status).toBe(200);
  });

  it('asks for a code of who has a second factor, each once', async () => {
    await add();
    const cookie = await cookieOf();
    const secret = new Uint8Array(20).fill(5);
    const code = (by = 0) => hotp(secret, totpStep(clock.now()) + by);
    const on = { Password: PASSWORD, Secret: base32(secret), Code: code() };
    expect((await ask('PUT', '/session/totp', { cookie, body: on })).status).toBe(200);
    clock.advance(10 * MINUTE);
    // 401 would mean that the session has ended.
    expect(codesOf(await prove(cookie, PASSWORD))).toEqual([422]);
    expect(codesOf(await prove(cookie, PASSWORD, { Code: '000000' }))).toEqual([2210]);
    expect((await prove(cookie, PASSWORD, { Code: code() })).status).toBe(200);
    expect(codesOf(await prove(cookie, PASSWORD, { Code: code() }))).toEqual([2210]);
  });

  it('is not made with rights that were taken while the request was under way', async () => {
    const { id } = await add();
    await cookieOf();
    const [session] = await world.store.listSessions({ personId: id, limit: 1 });
    if (session === undefined) throw new Error('nobody has signed in');
    const by = { inSession: session.id };
    await world.at.people.change(id, { role: 'viewer', domains: ['*'] });
    const late = [
      () => world.at.people.add({ email: 'late@example.com', password: PASSWORD, role: 'operator', ...by }),
      () => world.at.people.change(id, { role: 'operator' }, session.id),
    ];
    for (const each of late)
      await expect(each()).rejects.toMatchObject({ problems: [{ name: 'session-ended' }] });
    expect((await world.store.getPerson({ id }))?.role).toBe('viewer');
  });
});

describe('a second factor', () => {
  const SECRET = new Uint8Array(20).fill(5);
  const code = (by = 0) => hotp(SECRET, totpStep(clock.now()) + by);
  const withCode = (Code?: string, Password = PASSWORD) =>
    ask('POST', '/session', { body: { Email: ADA, Password, ...(Code === undefined ? {} : { Code }) } });
  const on = (cookie: string, body: object = {}) => {
    const right = { Password: PASSWORD, Secret: base32(SECRET), Code: code() };
    return ask('PUT', '/session/totp', { cookie, body: { ...right, ...body } });
  };

  async function switchedOn(): Promise<{ cookie: string; recoveryCodes: string[] }> {
    await add();
    const cookie = await cookieOf();
    const reply = await on(cookie);
    expect(reply.status, reply.text).toBe(200);
    return { cookie, recoveryCodes: reply.json().RecoveryCodes as string[] };
  }

  it('is on after the password and a right code, and ends the other sessions', async () => {
    await add();
    const [cookie, other] = [await cookieOf(), await cookieOf()];
    const made = (await ask('POST', '/session/totp', { cookie })).json();
    expect(made.Secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(made.URI).toBe(
      `otpauth://totp/postrider:ada%40example.com?secret=${made.Secret}&issuer=postrider`,
    );
    expect(codesOf(await on(cookie, { Password: 'wrong' }))).toEqual([2208]);
    expect(codesOf(await on(cookie, { Code: code(2) }))).toEqual([2210]);
    expect(codesOf(await on(cookie, { Secret: 'ABC' }))).toEqual([2210]);
    expect(await statusOf(other)).toBe(200);
    const reply = await on(cookie);
    expect(new Set(reply.json().RecoveryCodes as string[]).size).toBe(10);
    expect([await statusOf(cookie), await statusOf(other)]).toEqual([200, 401]);
    expect((await ask('GET', '/session', { cookie })).json()).toMatchObject({
      Person: { SecondFactor: true },
    });
    expect(codesOf(await on(cookie))).toEqual([422]);
    const stored = JSON.stringify(await world.store.getPerson({ email: ADA }));
    for (const text of reply.json().RecoveryCodes as string[]) expect(stored).not.toContain(text);
  });

  it('is asked for after the right password only, and each code counts once', async () => {
    await switchedOn();
    expect(codesOf(await withCode())).toEqual([2209]);
    for (const given of [undefined, code(1)]) expect(codesOf(await withCode(given, 'wrong'))).toEqual([2201]);
    // The code that switched it on.
    expect(codesOf(await withCode(code()))).toEqual([2210]);
    clock.advance(MINUTE);
    expect((await withCode(code())).status).toBe(200);
    expect(codesOf(await withCode(code()))).toEqual([2210]);
    const both = await Promise.all([withCode(code(1)), withCode(code(1))]);
    expect(both.map(({ status }) => status === 200).sort()).toEqual([false, true]);
  });

  it('can be a recovery code, each once, also without the dashes', async () => {
    const { recoveryCodes } = await switchedOn();
    const [first = '', second = ''] = recoveryCodes;
    expect(first).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    expect((await withCode(first)).status).toBe(200);
    expect(codesOf(await withCode(first))).toEqual([2210]);
    expect((await withCode(second.replaceAll('-', '').toLowerCase())).status).toBe(200);
  });

  it('is guessed five times an hour at most, from wherever', async () => {
    await switchedOn();
    for (let i = 0; i < 5; i += 1) expect(codesOf(await withCode('000000'))).toEqual([2210]);
    await withCode('000000');
    clock.advance(16 * MINUTE);
    const paused = await withCode(code());
    expect([paused.status, codesOf(paused)]).toEqual([429, [429]]);
    clock.advance(45 * MINUTE);
    expect((await withCode(code())).status).toBe(200);
  });

  it('goes by the password and a code, or by an operator, who cannot reset the own one', async () => {
    const { cookie } = await switchedOn();
    clock.advance(MINUTE);
    const off = (Password: string, Code: string) =>
      ask('POST', '/session/totp/off', { cookie, body: { Password, Code } });
    expect(codesOf(await off('wrong', code()))).toEqual([2208]);
    expect(codesOf(await off(PASSWORD, '000000'))).toEqual([2210]);
    const { id } = (await world.store.getPerson({ email: ADA })) ?? { id: '' };
    expect((await ask('DELETE', `/people/${id}/totp`, { cookie })).status).toBe(422);
    expect((await off(PASSWORD, code())).status).toBe(200);
    expect((await on(cookie)).status).toBe(200);
    await add('bob@example.com');
    const bob = await cookieOf('bob@example.com');
    const reset = await ask('DELETE', `/people/${id}/totp`, { cookie: bob });
    expect(reset.json()).toMatchObject({ Email: ADA, SecondFactor: false });
    expect(await statusOf(cookie)).toBe(401);
    expect((await signIn()).status).toBe(200);
  });
});

describe('guessing', () => {
  /** The cookie by which a browser is known. */
  const markOf = (reply: Reply): string =>
    [reply.headers['set-cookie']]
      .flat()
      .map((set) => set?.split(';')[0] ?? '')
      .find((pair) => pair.startsWith('postrider-device=')) ?? '';

  it('from an office keeps nobody out who signs in there every day, and is slowed down with that browser, too', async () => {
    await add();
    const cookie = markOf(await signIn());
    for (let i = 0; i < 11; i += 1) await signIn(`n${i}@example.com`, 'wrong');
    expect((await signIn()).status).toBe(429);
    expect((await signIn(ADA, PASSWORD, { cookie })).status).toBe(200);
    // What somebody else made up is no such mark.
    const forged = cookie.replace(/=.{22}/, `=${'A'.repeat(22)}`);
    expect((await signIn(ADA, PASSWORD, { cookie: forged })).status).toBe(429);
    for (let i = 0; i < 10; i += 1) expect((await signIn(ADA, 'wrong', { cookie })).status).toBe(401);
    const paused = await signIn(ADA, 'wrong', { cookie });
    expect([paused.status, paused.headers['retry-after']]).toEqual([429, '900']);
    clock.advance(5 * MINUTE);
    expect([(await signIn(ADA, PASSWORD, { cookie })).status, (await signIn()).status]).toEqual([429, 200]);
  });

  it('is slowed down for an address, also with the right password', async () => {
    await add();
    for (let i = 0; i < 10; i += 1) expect((await signIn(`n${i}@example.com`, 'wrong')).status).toBe(401);
    const paused = await signIn('other@example.com', 'wrong');
    expect([paused.status, paused.headers['retry-after']]).toEqual([429, '300']);
    expect((await signIn()).status).toBe(429);
    clock.advance(5 * MINUTE);
    expect((await signIn()).status).toBe(200);
  });

  it('is slowed down for an account, whether it exists or not, but not for a browser that was signed in with', async () => {
    await world.close();
    world = await openWorld({ clock, options: { trustedProxies: ['127.0.0.1/32'] } });
    const { host } = new URL(world.at.url);
    own = { host, origin: `http://${host}`, 'x-postrider-dashboard': '1' };
    const { id } = await add();
    const from = (ip: string) => ({ 'x-forwarded-for': ip });
    const mark = markOf(await signIn());
    for (const email of [ADA, 'nobody@example.com']) {
      for (let i = 0; i < 11; i += 1) {
        expect((await signIn(email, 'wrong', from(`192.0.2.${i}`))).status).toBe(401);
      }
      expect((await signIn(email, 'wrong', from('192.0.2.100'))).status).toBe(429);
    }
    const paused = await signIn(ADA, PASSWORD, from('192.0.2.101'));
    expect([paused.status, paused.text]).toEqual([429, expect.stringMatching(/signed in before.*in 15 min/)]);
    const known = { ...from('192.0.2.0'), cookie: mark };
    expect((await signIn(ADA, PASSWORD, known)).status).toBe(200);
    expect((await signIn('nobody@example.com', 'wrong', known)).status).toBe(429);
    const password = 'a new one of the operator';
    await world.call('PUT', `/people/${id}/password`, {
      body: { Password: password },
      token: world.tokens.admin,
    });
    expect((await signIn(ADA, password, from('192.0.2.101'))).status).toBe(200);
    clock.advance(15 * MINUTE);
    expect((await signIn('nobody@example.com', 'wrong', from('192.0.2.101'))).status).toBe(401);
  });
});
