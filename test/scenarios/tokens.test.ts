/** Tokens: made and revoked by the command line beside a running server, and what each kind may do. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { command } from './commands.ts';
import {
  addDomain,
  email,
  fileScope,
  type Instance,
  makeToken,
  request,
  startInstance,
  until,
} from './harness.ts';

const scope = fileScope();
let server: Instance;

beforeAll(async () => {
  server = await startInstance(scope);
  await addDomain(server, 'example.com');
});

const statusWith = async (token: string, method: string, path: string, body?: unknown) =>
  (await server.call(method, path, { token, ...(body === undefined ? {} : { body }) })).status;

describe('postrider token, beside a running server', () => {
  it('prints the token alone on standard output; list shows it without its text; revoke ends it', async () => {
    const made = await command(['token', 'create', '--domain', 'example.com', '--data', server.folder]);
    expect(made.code).toBe(0);
    const jwt = made.stdout.trim();
    expect(made.stdout).toBe(`${jwt}\n`);
    expect(jwt).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const id = decodeJwt(jwt).jti ?? '';
    expect(made.stderr).toContain(id);
    expect(await statusWith(jwt, 'POST', '/email', email())).toBe(200);

    const list = await command(['token', 'list', '--data', server.folder, '--json']);
    expect(JSON.parse(list.stdout).map(({ TokenID }: { TokenID: string }) => TokenID)).toContain(id);
    expect(list.stdout).not.toContain(jwt.slice(-20));

    const narrow = await command([
      ...['token', 'create', '--domain', 'example.com', '--preset', 'Send', '--name', 'narrow', '--sandbox'],
      ...['--allow-ip', '192.0.2.0/24', '--rate-limit', '5', '--data', server.folder],
    ]);
    expect(narrow.code).toBe(0);
    const table = await command(['token', 'list', '--data', server.folder]);
    expect(table.stdout).toMatch(
      / narrow +example\.com +Send, sandbox, 5\/s, from 192\.0\.2\.0\/24 .* admin$/m,
    );
    expect(table.stdout).toMatch(
      new RegExp(`^${id} +cli: example\\.com +example\\.com +Default .* admin$`, 'm'),
    );

    const login = await command([
      ...[
        'smtp',
        'create',
        '--domain',
        'example.com',
        '--name',
        'shop',
        '--sandbox',
        '--data',
        server.folder,
      ],
    ]);
    expect(login.code).toBe(0);
    const logins = await command(['smtp', 'list', '--data', server.folder]);
    expect(logins.stdout).toMatch(/ example\.com +shop +sandbox .* admin$/m);

    const revoked = await command(['token', 'revoke', id, '--data', server.folder]);
    expect(revoked.code).toBe(0);
    await until('the revocation shows', async () => (await statusWith(jwt, 'GET', '/me')) === 401, 5_000);
    const answer = await server.call('GET', '/me', { token: jwt });
    expect(answer.json.Errors[0].Code).toBe(13);
  });

  it('refuses wrong usage with exit code 2, and a preset that does not exist', async () => {
    expect((await command(['token', 'create', '--data', server.folder])).code).toBe(2);
    const wrong = await command([
      ...['token', 'create', '--domain', 'example.com'],
      ...['--preset', 'Everything', '--data', server.folder],
    ]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('Use one of Default, Send, Full, Admin.');
    const body = { Name: 'n', Domains: ['example.com'], Preset: 'Everything' };
    const asked = await server.call('POST', '/tokens', { body });
    expect([asked.status, asked.json.Errors[0].Message]).toEqual([
      422,
      'Preset is one of Default, Send, Full, Admin',
    ]);
  });
});

describe('presets and scopes', () => {
  it('Default does both specified operations and the webhooks, but no administration', async () => {
    const token = await makeToken(server, { Domains: ['example.com'] });
    expect(await statusWith(token, 'POST', '/email', email())).toBe(200);
    expect(await statusWith(token, 'GET', '/webhooks')).toBe(200);
    expect(await statusWith(token, 'GET', '/events')).toBe(200);
    expect(await statusWith(token, 'GET', '/domains')).toBe(403);
    expect(await statusWith(token, 'GET', '/tokens')).toBe(403);
  });

  it('Send only sends, and is told which scope is missing', async () => {
    const token = await makeToken(server, { Domains: ['example.com'], Preset: 'Send' });
    expect(await statusWith(token, 'POST', '/email', email())).toBe(200);
    const answer = await server.call('GET', '/events', { token });
    expect([answer.status, answer.json.Errors[0].Code]).toEqual([403, 34]);
    expect(answer.headers.get('www-authenticate')).toContain(
      'error="insufficient_scope", scope="events:read"',
    );
  });

  it('Full manages its own domains and makes tokens no stronger than itself', async () => {
    const token = await makeToken(server, { Domains: ['example.com'], Preset: 'Full' });
    expect(await statusWith(token, 'GET', '/domains')).toBe(200);
    expect(await statusWith(token, 'POST', '/tokens', { Name: 'n', Domains: ['example.com'] })).toBe(201);
    expect(await statusWith(token, 'POST', '/tokens', { Name: 'n', Domains: ['other.example'] })).toBe(403);
    expect(await statusWith(token, 'POST', '/tokens', { Name: 'n', Preset: 'Admin' })).toBe(403);
    expect(await statusWith(token, 'POST', '/domains', { Domain: 'example.com', Verified: true })).toBe(403);
  });

  it('GET /me says what a token is', async () => {
    const token = await makeToken(server, {
      Domains: ['example.com'],
      Preset: 'Send',
      Sandbox: true,
      RateLimit: 5,
    });
    const { json } = await server.call('GET', '/me', { token });
    expect(json).toMatchObject({
      Domains: [{ Domain: 'example.com', Status: 'Verified' }],
      Scopes: ['email:send'],
      Sandbox: true,
      ...{ Mode: 'serve', AnyDomain: false, Command: null, DataFolder: null },
      Operations: [],
      Submission: [],
      Limits: { RecipientsPerMessage: 50, SendsPerSecond: 5 },
    });
  });

  it('GET /me tells administrators where the data is and how a command begins', async () => {
    const { DataFolder, Command } = (await server.call('GET', '/me')).json;
    expect(Command).toBe(`postrider --data ${DataFolder}`);
    const token = (await readFile(join(DataFolder, 'admin-token'), 'utf8')).trim();
    expect(token).toBe(server.server.adminToken);
  });

  it('GET /me says where programs submit mail, encrypted ports first', async () => {
    const settings = {
      submission: '127.0.0.1:0',
      'submission-tls': '0.0.0.0:0',
      hostname: 'mail.example.com',
    };
    const own = await startInstance(scope, { settings });
    const { plain, tls } = own.server.submission;
    expect((await own.call('GET', '/me')).json.Submission).toEqual([
      { Host: 'mail.example.com', Port: tls?.port, Security: 'TLS' },
      { Host: '127.0.0.1', Port: plain?.port, Security: 'StartTLS' },
    ]);
  });
});

describe('the token itself', () => {
  it('is a JWT that the published keys verify', async () => {
    const token = await makeToken(server, { Domains: ['example.com'], ExpiresIn: 3600 });
    const keys = createRemoteJWKSet(new URL(`${server.server.localUrl}/.well-known/jwks.json`));
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms: ['EdDSA'],
      typ: 'at+jwt',
    });
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload.iss).toMatch(/^urn:postrider:[0-9a-f-]{36}$/);
    expect(payload.aud).toBe(payload.iss);
    expect(payload).toMatchObject({ dom: ['example.com'], scope: expect.stringContaining('email:send') });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
    const jwks = await request('GET', `${server.server.localUrl}/.well-known/jwks.json`);
    expect(jwks.text).not.toContain('"d"');
  });

  it('never expires only when asked to, and lives ten years at most', async () => {
    const forever = await makeToken(server, { Domains: ['example.com'], ExpiresIn: 'never' });
    expect(decodeJwt(forever).exp).toBeUndefined();
    for (const ExpiresIn of [59, 400_000_000, 1.5, 'long']) {
      const body = { Name: 'n', Domains: ['example.com'], ExpiresIn };
      expect((await server.call('POST', '/tokens', { body })).status).toBe(422);
    }
    const body = { Name: 'n', Domains: ['example.com'], ExpiresIn: '1h' };
    const { Errors } = (await server.call('POST', '/tokens', { body })).json;
    expect(Errors[0].Message).toBe('ExpiresIn must be a number of seconds, or "never"');
  });

  it('is worth nothing when it is altered, unsigned, or signed for another instance', async () => {
    const token = await makeToken(server, { Domains: ['example.com'] });
    const [head = '', body = '', signature = ''] = token.split('.');
    const none = Buffer.from(JSON.stringify({ ...decodeProtectedHeader(token), alg: 'none' })).toString(
      'base64url',
    );
    const claims = Buffer.from(JSON.stringify({ ...decodeJwt(token), dom: ['*'], scope: 'admin' })).toString(
      'base64url',
    );
    // At the front: in some signatures the last characters are the ones that would be put there.
    const altered = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
    const other = await startInstance(scope);
    const foreign = await addDomain(other, 'example.com');
    for (const bad of [
      `${none}.${body}.`,
      `${head}.${claims}.${signature}`,
      `${head}.${body}.${altered(signature)}`,
      foreign,
    ]) {
      const answer = await server.call('GET', '/me', { token: bad });
      expect([answer.status, answer.json.Errors[0].Code]).toEqual([401, 13]);
    }
  });

  it('is usable only from its addresses', async () => {
    const here = await makeToken(server, { Domains: ['example.com'], IPAllowList: ['127.0.0.0/8'] });
    const elsewhere = await makeToken(server, { Domains: ['example.com'], IPAllowList: ['192.0.2.7'] });
    expect(await statusWith(here, 'GET', '/me')).toBe(200);
    const answer = await server.call('GET', '/me', { token: elsewhere });
    expect([answer.status, answer.json.Errors[0].Code]).toEqual([403, 35]);
    const spoofed = await server.call('GET', '/me', {
      token: elsewhere,
      headers: { 'x-forwarded-for': '192.0.2.7' },
    });
    expect(spoofed.status).toBe(403);
  });

  it('sends no faster than its limit or the one of the instance, and says how fast that is', async () => {
    const slow = await makeToken(server, { Domains: ['example.com'], RateLimit: 1 });
    const answers = [];
    for (let i = 0; i < 4; i++)
      answers.push(await server.call('POST', '/email', { token: slow, body: email() }));
    expect(answers[0]?.headers.get('ratelimit-policy')).toMatch(/^"send";q=2;w=2$/);
    expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeLessThanOrEqual(
      3,
    );
    const refused = answers.at(-1);
    expect([refused?.status, refused?.json.Errors[0].Code]).toEqual([429, 429]);
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/);

    const limited = await startInstance(scope, { settings: { 'rate-limit': '0.5' } });
    const token = await addDomain(limited, 'example.com');
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await limited.call('POST', '/email', { token, body: email() })).status);
    expect(statuses).toContain(429);
  });
});

describe('a sandbox token', () => {
  it('keeps everything in the sandbox, even where the server sends through a relay', async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const relaying = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${sink.port}` } });
    const real = await addDomain(relaying, 'example.com');
    const safe = await makeToken(relaying, { Domains: ['example.com'], Preset: 'Full', Sandbox: true });
    const captured = await relaying.send({ Subject: 'stays' }, { token: safe });
    const facts = await relaying.settled(captured);
    expect(facts.Recipients[0]).toMatchObject({ Status: 'Delivered', Route: 'sandbox' });
    expect(sink.counts.connections).toBe(0);
    const minted = await relaying.call('POST', '/tokens', {
      token: safe,
      body: { Name: 'n', Sandbox: false },
    });
    expect(minted.status).toBe(403);
    const sent = await relaying.send({ Subject: 'leaves' }, { token: real });
    expect((await relaying.settled(sent)).Recipients[0]).toMatchObject({ Route: 'relay' });
    expect(sink.messages).toHaveLength(1);
  });
});
