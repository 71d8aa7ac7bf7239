/** Results that sandbox rules simulate, and captured mail that is released. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import {
  type Answer,
  addDomain,
  type CallOptions,
  fileScope,
  type Instance,
  makeToken,
  startInstance,
} from './harness.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
let server: Instance;
let real: Instance;
let sink: SmtpSink;
let hook: Receiver;
let token: string;
let realToken: string;

beforeAll(async () => {
  sink = await startSmtpSink();
  scope.defer(() => sink.close());
  hook = await startReceiver(scope);
  const settings = { 'allow-networks': '127.0.0.0/8', retry: '100ms' };
  server = await startInstance(scope, { settings });
  token = await addDomain(server, 'example.com');
  await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: hook.url } });
  const leaves = { route: `smtp://127.0.0.1:${sink.port}`, 'public-url': 'https://mail.postrider.test' };
  real = await startInstance(scope, { settings: { ...settings, ...leaves } });
  realToken = await addDomain(real, 'example.com');
});

const rule = async (body: object): Promise<string> => {
  const answer = await server.call('POST', '/sandbox/rules', { token, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.RuleID;
};
const sent = async (address: string, more: object = {}, options: CallOptions = { token }) => {
  const id = await server.send({ To: [{ email: address }], ...more }, options);
  return { id, facts: await server.settled(id) };
};
const kinds = async (id: string): Promise<string[]> =>
  (await server.call('GET', `/email/${id}/events`, { token })).json.Items.map(
    ({ Event }: { Event: string }) => Event,
  );
const clear = () => server.call('DELETE', '/sandbox/rules', { token });

describe('a rule of the sandbox', () => {
  it('bounces with the reply it names, as real mail would, and suppresses nobody', async () => {
    await rule({
      Recipient: 'ann@example.net',
      Result: 'Bounce',
      Code: 550,
      Enhanced: '5.1.1',
      Text: 'no such user',
    });
    const { id, facts } = await sent('ann@example.net');
    expect(facts.Recipients[0]).toMatchObject({ Status: 'Bounced', LastResponse: '550 5.1.1 no such user' });
    const call = await hook.next(
      'the bounce is told',
      ({ json }) => json.data.MessageID === id && json.data.Event === 'bounced',
    );
    expect(call.json.data).toMatchObject({ Sandbox: true, Bounce: { Type: 'Permanent', SmtpCode: 550 } });
    expect((await server.call('GET', '/suppressions', { token })).json.Items).toEqual([]);
    const stats = (await server.call('GET', '/stats', { token })).json;
    expect(stats.Items[0]?.Counts?.bounced ?? 0).toBe(0);
    expect((await sent('bob@example.net')).facts.Recipients[0]?.Status).toBe('Delivered');
    await clear();
  });

  it('bounces whatever the reply would mean elsewhere', async () => {
    await rule({ Result: 'Bounce', Code: 554, Enhanced: '5.7.1', Text: 'blocked using zen.spamhaus.org' });
    await rule({ Recipient: '*@slow.example', Result: 'Defer', Code: 421, Text: 'too many connections' });
    expect((await sent('a@example.net')).facts.Recipients[0]?.Status).toBe('Bounced');
    await clear();
    await rule({ Result: 'Defer', Code: 421, Text: 'too many connections', Defers: 2 });
    const { id, facts } = await sent('a@slow.example');
    expect(facts.Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 3 });
    expect((await kinds(id)).filter((kind) => kind === 'deferred').length).toBeGreaterThan(0);
    await clear();
  });

  it('is used as often as it says, and stays with a recipient that it deferred', async () => {
    await rule({ Recipient: '*@example.net', Result: 'Defer', Defers: 3, Times: 1 });
    const first = await sent('one@example.net');
    expect(first.facts.Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 4 });
    const second = await sent('two@example.net');
    expect(second.facts.Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    const { Items } = (await server.call('GET', '/sandbox/rules', { token })).json;
    expect(Items).toMatchObject([{ Result: 'Defer', Defers: 3, Times: 1, Uses: 1 }]);
    await clear();
  });

  it('goes by inbox, subject and tag', async () => {
    await rule({ Inbox: 'Run-1', Result: 'Bounce' });
    await rule({ Subject: 'INVOICE', Result: 'Fail' });
    await rule({ Tag: 'ad', Result: 'Complain' });
    const status = async (address: string, more: object = {}) =>
      (await sent(address, more)).facts.Recipients[0]?.Status;
    expect(await status('a+run-1@example.net')).toBe('Bounced');
    expect(await status('a+run-2@example.net')).toBe('Delivered');
    expect(await status('a@example.net', { Subject: 'Your invoice' })).toBe('Failed');
    const ad = await sent('a@example.net', { Tags: ['ad'] });
    expect((await kinds(ad.id)).sort()).toEqual(['accepted', 'complained', 'delivered']);
    // The inbox of a token.
    const branch = await makeToken(server, { Domains: ['example.com'], Name: 'Run-1' });
    const named = await sent('plain@example.net', {}, { token: branch });
    expect(named.facts.Recipients[0]?.Status).toBe('Bounced');
    const removed = await server.call('DELETE', '/sandbox/rules?Inbox=run-1', { token });
    expect(removed.json).toEqual({ Deleted: 1 });
    expect(await status('a+run-1@example.net')).toBe('Delivered');
    await clear();
  });

  it('delays, opens and clicks', async () => {
    await rule({ Recipient: 'late@example.net', Result: 'Click', DelayMs: 400 });
    const at = performance.now();
    const { id } = await sent('late@example.net');
    // Timers may be a moment early, never more.
    expect(performance.now() - at).toBeGreaterThan(390);
    expect((await kinds(id)).sort()).toEqual(['accepted', 'clicked', 'delivered']);
    await clear();
  });

  it('leaves results that were asked for by name, and real mail, alone', async () => {
    await rule({ Result: 'Bounce' });
    expect((await sent('opened@simulator.test')).facts.Recipients[0]?.Status).toBe('Delivered');
    const asked = await sent('a@example.net', { Sandbox: { Result: 'Fail' } });
    expect(asked.facts.Recipients[0]?.Status).toBe('Failed');
    await clear();
    const made = await real.call('POST', '/sandbox/rules', { token: realToken, body: { Result: 'Bounce' } });
    expect(made.status).toBe(201);
    const before = sink.counts.messages;
    const id = await real.send({}, { token: realToken });
    expect((await real.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Route: 'relay' });
    expect(sink.counts.messages).toBe(before + 1);
    const simulated = await real.send({ Sandbox: true }, { token: realToken });
    expect((await real.settled(simulated)).Recipients[0]?.Status).toBe('Bounced');
    await real.call('DELETE', '/sandbox/rules', { token: realToken });
  });

  it.each<[object, number, string?]>([
    [{ Result: 'Explode' }, 1603, '/Result'],
    [{ Result: 'Bounce', Code: 451 }, 422],
    [{ Result: 'Defer', Enhanced: '5.1.1' }, 422],
    [{ Result: 'Open', Code: 550 }, 422],
    [{ Result: 'Bounce', Defers: 2 }, 422],
    [{ Result: 'Bounce', Recipient: 'a*b@example.net' }, 422],
    [{ Result: 'Bounce', Text: 'two\r\nlines' }, 422],
    [{ Result: 'Bounce', Domain: 'other.example' }, 404, '/Domain'],
  ])('is refused: %j', async (body, code, field) => {
    const answer = await server.call('POST', '/sandbox/rules', { token, body });
    expect(answer.json.Errors[0]).toMatchObject({ Code: code, Field: field ?? expect.any(String) });
  });

  it('is made once per Idempotency-Key', async () => {
    const make = (body: object) =>
      server.call('POST', '/sandbox/rules', { token, body, headers: { 'idempotency-key': 'rule-1' } });
    const body = { Recipient: 'once@example.net', Result: 'Fail' };
    const [first, again] = [await make(body), await make(body)];
    expect([first.status, again.status, again.json]).toEqual([201, 201, first.json]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await make({ ...body, Result: 'Bounce' })).json.Errors[0].Code).toBe(1702);
    expect((await server.call('GET', '/sandbox/rules', { token })).json.Items).toHaveLength(1);
    await clear();
  });

  it('is listed a page at a time, oldest first', async () => {
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.push(await rule({ Tag: `t${n}`, Result: 'Fail' }));
    const list = async (query: string) =>
      (await server.call('GET', `/sandbox/rules?${query}`, { token })).json;
    const first = await list('Limit=2');
    expect(first).toMatchObject({ Items: [{ RuleID: made[0] }, { RuleID: made[1] }], HasMore: true });
    // What a cursor names may be gone by then.
    await server.call('DELETE', `/sandbox/rules/${made[1]}`, { token });
    const rest = await list(`Limit=2&After=${first.NextCursor}`);
    expect(rest).toMatchObject({ Items: [{ RuleID: made[2] }], HasMore: false, NextCursor: null });
    for (const query of ['Limit=0', 'Limit=101', 'After=x']) {
      expect((await list(query)).Errors, query).toMatchObject([{ Code: 422 }]);
    }
    await clear();
  });

  it('belongs to its domain', async () => {
    const other = await addDomain(server, 'other.example');
    const id = await rule({ Result: 'Bounce' });
    expect((await server.call('GET', '/sandbox/rules', { token: other })).json.Items).toEqual([]);
    expect((await server.call('DELETE', `/sandbox/rules/${id}`, { token: other })).status).toBe(404);
    expect((await server.call('DELETE', '/sandbox/rules', { token: other })).json.Deleted).toBe(0);
    const mail = { From: { email: 'a@other.example' }, To: [{ email: 'x@example.net' }] };
    const theirs = await server.send(mail, { token: other });
    expect((await server.settled(theirs)).Recipients[0]?.Status).toBe('Delivered');
    expect((await server.call('DELETE', `/sandbox/rules/${id}`, { token })).text).toBe('{}');
  });
});

describe('a captured message', () => {
  const capture = async (more: object = {}): Promise<{ ID: string; MessageID: string }> => {
    const id = await real.send(
      { Sandbox: true, To: [{ email: 'reader@example.net' }], Tags: ['t'], ...more },
      { token: realToken },
    );
    await real.settled(id);
    const { Items } = (await real.call('GET', '/sandbox/messages?Limit=1', { token: realToken })).json;
    expect(Items[0].MessageID).toBe(id);
    return Items[0];
  };
  const release = (id: string, body?: object, options: CallOptions = {}) =>
    real.call('POST', `/sandbox/messages/${id}/release`, {
      token: realToken,
      ...(body === undefined ? {} : { body }),
      ...options,
    });

  it('goes out as a message of its own, and says so', async () => {
    const { ID, MessageID } = await capture({ Subject: 'Let go', BCC: [{ email: 'secret@example.org' }] });
    const before = sink.messages.length;
    const answer = await release(ID, { To: 'me@example.org' });
    expect(answer.status).toBe(200);
    const own = answer.json.MessageID;
    expect(own).not.toBe(MessageID);
    expect((await real.settled(own)).Recipients).toMatchObject([
      { Email: 'me@example.org', Status: 'Delivered', Route: 'relay' },
    ]);
    const [mail] = sink.messages.slice(before);
    expect(mail?.rcpts).toEqual(['me@example.org']);
    const text = Buffer.from(mail?.data ?? '').toString('latin1');
    expect(text).toMatch(/^DKIM-Signature:/m);
    expect(text).toContain(`Message-ID: <${own}@example.com>`);
    expect(text).not.toContain(`<${MessageID}@`);
    expect(text).toContain('Subject: Let go');
    const shown = (await real.call('GET', `/sandbox/messages/${ID}`, { token: realToken })).json;
    expect(shown.ReleasedAs).toBe(own);
    expect(Date.parse(shown.ReleasedAt)).toBeGreaterThan(0);
    const facts = (await real.call('GET', `/email/${own}`, { token: realToken })).json;
    expect(facts).toMatchObject({ Sandbox: false, Tags: ['t'], BCC: [], To: [{ Email: 'me@example.org' }] });
    // The captured one stays what it was.
    expect((await real.settled(MessageID)).Recipients[0]).toMatchObject({ Route: 'sandbox' });
  });

  it('has links of its own', async () => {
    const { ID } = await capture({
      HTMLContent: '<a href="https://example.org/x">x</a>',
      Tracking: { Clicks: true, Opens: true },
    });
    const links = (text: string) =>
      [...text.replace(/=\r?\n/g, '').matchAll(/\/c\/([A-Za-z0-9_-]+)/g)].map(([, link]) => link);
    const raw = await real.call('GET', `/sandbox/messages/${ID}/raw`, { token: realToken });
    const before = sink.messages.length;
    const { MessageID } = (await release(ID)).json;
    await real.settled(MessageID);
    const out = Buffer.from(sink.messages[before]?.data ?? '').toString('latin1');
    expect(links(out)).toHaveLength(1);
    expect(links(raw.text)).toHaveLength(1);
    expect(links(out)).not.toEqual(links(raw.text));
  });

  it('goes once per Idempotency-Key', async () => {
    const { ID } = await capture();
    const headers = { 'idempotency-key': 'once' };
    const [a, b] = [await release(ID, {}, { headers }), await release(ID, {}, { headers })];
    expect([a.status, b.status, b.json.MessageID]).toEqual([200, 200, a.json.MessageID]);
    expect(b.headers.get('idempotency-replayed')).toBe('true');
  });

  it('is refused where it would not leave, or not be the caller’s', async () => {
    const { ID } = await capture();
    const code = (answer: Answer): number => answer.json.Errors?.[0]?.Code ?? answer.status;
    expect(code(await release(ID, { To: 'bounced@simulator.test' }))).toBe(1804);
    expect(code(await release(ID, { To: 'not an address' }))).toBe(422);
    const boxed = await makeToken(real, { Domains: ['example.com'], Sandbox: true });
    expect(code(await release(ID, undefined, { token: boxed }))).toBe(1804);
    const reader = await makeToken(real, { Domains: ['example.com'], Scopes: ['email:read'] });
    expect(code(await release(ID, undefined, { token: reader }))).toBe(34);
    const sender = await makeToken(real, { Domains: ['example.com'], Scopes: ['email:send'] });
    const unread = await release(ID, { To: 'me@example.org' }, { token: sender });
    expect([code(unread), unread.text.includes('email:read')]).toEqual([34, true]);
    const kept = await real.call('DELETE', `/sandbox/messages/${ID}`, { token: reader });
    expect([code(kept), kept.text.includes('email:send')]).toEqual([34, true]);
    expect(code(await real.call('DELETE', '/sandbox/messages', { token: reader }))).toBe(34);
    const other = await addDomain(real, 'other.example');
    expect((await release(ID, undefined, { token: other })).status).toBe(404);
    await real.call('POST', '/suppressions', {
      body: { Domain: 'example.com', Items: [{ Email: 'no@example.org' }] },
    });
    expect(code(await release(ID, { To: 'no@example.org' }))).toBe(14);
    const id = await server.send({ To: [{ email: 'x@example.net' }] }, { token });
    await server.settled(id);
    const here = (await server.call('GET', '/sandbox/messages?To=x@example.net', { token })).json.Items[0];
    const refused = await server.call('POST', `/sandbox/messages/${here.ID}/release`, { token });
    expect([refused.status, code(refused)]).toEqual([409, 1804]);
    expect(refused.text).toContain('route');
  });
});
