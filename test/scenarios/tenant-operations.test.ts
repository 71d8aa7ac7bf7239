/**
 * Two tenants on one server, and every operation that the server has: the document it hands out is made from the route
 * table. What an operation is asked follows from the document where its path or its list says enough (`usual`), and is a
 * case below otherwise; an operation without either fails the test. Tried with an ordinary token of the other domain and
 * with one that may everything there (scope `admin`, one domain): what is somebody else's does not exist for either, and
 * what is about the whole server is refused to both.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  addDomain,
  type CallOptions,
  email,
  fileScope,
  type Instance,
  makeToken,
  startInstance,
} from './harness.ts';

/** How an operation tells tenants apart. */
type Case =
  /** By an id: somebody else's is none. `owner`: what the owner is answered, in the order of the table. */
  | {
      by: 'id';
      params: Record<string, string | number>;
      none?: string | number;
      body?: object;
      owner: number | number[];
    }
  /** A list of what is the caller's own, which `Domain` narrows; `unfiltered`: it takes none. */
  | { by: 'list'; query?: string; unfiltered?: true; body?: object }
  /** By what it asks for: a body for the other domain. */
  | { by: 'body'; body: object; status: number; code: number }
  /** Of the person who asks, by the session alone. */
  | { by: 'session'; params?: Record<string, string | number>; body?: object }
  /** An endless answer. */
  | { by: 'stream' }
  /** About the whole server: for tokens of all domains. */
  | { by: 'operator'; params?: Record<string, string | number>; body?: object; operator: number };

interface Operation {
  id: string;
  /** It says of itself that it is about the whole server. */
  allDomains: boolean;
  method: string;
  path: string;
  /** A list that `Domain` narrows. */
  takesDomain: boolean;
  endless: boolean;
  /** A good body; undefined = takes none. */
  example: object | undefined;
}

const scope = fileScope();
/** In everything that the other tenant has, and in nothing else. */
const MARK = /theirs/i;
/** What a person is answered who names a session of somebody else, or gives a wrong password. */
const OWN_STATUS: Readonly<Record<string, number>> = {
  ...{
    endSession: 404,
    proveSession: 200,
    changePassword: 200,
    makeTotpSecret: 200,
    switchOnTotp: 422,
    switchOffTotp: 422,
  },
};
const PASSWORD = 'correct horse battery';
const FROM = { From: { email: 'a@theirs.example' } };
let server: Instance;
let operations: Operation[];
let cases: Record<string, Case>;
let theirs: string;
/** Tokens and people that may do everything for a domain of their own. */
let strangers: { what: string; as: CallOptions }[];

beforeAll(async () => {
  server = await startInstance(scope);
  const mine = await addDomain(server, 'mine.example', { Preset: 'Full' });
  const all = await makeToken(server, { Domains: ['mine.example'], Preset: 'Admin' });
  strangers = [
    { what: 'Full', as: { token: mine } },
    { what: 'Admin of one domain', as: { token: all } },
    { what: 'Full member', as: await signedIn('member@mine.example') },
  ];
  theirs = await addDomain(server, 'theirs.example', { Preset: 'Full' });
  operations = await documented();
  const own = await everyCase();
  cases = Object.fromEntries(
    operations.flatMap((operation) => {
      const at = own[operation.id] ?? usual(operation);
      return at === undefined ? [] : [[operation.id, at]];
    }),
  );
  expect(Object.keys(own).filter((id) => cases[id] === undefined)).toEqual([]);
});

describe('the cases', () => {
  it('are those of the route table, all of it', () => {
    expect(operations.length).toBeGreaterThan(60);
    const missing = operations.filter(({ id }) => cases[id] === undefined);
    expect(
      missing.map(({ id }) => id),
      'say in `everyCase` how these are asked',
    ).toEqual([]);
  });
});

describe('an operation', () => {
  it('is for tokens of all domains unless it says that it keeps tenants apart', () => {
    for (const { id, allDomains } of operations) {
      expect([id, cases[id]?.by === 'operator']).toEqual([id, allDomains]);
    }
  });

  it('is refused to an administrator of one domain where it sets what the operator grants', async () => {
    const own = await makeToken(server, { Domains: ['granted.example'], Preset: 'Admin' });
    const ask = (method: string, path: string, body: object, token = own) =>
      server.call(method, path, { token, body });
    const Domain = 'granted.example';
    const Quota = { PerDay: 1_000_000 };
    expect((await ask('POST', '/domains', { Domain, Verified: true })).status).toBe(403);
    expect((await ask('POST', '/domains', { Domain, Quota })).status).toBe(403);
    expect((await ask('POST', '/domains', { Domain })).json.Status).not.toBe('Verified');
    expect((await ask('PATCH', `/domains/${Domain}`, { Quota })).status).toBe(403);
    expect((await ask('PATCH', `/domains/${Domain}`, { Quota }, server.token)).status).toBe(200);
  });
});

describe('a token of another domain', () => {
  it('finds nothing by an id of somebody else, in the words for an id that does not exist', async () => {
    for (const { operation, at } of of('id')) {
      const name = Object.keys(at.params)[0] ?? '';
      const nobody = { ...at.params, [name]: at.none ?? randomUUID() };
      for (const { what, as } of strangers) {
        const where = `${operation.id} as ${what}`;
        const answer = await ask(operation, as, at);
        expect([answer.status, answer.json.Errors[0].Code], `${where}: ${answer.text}`).toEqual([404, 404]);
        const none = await ask(operation, as, { ...at, params: nobody });
        expect(refusal(answer), where).toEqual(refusal(none));
        expect(answer.text.replaceAll(answer.json.instance ?? '\0', ''), where).not.toMatch(MARK);
      }
    }
  });

  it('sees nothing of somebody else in a list, and no domain but its own to narrow it by', async () => {
    for (const { operation, at } of of('list')) {
      for (const { what, as } of strangers) {
        const where = `${operation.id} as ${what}`;
        const answer = await ask(operation, as, at);
        expect(answer.status, `${where}: ${answer.text}`).toBeOneOf(
          // Only with the scope admin are queues looked at; nothing came that could be waited for.
          operation.id === 'getQueue' && what.startsWith('Full') ? [403] : [200, 408],
        );
        expect(answer.text, where).not.toMatch(MARK);
        if (at.unfiltered === true || answer.status === 403) continue;
        const narrowed = await ask(operation, as, { ...at, ...narrow(at) });
        expect([narrowed.status, narrowed.json.Errors[0].Code], `${where}: ${narrowed.text}`).toEqual([
          404, 404,
        ]);
      }
    }
  });

  it('does nothing in the name of the other domain', async () => {
    for (const { operation, at } of of('body')) {
      for (const { what, as } of strangers) {
        const answer = await ask(operation, as, at);
        const { status } = answer;
        const [problem] = (status === 200 ? answer.json.Results[0] : answer.json).Errors;
        expect([status, problem.Code], `${operation.id} as ${what}: ${answer.text}`).toEqual([
          at.status,
          at.code,
        ]);
      }
    }
  });

  it('is refused whatever is about the whole server', async () => {
    for (const { operation, at } of of('operator')) {
      for (const { what, as } of strangers) {
        const answer = await ask(operation, as, at);
        expect(answer.status, `${operation.id} as ${what}: ${answer.text}`).toBe(403);
        expect(answer.text, operation.id).not.toMatch(MARK);
      }
    }
  });

  it('has nothing of a person, and a person has nothing of another', async () => {
    for (const { operation, at } of of('session')) {
      for (const { what, as } of strangers) {
        // One's own sessions are listed, and signing out would end the tests that follow.
        if (as.token === null && ['listSessions', 'signOut'].includes(operation.id)) continue;
        const { status, text } = await ask(operation, as, at);
        const expected = as.token === null ? OWN_STATUS[operation.id] : 403;
        expect(status, `${operation.id} as ${what}: ${text}`).toBe(expected);
        expect(text, operation.id).not.toMatch(MARK);
      }
    }
  });

  it('hears nothing of somebody else on a stream', async () => {
    for (const { operation } of of('stream')) {
      const url = `${server.server.localUrl}/api/v1${operation.path}`;
      for (const { what, as } of strangers) {
        const headers = { ...as.headers, ...(as.token && { authorization: `Bearer ${as.token}` }) };
        const foreign = await fetch(`${url}?Domain=theirs.example`, { headers });
        expect(foreign.status, operation.id).toBe(404);
        const said = {
          Field: '/Domain',
          Message: 'This token is only for mine.example',
        };
        if (as.token) expect(await foreign.json()).toMatchObject({ Errors: [said] });
        else await foreign.body?.cancel();
        const stop = new AbortController();
        const stream = await fetch(`${url}?After=0`, { headers, signal: stop.signal });
        expect(stream.status).toBe(200);
        await server.settled(await server.send(FROM, { token: theirs }));
        const subject = `last ${randomUUID()}`;
        const own = { From: { email: 'a@mine.example' }, Subject: subject };
        await server.settled(await server.send(own, as));
        // In order: once its own is there, whatever came before it was there too.
        let text = '';
        for await (const part of stream.body ?? []) {
          text += Buffer.from(part).toString();
          if (text.includes(subject)) break;
        }
        stop.abort();
        expect(text, `${operation.id} as ${what}`).not.toMatch(MARK);
      }
    }
  });

  it('is not given the answer to somebody else’s request of the same key', async () => {
    const key = { headers: { 'idempotency-key': 'one' } };
    const bodies: [string, object][] = [
      ['/webhooks', { Event: 'open', WebhookURL: 'https://hooks.example.org/same' }],
      ['/templates', { Name: 'same', Subject: 's', PlainContent: 'p' }],
      ['/sandbox/rules', { Result: 'Fail', Tag: 'same' }],
      ['/suppressions', { Items: [{ Email: 'same@example.net' }] }],
      ['/smtp-credentials', { Name: 'same' }],
      ['/tokens', { Name: 'same' }],
    ];
    for (const [path, body] of bodies) {
      const first = await server.call('POST', path, { token: theirs, body, ...key });
      expect(first.status, `${path} ${first.text}`).toBeLessThan(300);
      const [stranger] = strangers;
      const answer = await server.call('POST', path, { ...stranger?.as, body, ...key });
      expect(answer.headers.get('idempotency-replayed'), path).toBeNull();
      expect(answer.status, `${path} ${answer.text}`).toBe(first.status);
    }
  });

  it('cannot send by a template of somebody else', async () => {
    const [found] = of('id').filter(({ operation }) => operation.id === 'getTemplate');
    const body = email({
      From: { email: 'a@mine.example' },
      TemplateID: found?.at.params.id,
      Subject: undefined,
      HTMLContent: undefined,
    });
    for (const { as } of strangers) {
      const answer = await server.call('POST', '/email', { ...as, body });
      expect([answer.status, answer.json.Errors[0].Code]).toEqual([422, 15]);
    }
  });

  it('takes nothing away by deleting all that it sees', async () => {
    for (const { as } of strangers) {
      await server.call('DELETE', '/sandbox/messages', as);
      await server.call('DELETE', '/sandbox/rules', as);
    }
    for (const path of ['/sandbox/messages', '/sandbox/rules']) {
      expect((await server.call('GET', path, { token: theirs })).text, path).toMatch(MARK);
    }
  });
});

describe('the owner', () => {
  it('sees it in every list', async () => {
    for (const { operation, at } of of('list')) {
      if (operation.method !== 'GET') continue;
      // Queues are looked at with the scope admin, and nothing waits here; statistics name no domain; nothing needs attention.
      if (['getQueue', 'getStats', 'getAttention'].includes(operation.id)) continue;
      const answer = await ask(operation, { token: theirs }, at);
      expect(answer.status, `${operation.id} ${answer.text}`).toBe(200);
      expect(answer.text, operation.id).toMatch(MARK);
    }
  });

  it('finds every id as it was, whatever the others tried', async () => {
    const order = ['GET', 'PATCH', 'PUT', 'POST', 'DELETE'];
    // With a domain goes what belongs to it.
    const place = ({ operation: { id, method } }: { operation: Operation }) =>
      id === 'deleteDomain' ? order.length : order.indexOf(method);
    const sorted = of('id').sort((a, b) => place(a) - place(b));
    for (const { operation, at } of sorted) {
      const answer = await ask(operation, { token: theirs }, at);
      expect(answer.status, `${operation.id} ${answer.text.slice(0, 300)}`).toBeOneOf([at.owner].flat());
    }
  });
});

describe('the operator', () => {
  it('may what is about the whole server', async () => {
    for (const { operation, at } of of('operator')) {
      const answer = await ask(operation, {}, at);
      expect(answer.status, `${operation.id} ${answer.text.slice(0, 300)}`).toBe(at.operator);
    }
  });
});

/** A member of one domain, named by the address, who may there what a preset Full may. */
async function signedIn(Email: string): Promise<CallOptions> {
  const headers = { origin: server.server.localUrl, 'x-postrider-dashboard': '1' };
  const Domains = [Email.slice(Email.indexOf('@') + 1)];
  const body = { Email, Password: PASSWORD, Role: 'member', Domains, Preset: 'Full' };
  const added = await server.call('POST', '/people', { body });
  expect(added.status, added.text).toBe(201);
  const answer = await server.call('POST', '/session', {
    token: null,
    headers,
    body: { Email, Password: PASSWORD },
  });
  const cookie = answer.headers.getSetCookie().join().split(';')[0] ?? '';
  return { token: null, headers: { ...headers, cookie } };
}

/** First segment of a path → what of the other tenant its next one names, and what nobody has. */
const known: Record<string, { value: string | number; none?: string | number }> = {};

/** How an operation is asked as far as the document tells; undefined: it does not tell enough. */
function usual({ method, path, allDomains, takesDomain, endless, example }: Operation): Case | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const body = example === undefined ? {} : { body: example };
  if (allDomains) return names.length > 0 ? undefined : { by: 'operator', operator: 200, ...body };
  if (endless) return { by: 'stream' };
  if (names.length === 0) {
    if (method === 'GET') return takesDomain ? { by: 'list' } : { by: 'list', unfiltered: true };
    if (example === undefined) return undefined;
    return { by: 'body', body: { ...example, Domain: 'theirs.example' }, status: 404, code: 404 };
  }
  const found = known[path.split('/')[1] ?? ''];
  if (found === undefined) return undefined;
  const { value, ...none } = found;
  const params = Object.fromEntries(names.map((name, i) => [name, i === 0 ? value : 0]));
  return { by: 'id', params, owner: 200, ...none, ...body };
}

/** Something of every kind that the other tenant has, and how operations are asked that are not as usual. */
async function everyCase(): Promise<Record<string, Case>> {
  const make = async (path: string, body: object, token = theirs) => {
    const answer = await server.call('POST', path, { token, body });
    if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  const file = { Content: 'aGVsbG8=', Type: 'text/plain', Filename: 'a.txt' };
  const address = 'https://hooks.example.org/theirs';
  const told = (await make('/webhooks', { Event: 'all', WebhookURL: address })).NewWebhookID;
  const sent = await server.send({ ...FROM, Attachments: [file] }, { token: theirs });
  const failed = await server.send({ ...FROM, Sandbox: { Result: 'Fail' } }, { token: theirs });
  const SendAt = new Date(Date.now() + 7_200_000).toISOString();
  const later = await server.send({ ...FROM, SendAt }, { token: theirs });
  const canceled = await server.send({ ...FROM, SendAt }, { token: theirs });
  await server.settled(sent);
  await server.settled(failed);
  const refused = await server.call('POST', '/email', { token: theirs, body: { ...email(FROM), To: [] } });
  expect(refused.status).toBe(422);
  const captures = (await server.call('GET', '/sandbox/messages', { token: theirs })).json.Items;
  const capture = captures.find(({ MessageID }: { MessageID: string }) => MessageID === sent).ID;
  const [call] = (await server.call('GET', `/webhooks/${told}/deliveries`, { token: theirs })).json.Items;
  const webhook = (await make('/webhooks', { Event: 'bounce', WebhookURL: address })).NewWebhookID;
  const texts = { Subject: 'theirs', PlainContent: 'Hello' };
  const template = (await make('/templates', { Name: 'theirs', ...texts })).TemplateID;
  const token = (await make('/tokens', { Name: 'theirs' })).TokenID;
  const credential = (await make('/smtp-credentials', { Name: 'theirs' })).CredentialID;
  await make('/suppressions', { Items: [{ Email: 'gone@theirs.example' }] });
  const rule = (await make('/sandbox/rules', { Recipient: '*@theirs.test', Result: 'Defer' })).RuleID;
  const erased = { Email: 'nobody@example.net' };
  const session = (await server.call('GET', '/session', await signedIn('member@theirs.example'))).json
    .SessionID;
  const people = (await server.call('GET', '/people')).json.Items;
  const person = people.find(({ Email }: { Email: string }) => Email === 'member@theirs.example').PersonID;
  const held = { SenderDomain: 'nobody.example' };

  const id = (value: string | number, owner = 200, body?: object, none?: string | number): Case => ({
    by: 'id',
    params: { id: value },
    owner,
    ...(body === undefined ? {} : { body }),
    ...(none === undefined ? {} : { none }),
  });
  Object.assign(known, {
    email: { value: sent },
    webhooks: { value: webhook, none: 999_999 },
    domains: { value: 'theirs.example', none: 'nowhere.example' },
    suppressions: { value: 'gone@theirs.example', none: 'nobody@theirs.example' },
    templates: { value: template },
    tokens: { value: token },
    'smtp-credentials': { value: credential },
    sandbox: { value: capture },
  });
  const hook = (body?: object) => id(webhook, 200, body, 999_999);
  const domain = (owner: number | number[] = 200, body?: object): Case => ({
    by: 'id',
    params: { name: 'theirs.example' },
    none: 'nowhere.example',
    owner,
    ...(body === undefined ? {} : { body }),
  });
  const list: Case = { by: 'list' };
  const whole = (operator = 200, more: object = {}): Case => ({ by: 'operator', operator, ...more });
  const notOurs = { status: 403, code: 33 };
  const forTheirs = (body: object, status = 404, code = 404): Case => ({
    by: 'body',
    body: { Domain: 'theirs.example', ...body },
    status,
    code,
  });
  return {
    sendEmail: { by: 'body', body: email(FROM), ...notOurs },
    validateEmail: { by: 'body', body: email(FROM), ...notOurs },
    sendEmailBatch: { by: 'body', body: { Messages: [email(FROM)] }, status: 200, code: 33 },
    rescheduleEmail: id(later, 200, { SendAt }),
    resendEmail: id(sent, 200, {}),
    cancelEmail: id(canceled),
    retryEmail: id(failed),
    getStats: { by: 'list', query: 'GroupBy=Domain&IncludeSandbox=true' },
    createWebhook: forTheirs({ Event: 'all', WebhookURL: address }),
    updateWebhook: hook({ Description: 'new' }),
    replayWebhook: hook({ Since: '2020-01-01T00:00:00Z' }),
    getWebhookCall: { by: 'id', params: { id: told, call: call.DeliveryID }, owner: 200, none: 999_999 },
    createDomain: { by: 'body', body: { Domain: 'theirs.example' }, ...notOurs },
    updateDomain: domain(200, { ListUnsubscribe: true }),
    // No DNS answers here, so no key is published.
    rotateDkimKey: domain(409),
    // Rotating looked at the DNS a moment ago.
    verifyDomain: domain([200, 429]),
    addSuppressions: forTheirs({ Items: [{ Email: 'former@example.net' }] }),
    createTemplate: forTheirs({ Name: 'n', ...texts }),
    updateTemplate: id(template, 200, texts),
    renderTemplate: id(template, 200, { Variables: {} }),
    // Reads nothing that is stored.
    renderTexts: { by: 'body', body: { Subject: '{{theirs' }, status: 422, code: 2102 },
    createToken: { by: 'body', body: { Name: 'n', Domains: ['theirs.example'] }, ...notOurs },
    rotateToken: id(token, 201, { Overlap: 1 }),
    listSessions: { by: 'session' },
    signOut: { by: 'session' },
    endSession: { by: 'session', params: { id: session } },
    makeTotpSecret: { by: 'session' },
    switchOnTotp: { by: 'session', body: { Password: 'wrong', Secret: 'A'.repeat(32), Code: 'none' } },
    switchOffTotp: { by: 'session', body: { Password: 'wrong', Code: 'none' } },
    proveSession: { by: 'session', body: { Password: PASSWORD } },
    changePassword: {
      by: 'session',
      body: { Password: PASSWORD, NewPassword: 'a longer and better one' },
    },
    createPerson: whole(201, {
      body: { Email: 'new@theirs.example', Password: PASSWORD, Role: 'operator' },
    }),
    getPerson: whole(200, { params: { id: person } }),
    updatePerson: whole(200, { params: { id: person }, body: {} }),
    setPassword: whole(200, { params: { id: person }, body: { Password: PASSWORD } }),
    resetTotp: whole(200, { params: { id: person } }),
    forgetIdentity: whole(200, { params: { id: person } }),
    deletePerson: whole(404, { params: { id: randomUUID() } }),
    createSmtpCredential: forTheirs({ Name: 'n' }),
    markCaptures: { by: 'list', body: { Seen: true } },
    deleteCaptures: list,
    // This server's route is the sandbox: nothing can be released from it.
    releaseCapture: id(capture, 409, {}),
    waitForCapture: { by: 'list', query: 'Timeout=0' },
    createSandboxRule: forTheirs({ Result: 'Fail' }),
    deleteSandboxRules: list,
    deleteSandboxRule: id(rule),
    erasePerson: whole(200, { body: erased }),
    getSite: whole(200, { params: { site: 'nowhere.test' } }),
    tryPath: whole(404, { params: { site: 'nowhere.test' } }),
    holdQueue: whole(201, { body: { ...held, Reason: 'a test' } }),
    releaseQueue: whole(200, { body: held }),
    deleteOverride: whole(404, { params: { id: randomUUID() } }),
    getCause: whole(404, { params: { id: 999 } }),
    resendCause: whole(404, { params: { id: 999 } }),
  };
}

/** What the document of the server lists below its own address, but for what is open to everybody. */
async function documented(): Promise<Operation[]> {
  const { paths } = (await server.call('GET', '/openapi.json')).json;
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at as a reader without types does
  return Object.entries<any>(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries<any>(item)
      .filter(([method, { security }]) => method !== 'servers' && security.length > 0)
      .map(([method, { operationId, requestBody, responses, ...rest }]) => ({
        id: operationId,
        allDomains: rest['x-all-domains'] === true,
        method: method.toUpperCase(),
        path,
        takesDomain: (rest.parameters ?? []).some(({ name }: { name?: string }) => name === 'Domain'),
        endless: responses['200']?.content?.['text/event-stream'] !== undefined,
        example: requestBody?.content['application/json'].example,
      })),
  );
}

function of<By extends Case['by']>(by: By): { operation: Operation; at: Extract<Case, { by: By }> }[] {
  const found = operations.flatMap((operation) => {
    const at = cases[operation.id];
    return at?.by === by ? [{ operation, at: at as Extract<Case, { by: By }> }] : [];
  });
  expect(found.length).toBeGreaterThan(1);
  return found;
}

function ask(
  { method, path }: Operation,
  as: CallOptions,
  at: { params?: Record<string, string | number>; query?: string; body?: object },
): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(at.params?.[name] ?? ''));
  const url = at.query === undefined ? filled : `${filled}?${at.query}`;
  return server.call(method, url, { ...as, ...(at.body === undefined ? {} : { body: at.body }) });
}

/** The query of a list, narrowed to the other domain. */
function narrow(at: { query?: string }): { query: string } {
  return { query: ['Domain=theirs.example', ...(at.query === undefined ? [] : [at.query])].join('&') };
}

/** What a refusal says, without the request's own facts. */
function refusal({ status, json, headers }: Answer): object {
  const { type, title, detail, Error: text, Errors } = json;
  return { status, type, title, detail, text, Errors, media: headers.get('content-type') };
}
