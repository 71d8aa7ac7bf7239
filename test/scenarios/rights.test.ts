/**
 * No token makes or changes anything that gives more rights, fewer limits or a longer life than it has. Every operation
 * that writes is taken from the document of the interface, and called by limited tokens with its example and with each
 * member of its body at its widest; after each call everything that carries rights is compared with the caller. A member
 * that is neither listed as widening nor as harmless fails the test.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

const scope = fileScope();
const HOUR_MS = 3_600_000;

/** What a caller would ask for to have more. */
const WIDEST: Readonly<Record<string, readonly unknown[]>> = {
  Domains: [['*'], ['other.example'], ['example.com', 'other.example']],
  Domain: ['other.example', 'example.com'],
  Scopes: [['admin'], ['email:send'], ['tokens:write', 'events:read']],
  Preset: ['Admin', 'Full', 'Send', 'Default'],
  ExpiresIn: ['never', 315_000_000],
  Sandbox: [false],
  IPAllowList: [[], ['0.0.0.0/0'], ['127.0.0.1', '192.0.2.1']],
  RateLimit: [1_000_000],
  Verified: [true],
  Quota: [{ PerMinute: null, PerHour: null, PerDay: null }, { PerDay: 1_000_000_000 }],
  Role: ['operator', 'member', 'viewer'],
  // Not 0, which would end the caller.
  Overlap: [604_800],
};

/** What carries no right and no limit of a token. */
const HARMLESS = new Set(
  `From To CC BCC ReplyTo Subject ContentType HTMLContent PlainContent Tags Headers Attachments Priority SendAt ExpiresAt
   Metadata KeepContent Tracking ListUnsubscribe TemplateID TemplateVersion Variables StrictVariables Messages Event Events
   WebhookURL Description Status DeliveryIDs Since Until OnlyFailed After Email Limit DkimSelector Subdomains Retention
   RequireTls AtMostOnce ReturnPathHost TrackingHost Items Name Version Strict Notices Inbox Recipient Tag Result Defers
   DelayMs Code Enhanced Text Probability Times SenderDomain RecipientDomain Site All Reason HoldID
   Seen IDs Password NewPassword Disabled Secret`.split(/\s+/),
);

interface Operation {
  id: string;
  method: string;
  path: string;
  members: readonly string[];
  example: Record<string, unknown> | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at as a client without types does
type Json = any;

let server: Instance;
let operations: Operation[];
let callers: { what: string; id: string; token: string }[];
/** Path parameters that stand for something of example.com. */
let places: Record<string, string>;

beforeAll(async () => {
  server = await startInstance(scope);
  await addDomain(server, 'example.com');
  await addDomain(server, 'other.example');
  await server.call('PATCH', '/domains/example.com', { body: { Quota: { PerDay: 1_000 } } });
  operations = await writing();
  const limits = { Domains: ['example.com'], IPAllowList: ['127.0.0.1'], RateLimit: 500, ExpiresIn: 3_600 };
  const wanted: [string, object][] = [
    ['everything but admin', { Preset: 'Full' }],
    ['admin of one domain', { Preset: 'Admin' }],
    ['everything in the sandbox', { Preset: 'Full', Sandbox: true }],
    ['tokens', { Scopes: ['tokens:write', 'tokens:read'] }],
    ['credentials', { Scopes: ['smtp:write'] }],
    ['webhooks', { Scopes: ['webhooks:write', 'webhooks:read'] }],
    ['domains', { Scopes: ['domains:write'] }],
  ];
  callers = [];
  for (const [what, more] of wanted) {
    const made = await server.call('POST', '/tokens', { body: { Name: what, ...limits, ...more } });
    expect(made.status, made.text).toBe(201);
    callers.push({ what, id: made.json.TokenID, token: made.json.Token });
  }
  const strong = await server.call('POST', '/tokens', {
    body: { Name: 'strong', Domains: ['example.com'], Preset: 'Full', ExpiresIn: 'never' },
  });
  const template = await server.call('POST', '/templates', {
    body: { Domain: 'example.com', Name: 't', Subject: 's', PlainContent: 'p' },
  });
  const webhook = await server.call('POST', '/webhooks', {
    body: { Domain: 'example.com', Event: 'bounce', WebhookURL: 'https://hooks.example.org/a' },
  });
  places = {
    '/tokens/{id}': strong.json.TokenID,
    '/templates/{id}': template.json.TemplateID,
    '/webhooks/{id}': String(webhook.json.NewWebhookID),
    '/domains/{name}': 'example.com',
  };
});

describe('a token', () => {
  it('is tried with every member that a writing operation takes', () => {
    expect(operations.length).toBeGreaterThan(35);
    const unknown = operations.flatMap(({ id, members }) =>
      members
        .filter((member) => !(member in WIDEST) && !HARMLESS.has(member))
        .map((member) => `${id}: ${member}`),
    );
    expect(unknown, 'say in this test whether it can widen rights').toEqual([]);
  });

  it('never makes or changes anything that may more than it', { timeout: 120_000 }, async () => {
    const before = await everything();
    for (const caller of callers) {
      const self = find((await everything()).tokens, caller.id);
      const known = new Set((await everything()).tokens.map(({ TokenID }: Json) => TokenID));
      for (const operation of operations) {
        for (const path of pathsOf(operation, caller.id)) {
          for (const body of bodiesOf(operation)) {
            const answer = await server.call(operation.method, path, {
              token: caller.token,
              ...(body === undefined ? {} : { body }),
            });
            expect(answer.status, `${operation.id} ${answer.text}`).toBeLessThan(500);
            if (answer.status >= 300) continue;
            const where = `${caller.what}: ${operation.id} ${path} ${JSON.stringify(body)}`;
            const now = await everything();
            for (const made of now.tokens) {
              if (known.has(made.TokenID)) continue;
              known.add(made.TokenID);
              expect(made.CreatedBy, where).toBe(caller.id);
              holdsNoMore(made, self, where);
            }
            for (const made of now.credentials) {
              if (made.CreatedBy !== caller.id) continue;
              expect(self.Scopes, where).toContain('email:send');
              holdsNoMore({ ...made, Domains: [made.Domain], Scopes: ['email:send'] }, self, where);
            }
            for (const domain of before.domains) {
              const { Quota, Status, VerifiedBy } = find(now.domains, domain.Domain);
              expect({ Quota, Status, VerifiedBy }, where).toEqual({
                Quota: domain.Quota,
                Status: domain.Status,
                VerifiedBy: domain.VerifiedBy,
              });
            }
            expect(now.domains.length, where).toBe(before.domains.length);
          }
        }
      }
    }
    // It was no refusal of everything that kept them small.
    const { tokens, credentials } = await everything();
    const by = (what: string, made: Json[]) => {
      const id = callers.find((caller) => caller.what === what)?.id;
      return made.filter(({ CreatedBy }) => CreatedBy === id).length;
    };
    expect(by('everything but admin', tokens)).toBeGreaterThan(2);
    expect(by('everything but admin', credentials)).toBeGreaterThan(1);
    expect(by('tokens', tokens)).toBeGreaterThan(0);
  });

  it('makes no webhook without the right to read events, and no credential without the right to send', async () => {
    const webhooks = await makeToken(server, { Domains: ['example.com'], Scopes: ['webhooks:write'] });
    const hook = { Event: 'all', WebhookURL: 'https://hooks.example.org/b' };
    expect((await server.call('POST', '/webhooks', { token: webhooks, body: hook })).status).toBe(403);
    const path = `/webhooks/${places['/webhooks/{id}']}`;
    const moved = await server.call('PATCH', path, { token: webhooks, body: hook });
    expect(moved.status).toBe(403);
    const smtp = await makeToken(server, { Domains: ['example.com'], Scopes: ['smtp:write'] });
    const refused = await server.call('POST', '/smtp-credentials', { token: smtp, body: { Name: 'x' } });
    expect([refused.status, refused.json.Errors[0].Code]).toEqual([403, 34]);
  });

  it('takes along what was made with it where it is revoked with its children', async () => {
    const make = async (path: string, token: string, body: object) => {
      const answer = await server.call('POST', path, { token, body });
      expect(answer.status, answer.text).toBe(201);
      return answer.json;
    };
    const maker = await make('/tokens', server.token, {
      Name: 'm',
      Domains: ['example.com'],
      Preset: 'Full',
    });
    const child = await make('/tokens', maker.Token, { Name: 'c', Preset: 'Full' });
    const grandchild = await make('/tokens', child.Token, { Name: 'g', Preset: 'Full' });
    const credential = await make('/smtp-credentials', grandchild.Token, { Name: 's' });
    expect(credential.CreatedBy).toBe(grandchild.TokenID);
    const hooked = await server.call('POST', '/webhooks', {
      token: grandchild.Token,
      body: { Event: 'all', WebhookURL: 'https://hooks.example.org/' },
    });
    const hookPath = `/webhooks/${hooked.json.NewWebhookID}`;
    expect((await server.call('GET', hookPath)).json.CreatedBy).toBe(grandchild.TokenID);
    const works = async (token: string) => (await server.call('GET', '/me', { token })).status === 200;
    const answer = await server.call('DELETE', `/tokens/${maker.TokenID}?Children=true`);
    expect(answer.json).toEqual({ Tokens: 2, Credentials: 1, Webhooks: 1 });
    expect((await server.call('GET', hookPath)).status).toBe(404);
    for (const { Token } of [maker, child, grandchild]) expect(await works(Token)).toBe(false);
    const { credentials } = await everything();
    expect(credentials.map(({ CredentialID }: Json) => CredentialID)).not.toContain(credential.CredentialID);
  });

  it('leaves nothing behind that a request under way was to make', async () => {
    const made = await server.call('POST', '/tokens', {
      body: { Name: 'm', Domains: ['example.com'], Preset: 'Full' },
    });
    const { TokenID, Token } = made.json;
    expect((await server.call('GET', '/me', { token: Token })).status).toBe(200);
    const late = [
      { path: '/tokens', body: JSON.stringify({ Name: 'late', Preset: 'Full' }) },
      { path: '/smtp-credentials', body: JSON.stringify({ Name: 'late' }) },
    ].map((one) => ({ ...one, ...slowRequest(one.path, Token, one.body.length) }));
    await Promise.all(late.map(({ begun }) => begun));
    expect((await server.call('DELETE', `/tokens/${TokenID}?Children=true`)).status).toBe(200);
    for (const { finish, body } of late) expect(await finish(body)).toMatch(/^HTTP\/1\.1 401 /);
    const { tokens, credentials } = await everything();
    for (const { Name } of [...tokens, ...credentials]) expect(Name).not.toBe('late');
  });
});

/** A POST whose head is taken and whose body comes later; `begun` when it was authenticated. */
function slowRequest(path: string, token: string, length: number) {
  const { port } = new URL(server.server.localUrl);
  const socket = connect(Number(port), '127.0.0.1');
  const head = [`POST /api/v1${path} HTTP/1.1`, 'Host: x', 'Connection: close', 'Expect: 100-continue'];
  head.push(
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    '',
    '',
  );
  socket.write(head.join('\r\n'));
  const begun = once(socket, 'data');
  const finish = async (body: string) => {
    socket.write(body);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  };
  return { begun, finish };
}

/** `made` may at most what `by` may. */
function holdsNoMore(made: Json, by: Json, where: string): void {
  for (const domain of made.Domains) expect(by.Domains, where).toContain(domain);
  if (!by.Scopes.includes('admin')) {
    for (const one of made.Scopes) expect(by.Scopes, where).toContain(one);
  }
  if (by.Sandbox) expect(made.Sandbox, where).toBe(true);
  expect(made.IPAllowList, where).toEqual(['127.0.0.1']);
  expect(made.RateLimit, where).not.toBeNull();
  expect(made.RateLimit, where).toBeLessThanOrEqual(by.RateLimit);
  expect(made.ExpiresAt, where).not.toBeNull();
  expect(Date.parse(made.ExpiresAt), where).toBeLessThanOrEqual(Date.parse(by.ExpiresAt));
  expect(Date.parse(made.ExpiresAt), where).toBeLessThan(Date.now() + HOUR_MS);
}

/** The example, the example with each member at its widest, and with all of them. */
function bodiesOf({ members, example }: Operation): (object | undefined)[] {
  if (example === undefined) return [undefined];
  const wide = members.filter((member) => member in WIDEST);
  const single = wide.flatMap((member) =>
    (WIDEST[member] ?? []).map((value) => ({ ...example, ...without(member), [member]: value })),
  );
  const all = Object.fromEntries(wide.map((member) => [member, WIDEST[member]?.[0]]));
  return [example, ...single, { ...example, ...all, Preset: undefined }];
}

/** Scopes and Preset exclude each other. */
function without(member: string): object {
  return member === 'Scopes' ? { Preset: undefined } : {};
}

/** For what belongs to an id: something of the same domain, and for tokens the caller itself. */
function pathsOf({ id, path }: Operation, callerId: string): string[] {
  // The callers go on.
  const mine = id === 'rotateToken' ? [callerId] : [];
  const base = Object.keys(places).find((place) => path.startsWith(place));
  const own = base === undefined ? randomUUID() : (places[base] ?? '');
  const targets = path.includes('{') ? [...mine, own] : [''];
  if (id === 'revokeToken' || (id.startsWith('delete') && id !== 'deleteDomain')) return [];
  return targets.map((target) => path.replace(/\{\w+\}/, target));
}

function find(items: Json[], id: string): Json {
  const found = items.find(({ TokenID, Domain }) => TokenID === id || Domain === id);
  expect(found, id).toBeDefined();
  return found;
}

/** Everything that carries rights or limits, as the operator sees it. */
async function everything(): Promise<{ tokens: Json[]; credentials: Json[]; domains: Json[] }> {
  const all = async (path: string) => {
    const items: Json[] = [];
    for (let after = ''; ; ) {
      const { json } = await server.call('GET', `${path}?Limit=100${after}`);
      items.push(...json.Items);
      if (!json.HasMore) return items;
      after = `&After=${encodeURIComponent(json.NextCursor)}`;
    }
  };
  const [tokens, credentials, domains] = await Promise.all(
    ['/tokens', '/smtp-credentials', '/domains'].map(all),
  );
  return { tokens: tokens ?? [], credentials: credentials ?? [], domains: domains ?? [] };
}

/** Every operation that is not a GET, with the members of its body. */
async function writing(): Promise<Operation[]> {
  const document: Json = (await server.call('GET', '/openapi.json')).json;
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item)
      .filter(([method, { security }]) => method !== 'servers' && method !== 'get' && security?.length > 0)
      .map(([method, { operationId, requestBody }]) => {
        const content = requestBody?.content['application/json'];
        const name = content?.schema.$ref?.split('/').pop();
        const schema = name === undefined ? content?.schema : document.components.schemas[name];
        return {
          id: operationId,
          method: method.toUpperCase(),
          path,
          members: Object.keys(schema?.properties ?? {}),
          example: content?.example,
        };
      }),
  );
}
