/**
 * The contract: every operation of the document that the server hands out is called, once well and with faults, and every
 * answer is held against the document by an independent judge: status, media type, body, names of errors. An operation
 * that is never called fails; so does one that shows something of one tenant to another.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base32, hotp, TOTP_SECRET_BYTES, totpStep } from '../../src/lib/totp.ts';
import { NOT_AUDITED } from '../../src/listeners/http/audit.ts';
import { openWorld, type World } from '../../src/listeners/http/test-world.ts';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startIdentityProvider } from '../fakes/identity-provider.ts';
import { judge, lookUp } from '../fakes/json-schema.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import {
  type Answer,
  addDomain,
  email,
  fileScope,
  type Instance,
  makeToken,
  request,
  startInstance,
  until,
} from './harness.ts';
import { startSigningIn } from './signing-in.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

interface Operation {
  id: string;
  method: string;
  path: string;
  /** Below which address it is. */
  root: boolean;
  open: boolean;
  parameters: { name: string; in: string; example?: unknown; schema: { type?: string } }[];
  example: Record<string, unknown> | undefined;
  responses: Record<string, Response>;
}

interface Response {
  content?: Record<string, { schema: object; 'x-event-data'?: string }>;
  'x-problems'?: string[];
}

/** What a good call needs beside what the document says. */
interface Call {
  params?: Record<string, string | number>;
  query?: string;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  at?: { url: string; token: string };
  /** In place of a token: the session of a person. */
  cookie?: string;
}

const scope = fileScope();
const called = new Map<string, Set<string>>();
let server: Instance;
let relaying: Instance;
let world: World;
// biome-ignore lint/suspicious/noExplicitAny: the document is looked at as a reader without types does
let document: any;
let operations: Operation[] = [];
let receiver: Receiver;
let stranger: string;
let good: Record<string, Call>;

beforeAll(async () => {
  const dns = await createFakeDns();
  scope.defer(() => dns.close());
  const settings = { 'allow-networks': '127.0.0.0/8', dns: dns.text };
  server = await startInstance(scope, { settings });
  document = (await request('GET', `${server.server.localUrl}/api/v1/openapi.json`)).json;
  operations = readOperations();
  const own = await addDomain(server, 'example.com', { Preset: 'Full' });
  stranger = await addDomain(server, 'other.example', { Preset: 'Full' });
  receiver = await startReceiver(scope);

  // Something of every kind, by the owner.
  const make = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { body, token: own });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  const webhook = (await make('/webhooks', { Event: 'all', WebhookURL: `${receiver.url}/hook` }))
    .NewWebhookID;
  const file = { Content: 'aGVsbG8=', Type: 'text/plain', Filename: 'a.txt', Disposition: 'attachment' };
  const sent = await server.send({ Attachments: [file], Tags: ['a'] }, { token: own });
  await server.settled(sent);
  const failed = await server.send({ Sandbox: { Result: 'Fail' } }, { token: own });
  await server.settled(failed);
  const later = { SendAt: new Date(Date.now() + 7_200_000).toISOString() };
  const scheduled = await server.send(later, { token: own });
  const canceled = await server.send(later, { token: own });
  const captures = (await server.call('GET', `/sandbox/messages?To=reader@example.net`)).json.Items;
  const capture = captures.find(({ MessageID }: { MessageID: string }) => MessageID === sent).ID;
  const texts = { Subject: 'Hello {{name}}', PlainContent: 'Hello {{name}}' };
  const template = (await make('/templates', { Name: 'first', ...texts })).TemplateID;
  const token = (await make('/tokens', { Name: 'n', Preset: 'Send' })).TokenID;
  const rotated = (await make('/tokens', { Name: 'r', Preset: 'Send' })).TokenID;
  const credential = (await make('/smtp-credentials', { Name: 'n' })).CredentialID;
  await make('/suppressions', { Items: [{ Email: 'gone@example.net' }] });
  const simulated = { Domain: 'example.com', Recipient: 'nobody@example.net', Result: 'Defer' };
  const rule = (await make('/sandbox/rules', simulated)).RuleID;
  await receiver.next('a call', ({ json }) => json.type === 'email.delivered');
  for (const { Host, Value, Type } of (await server.call('GET', '/domains/example.com')).json.DnsRecords) {
    if (Type === 'TXT') for (const name of [Host, `${Host}.example.com`]) dns.set(name, { TXT: [Value] });
  }
  await server.call('POST', '/domains', { body: { Domain: 'leaving.example', Verified: true } });

  // What only real refusals of others bring about.
  const refused = '550 5.7.26 The DMARC check of example.com failed';
  const far = await startScriptedMx({ dot: [refused, refused, refused, '250 2.0.0 taken'] });
  scope.defer(() => far.close());
  relaying = await startInstance(scope, {
    settings: { route: `smtp://127.0.0.1:${far.port}`, retry: '200ms' },
  });
  const sender = await addDomain(relaying, 'example.com');
  for (const name of ['ada', 'grace', 'edsger']) {
    await relaying.settled(await relaying.send({ To: [{ email: `${name}@far.test` }] }, { token: sender }));
  }
  const cause = await until('there is a cause', async () => {
    const { Items } = (await relaying.call('GET', '/causes')).json;
    return Items[0]?.CauseID;
  });
  const atRelaying = { url: relaying.server.localUrl, token: relaying.token };
  await relaying.settled(await relaying.send({ Sandbox: true }, { token: sender }));
  const [{ ID: releasable }] = (await relaying.call('GET', '/sandbox/messages')).json.Items;
  // And an override, which a test may simply note.
  world = await openWorld();
  afterAll(() => world.close());
  world.overrides.note({
    scope: 'path',
    key: '>google',
    param: 'messagesPerSecond',
    value: 0.5,
    until: world.clock.now() + 3_600_000,
    rule: 'G01',
    why: '421 4.7.28 too much mail',
  });
  const atWorld = { url: world.at.url, token: world.tokens.admin };
  const [override] = (await request('GET', `${atWorld.url}/api/v1/overrides`, atWorld)).json.Items;

  const page = { origin: server.server.localUrl, 'x-postrider-dashboard': '1' };
  const ada = { Email: 'ada@example.org', Password: 'correct horse battery' };
  const bob = { ...ada, Email: 'bob@example.org' };
  const cia = { ...ada, Email: 'cia@example.org' };
  const dan = { ...ada, Email: 'dan@example.org' };
  const secret = new Uint8Array(TOTP_SECRET_BYTES);
  // The last two are changed by operations, which ends the sessions.
  const fay = { ...ada, Email: 'fay@example.org' };
  for (const one of [ada, bob, cia, dan, fay, { ...ada, Email: 'eve@example.org' }]) {
    await server.call('POST', '/people', { body: { ...one, Role: 'operator' } });
  }
  const cookieOf = async (body: object) => {
    const answer = await server.call('POST', '/session', { body, headers: page, token: null });
    return answer.headers.getSetCookie().join().split(';')[0] ?? '';
  };
  const cookie = await cookieOf(ada);
  const cookieOfDan = await cookieOf(dan);
  const other = { headers: { cookie: await cookieOf(ada) }, token: null };
  const ended = (await server.call('GET', '/session', other)).json.SessionID;
  const [{ PersonID: person }, { PersonID: reset }] = (await server.call('GET', '/people')).json.Items;

  // Where people sign in by an identity provider, and a browser that has come back from there.
  const provider = await startIdentityProvider();
  scope.defer(() => provider.close());
  const signing = await startSigningIn(scope, provider.issuer);
  const atSigning = { url: signing.server.localUrl, token: signing.token };
  const signingPage = { ...page, origin: atSigning.url };
  await signing.call('POST', '/people', { body: { Email: provider.claims.email, Role: 'operator' } });
  const begun = await signing.call('POST', '/session/provider', { headers: signingPage, token: null });
  const pending = begun.headers.getSetCookie().join().split(';')[0] ?? '';

  const domain = 'Domain=example.com';
  good = {
    goToIdentityProvider: { at: atSigning, headers: signingPage },
    signInByProvider: {
      ...{ at: atSigning, headers: signingPage, cookie: pending },
      body: { Query: await provider.visit(begun.json.URL) },
    },
    signIn: { body: ada, headers: page },
    signOut: { cookie: await cookieOf(ada), headers: page },
    listSessions: { cookie },
    endSession: { cookie, headers: page, params: { id: ended } },
    changePassword: {
      cookie: await cookieOf(bob),
      headers: page,
      body: { Password: bob.Password, NewPassword: 'a longer and better one' },
    },
    proveSession: { cookie, headers: page, body: { Password: ada.Password } },
    makeTotpSecret: { cookie: cookieOfDan, headers: page },
    switchOnTotp: {
      cookie: await cookieOf(cia),
      headers: page,
      // A code counts for a minute.
      get body() {
        return { Password: cia.Password, Secret: base32(secret), Code: hotp(secret, totpStep(Date.now())) };
      },
    },
    switchOffTotp: {
      cookie: cookieOfDan,
      headers: page,
      body: { Password: dan.Password, Code: 'none' },
    },
    resetTotp: { params: { id: reset } },
    forgetIdentity: { params: { id: reset } },
    sendEmail: { headers: { 'idempotency-key': 'contract-1' } },
    createWebhook: { body: { Event: 'bounce', WebhookURL: `${receiver.url}/two`, Domain: 'example.com' } },
    createTemplate: { body: { Name: 'second', Domain: 'example.com', ...texts } },
    addSuppressions: { body: { Domain: 'example.com', Items: [{ Email: 'former@example.net' }] } },
    rescheduleEmail: {
      params: { id: scheduled },
      body: { SendAt: new Date(Date.now() + 8e6).toISOString() },
    },
    cancelEmail: { params: { id: canceled } },
    retryEmail: { params: { id: failed } },
    rotateToken: { params: { id: rotated } },
    rotateDkimKey: { params: { name: 'example.com' } },
    verifyDomain: { params: { name: 'other.example' } },
    deleteDomain: { params: { name: 'leaving.example' } },
    getSuppression: { params: { email: 'gone@example.net' }, query: domain },
    deleteSuppression: { params: { email: 'gone@example.net' }, query: domain },
    getCause: { params: { id: cause }, at: atRelaying },
    listCauses: { at: atRelaying },
    resendCause: { params: { id: cause }, at: atRelaying },
    listPaths: { at: atRelaying },
    getQueue: { at: atRelaying },
    getSite: { params: { site: 'far.test' }, at: atRelaying },
    tryPath: { params: { site: 'far.test' }, at: atRelaying },
    listOverrides: { at: atWorld },
    deleteOverride: { params: { id: override.OverrideID }, at: atWorld },
    releaseCapture: { params: { id: releasable }, at: atRelaying },
    deleteSandboxRules: { query: 'Domain=other.example' },
    createSandboxRule: { body: simulated },
    deleteSandboxRule: { params: { id: rule } },
    getEmailAttachment: { params: { id: sent, place: 0 } },
    getCaptureAttachment: { params: { id: capture, place: 0 } },
    streamEvents: { query: 'After=0' },
    streamCaptures: { query: 'After=0' },
    waitForCapture: { query: 'Timeout=5&To=reader@example.net' },
    deleteCaptures: { query: 'Inbox=nobody' },
    getStats: { query: 'Interval=hour&GroupBy=Tag&IncludeSandbox=true' },
    getProblem: { params: { name: 'subject-required' } },
  };
  const usual: Record<string, string | number> = {
    email: sent,
    webhooks: webhook,
    domains: 'example.com',
    templates: template,
    tokens: token,
    'smtp-credentials': credential,
    sandbox: capture,
    people: person,
  };
  for (const { id, path } of operations) {
    const [, first = '', given] = path.split('/');
    const name = /\{(\w+)\}/.exec(path)?.[1];
    if (name === undefined || good[id]?.params !== undefined || (given === undefined && first === ''))
      continue;
    const value = usual[first];
    if (value !== undefined) good[id] = { ...good[id], params: { [name]: value } };
  }
});

describe('the contract', () => {
  it('never shows one tenant what is another’s', async () => {
    const byId = operations.filter(({ path, open }) => path.includes('{') && !open);
    expect(byId.length).toBeGreaterThan(25);
    for (const operation of byId) {
      const { at: _, ...call } = good[operation.id] ?? {};
      if (operation.id === 'verifyDomain') call.params = { name: 'example.com' };
      const answer = await send(operation, call, { token: stranger });
      expect([403, 404], `${operation.id} answered ${answer.status}: ${answer.text}`).toContain(
        answer.status,
      );
    }
  });

  it('answers every operation as it says, where nothing is wrong', async () => {
    const order = ['GET', 'PATCH', 'PUT', 'POST', 'DELETE'];
    const sorted = [...operations].sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
    for (const operation of sorted) {
      const answer = await send(operation, good[operation.id] ?? {});
      expect(String(answer.status), `${operation.id}: ${answer.text}`).toMatch(/^2/);
    }
    const again = operations.find(({ id }) => id === 'sendEmail') as Operation;
    const replayed = await send(again, good.sendEmail ?? {});
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
  }, 60_000);

  it('keeps who changed what, for every operation that changes something', async () => {
    const kept = new Set<string>();
    for (let after = ''; ; ) {
      const page = (await server.call('GET', `/audit?Limit=100${after}`)).json;
      for (const { Operation } of page.Items) kept.add(Operation);
      if (!page.HasMore) break;
      after = `&After=${page.NextCursor}`;
    }
    const here = operations.filter(({ id, method }) => method !== 'GET' && good[id]?.at === undefined);
    const expected = here.filter(({ id }) => !NOT_AUDITED.has(id)).map(({ id }) => id);
    expect(expected.length).toBeGreaterThan(25);
    expect([...kept].sort()).toEqual(expected.sort());
    const all = operations.map(({ id }) => id);
    expect([...NOT_AUDITED].filter((id) => !all.includes(id))).toEqual([]);
  });

  it('refuses every operation as it says', async () => {
    const narrow = await makeToken(server, { Domains: ['other.example'], Scopes: ['smtp:write'] });
    for (const operation of operations) {
      if (operation.open) continue;
      const call = good[operation.id] ?? {};
      expect((await send(operation, call, { token: null })).status).toBe(401);
      if (call.at === undefined) {
        // GET /me and the credentials of its own domain are all that this token may ask for.
        const { status } = await send(operation, call, { token: narrow });
        const may = [
          'getMe',
          'getSession',
          'listSmtpCredentials',
          'createSmtpCredential',
          'deleteSmtpCredential',
        ];
        if (!may.includes(operation.id)) expect(status, operation.id).toBe(403);
      }
      const takesBody = operation.example !== undefined;
      if (takesBody) {
        expect((await send(operation, call, { raw: '{"a":' })).status, operation.id).toBeOneOf([400, 404]);
        const typed = { ...call, headers: { ...call.headers, 'content-type': 'text/plain' } };
        expect((await send(operation, typed)).status, operation.id).toBeOneOf([415, 404]);
      }
      if (operation.path.includes('{')) {
        const params = Object.fromEntries(
          operation.parameters
            .filter((one) => one.in === 'path')
            .map(({ name, schema }) => [
              name,
              schema.type === 'integer' ? 999_999 : 'nobody@nowhere.example',
            ]),
        );
        const answer = await send(operation, { ...call, params });
        expect(answer.status, operation.id).toBe(404);
      }
      for (const { name, schema } of operation.parameters.filter((one) => one.in === 'query')) {
        if (schema.type !== 'integer') continue;
        const answer = await send(operation, { ...call, query: `${name}=-1` });
        expect(answer.status, `${operation.id} ${name}`).toBeOneOf([422, 404]);
      }
    }
  }, 60_000);

  it('calls webhooks as it says', async () => {
    for (const kind of ['accepted', 'scheduled', 'delivered', 'failed', 'canceled', 'requeued']) {
      await receiver.next(`email.${kind}`, ({ json }) => json.type === `email.${kind}`);
    }
    for (const { json, headers } of receiver.calls) {
      const { parameters, requestBody } = document.webhooks[json.type].post;
      expect(judge(document, requestBody.content['application/json'].schema, json, { closed: true })).toEqual(
        [],
      );
      for (const { $ref } of parameters) {
        expect(headers).toHaveProperty((lookUp(document, $ref) as { name: string }).name);
      }
    }
  });

  it('names the errors of a message', async () => {
    const operation = operations.find(({ id }) => id === 'sendEmail') as Operation;
    for (const wrong of [
      { From: undefined },
      { To: [] },
      { Subject: 'a\nb' },
      { Attachments: [{}] },
      { TemplateID: 'x' },
    ]) {
      const answer = await send(operation, { body: email(wrong) });
      expect([422, 403]).toContain(answer.status);
    }
  });

  it('was called whole', () => {
    const missing = operations.filter(
      ({ id }) => ![...(called.get(id) ?? [])].some((status) => status.startsWith('2')),
    );
    expect(missing.map(({ id }) => id)).toEqual([]);
    const never = operations.filter(({ id, open }) => !open && !called.get(id)?.has('401'));
    expect(never.map(({ id }) => id)).toEqual([]);
  });
});

/** One call, its answer held against the document. */
async function send(
  operation: Operation,
  call: Call,
  given: { token?: string | null; raw?: string } = {},
): Promise<Answer> {
  const at = call.at ?? { url: server.server.localUrl, token: server.token };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.params?.[name] ?? operation.parameters.find((one) => one.name === name)?.example;
    return encodeURIComponent(String(value));
  });
  const url = `${at.url}${operation.root ? '' : '/api/v1'}${path}${call.query === undefined ? '' : `?${call.query}`}`;
  const body = given.raw ?? call.body ?? operation.example;
  const usual = operation.open || call.cookie !== undefined ? null : at.token;
  const token = given.token === undefined ? usual : given.token;
  const session = given.token === undefined && call.cookie !== undefined ? { cookie: call.cookie } : {};
  const answer = await (isStream(operation) ? firstEvent : request)(operation.method, url, {
    token,
    ...(body === undefined ? {} : { body }),
    headers: { ...call.headers, ...session },
  });
  hold(operation, answer);
  called.set(operation.id, new Set([...(called.get(operation.id) ?? []), String(answer.status)]));
  return answer;
}

function hold(operation: Operation, answer: Answer): void {
  const where = `${operation.id} ${answer.status}`;
  const given = operation.responses[String(answer.status)];
  expect(given, `${where} is not documented: ${answer.text}`).toBeDefined();
  const response = resolved(given);
  const [[media, content] = ['', undefined]] = Object.entries(response.content ?? {});
  const type = (answer.headers.get('content-type') ?? '').split(';')[0];
  if (media !== '*/*') expect(type, where).toBe(media);
  expect(answer.headers.get('x-request-id'), where).toMatch(/^[\w-]+$/);
  if (answer.status === 429 || answer.status === 503)
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  if (media === 'text/event-stream') {
    const data = /^data: (.*)$/m.exec(answer.text)?.[1];
    expect(
      judge(document, { $ref: content?.['x-event-data'] }, JSON.parse(data ?? 'null'), { closed: true }),
      where,
    ).toEqual([]);
  } else if (media.endsWith('json')) {
    expect(
      judge(document, content?.schema, answer.json, {
        closed: media !== 'application/json' || !operation.open,
      }),
      `${where}: ${answer.text.slice(0, 300)}`,
    ).toEqual([]);
  }
  for (const { Name } of media === 'application/problem+json' ? answer.json.Errors : []) {
    expect(response['x-problems'], where).toContain(Name);
  }
}

function resolved(part: Response | { $ref: string } | undefined): Response {
  return part !== undefined && '$ref' in part ? (lookUp(document, part.$ref) as Response) : (part ?? {});
}

function isStream({ responses }: Operation): boolean {
  return resolved(responses['200']).content?.['text/event-stream'] !== undefined;
}

/** As `request`, but a stream is left after its first event. */
async function firstEvent(method: string, url: string, options: { token?: string | null }): Promise<Answer> {
  const cancel = new AbortController();
  const response = await fetch(url, {
    method,
    headers: options.token == null ? {} : { authorization: `Bearer ${options.token}` },
    signal: cancel.signal,
  });
  if (!response.ok || response.body === null) {
    const bytes = Buffer.from(await response.arrayBuffer());
    return asAnswer(response, bytes);
  }
  let text = '';
  for await (const part of response.body) {
    text += Buffer.from(part).toString();
    if (/^data: .*\n\n/m.test(text)) break;
  }
  cancel.abort();
  return asAnswer(response, Buffer.from(text));
}

function asAnswer({ status, headers }: globalThis.Response, bytes: Buffer): Answer {
  const text = bytes.toString();
  return {
    status,
    headers,
    text,
    bytes,
    get json() {
      return JSON.parse(text);
    },
  };
}

function readOperations(): Operation[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return Object.entries<any>(document.paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries<any>(item)
      .filter(([method]) => method !== 'servers')
      .map(([method, operation]) => ({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        root: item.servers !== undefined,
        open: operation.security.length === 0,
        parameters: (operation.parameters ?? []).map((one: { $ref?: string }) =>
          one.$ref === undefined ? one : lookUp(document, one.$ref),
        ),
        example: operation.requestBody?.content['application/json'].example,
        responses: operation.responses,
      })),
  );
}
