/** The sandbox: every simulated recipient leads to its states, events and webhook calls, and nothing is sent. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { type FakeSpamd, startSpamd } from '../fakes/spamd.ts';
import { addDomain, email, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
let server: Instance;
let sink: SmtpSink;
let hook: Receiver;
let token: string;
let spamd: FakeSpamd;

beforeAll(async () => {
  spamd = await startSpamd();
  scope.defer(() => spamd.close());
  sink = await startSmtpSink();
  scope.defer(() => sink.close());
  hook = await startReceiver(scope);
  // A server that would send for real: only the doors of the sandbox keep these messages.
  server = await startInstance(scope, {
    settings: {
      ...{ route: `smtp://127.0.0.1:${sink.port}`, 'allow-networks': '127.0.0.0/8', retry: '100ms' },
      spamassassin: `127.0.0.1:${spamd.port}`,
    },
  });
  token = await addDomain(server, 'example.com');
  await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: hook.url } });
});

/** Local part, status at the end, kinds in the event list (= webhook calls), further timeline entries. */
const MAGIC: [string, string, string[], string[]][] = [
  ['delivered', 'Delivered', ['accepted', 'delivered'], []],
  ['bounced', 'Bounced', ['accepted', 'bounced'], []],
  ['softbounced', 'Bounced', ['accepted', 'bounced'], []],
  ['deferred', 'Delivered', ['accepted', 'deferred', 'delivered'], []],
  ['failed', 'Failed', ['accepted', 'failed'], []],
  ['suppressed', 'Suppressed', ['suppressed'], []],
  ['complained', 'Delivered', ['accepted', 'complained', 'delivered'], []],
  ['opened', 'Delivered', ['accepted', 'delivered', 'opened'], []],
  ['clicked', 'Delivered', ['accepted', 'clicked', 'delivered'], []],
  ['unsubscribed', 'Delivered', ['accepted', 'delivered', 'unsubscribed'], []],
  ['ooto', 'Delivered', ['accepted', 'delivered'], ['auto_reply']],
  ['somebody', 'Delivered', ['accepted', 'delivered'], []],
];

describe.each(MAGIC)('%s@simulator.test', (local, status, kinds, extra) => {
  it.each([`${local}@simulator.test`, `${local.toUpperCase()}+a-label@simulator.test`])(
    '%s',
    async (address) => {
      const id = await server.send({ To: [{ email: address }] }, { token });
      const facts = await server.settled(id);
      expect(facts.Recipients[0]?.Status).toBe(status);
      const timeline = async () =>
        (await server.call('GET', `/email/${id}/events`, { token })).json.Items.map(
          ({ Event }: { Event: string }) => Event,
        );
      expect((await timeline()).sort()).toEqual([...kinds, ...extra].sort());
      const list = (await server.call('GET', `/events?MessageID=${id}&RetrieveCount=100`, { token })).json;
      expect(list.Events.map(({ Event }: { Event: string }) => Event).sort()).toEqual(kinds);
      for (const event of list.Events) expect(event.Message.Transport).toBe('sandbox');
      const calls = await until('the webhook heard of all', () => {
        const own = hook.calls.filter(({ json }) => json.data.MessageID === id);
        return own.length >= kinds.length ? own : null;
      });
      expect(calls.map(({ json }) => json.data.Event).sort()).toEqual(kinds);
      for (const { json } of calls) {
        expect(json.type).toBe(`email.${json.data.Event}`);
        expect(json.data).toMatchObject({ Sandbox: true, To: address, Domain: 'example.com' });
      }
    },
  );
});

describe('bounces of the sandbox', () => {
  it('say whether it is for good', async () => {
    const bounceOf = async (address: string) => {
      const id = await server.send({ To: [{ email: address }] }, { token });
      await server.settled(id);
      const call = await hook.next(
        'the bounce is told',
        ({ json }) => json.data.MessageID === id && json.data.Event === 'bounced',
      );
      return call.json.data.Bounce;
    };
    expect(await bounceOf('bounced+x@simulator.test')).toMatchObject({ Type: 'Permanent', SmtpCode: 550 });
    expect(await bounceOf('softbounced+x@simulator.test')).toMatchObject({
      Type: 'Transient',
      Class: 'MailboxFull',
    });
  });
});

describe('the Sandbox field', () => {
  it.each([
    [true, 'Delivered'],
    [{}, 'Delivered'],
    [{ Result: 'Deliver' }, 'Delivered'],
    [{ result: 'BOUNCE' }, 'Bounced'],
    [{ Result: 'SoftBounce' }, 'Bounced'],
    [{ Result: 'Defer' }, 'Delivered'],
    [{ Result: 'Fail' }, 'Failed'],
    [{ Result: 'Suppress' }, 'Suppressed'],
    [{ Result: 'Complain' }, 'Delivered'],
    [{ Result: 'Open' }, 'Delivered'],
    [{ Result: 'Click' }, 'Delivered'],
  ])('%j keeps real recipients in the sandbox: %s', async (Sandbox, status) => {
    const before = sink.counts.messages;
    const id = await server.send(
      { Sandbox, To: [{ email: 'real@example.net' }, { email: 'two@example.net' }] },
      { token },
    );
    const facts = await server.settled(id);
    expect(facts.Recipients.map(({ Status }) => Status)).toEqual([status, status]);
    expect(sink.counts.messages).toBe(before);
    expect((await server.call('GET', `/email/${id}`, { token })).json.Sandbox).toBe(true);
  });

  it.each([[{ Result: 'Vanish' }], ['yes'], [1], [[]], [{ Result: 5 }]])('refuses %j', async (Sandbox) => {
    const answer = await server.call('POST', '/email', { token, body: email({ Sandbox }) });
    expect([answer.status, answer.json.Errors[0].Code]).toEqual([422, 1603]);
  });

  it('false sends', async () => {
    const before = sink.counts.messages;
    const id = await server.send({ Sandbox: false }, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Route: 'relay' });
    expect(sink.counts.messages).toBe(before + 1);
  });
});

describe('a message to real and magic recipients', () => {
  it('sends to the real ones only', async () => {
    const before = sink.counts.messages;
    const id = await server.send(
      { To: [{ email: 'real@example.net' }], CC: [{ email: 'bounced@simulator.test' }] },
      { token },
    );
    const facts = await server.settled(id);
    expect(facts.Status).toBe('PartiallyDelivered');
    expect(sink.messages.slice(before).map(({ rcpts }) => rcpts)).toEqual([['real@example.net']]);
    expect((await server.call('GET', `/email/${id}`, { token })).json.Sandbox).toBe(false);
  });
});

describe('a capture', () => {
  it('holds the very bytes that would have been sent: signed, with return path, without Bcc', async () => {
    const id = await server.send(
      {
        Sandbox: true,
        To: [{ email: 'a@example.net' }],
        BCC: [{ email: 'hidden@example.net' }],
        HTMLContent: '<a href="https://example.org/login?a=1&amp;b=2">log in</a> with 482913',
        Tags: ['login'],
      },
      { token },
    );
    await server.settled(id);
    const { Items } = (await server.call('GET', '/sandbox/messages?Tag=login', { token })).json;
    expect(Items.map(({ EnvelopeTo }: { EnvelopeTo: string }) => EnvelopeTo).sort()).toEqual([
      'a@example.net',
      'hidden@example.net',
    ]);
    for (const { ID, EnvelopeFrom } of Items) {
      expect(EnvelopeFrom).toMatch(/@mail\.postrider\.test$/);
      const raw = await server.call('GET', `/sandbox/messages/${ID}/raw`, { token });
      expect(raw.headers.get('content-type')).toBe('message/rfc822');
      expect(raw.headers.get('content-security-policy')).toContain('sandbox');
      expect(await dkimVerdict(server, 'example.com', raw.bytes)).toBe('pass');
      expect(readMail(raw.bytes).header('bcc')).toEqual([]);
      expect(raw.text).not.toContain('hidden@');
      const detail = (await server.call('GET', `/sandbox/messages/${ID}`, { token })).json;
      expect(detail.Links).toEqual(['https://example.org/login?a=1&b=2']);
      expect(detail.Codes).toEqual(['482913']);
    }
    expect(new Set(Items.map(({ EnvelopeFrom }: { EnvelopeFrom: string }) => EnvelopeFrom)).size).toBe(2);
  });

  it('can be found by recipient and subject, deleted alone and all at once', async () => {
    await server.settled(
      await server.send({ Sandbox: true, To: [{ email: 'find@example.net' }], Subject: 'Needle' }, { token }),
    );
    const found = (await server.call('GET', '/sandbox/messages?To=find@example.net', { token })).json.Items;
    expect(found).toHaveLength(1);
    expect((await server.call('GET', '/sandbox/messages?Subject=needle', { token })).json.Items).toHaveLength(
      1,
    );
    expect((await server.call('DELETE', `/sandbox/messages/${found[0].ID}`, { token })).text).toBe('{}');
    expect((await server.call('GET', `/sandbox/messages/${found[0].ID}`, { token })).status).toBe(404);
    const all = (await server.call('GET', '/sandbox/messages?Limit=100', { token })).json.Items.length;
    expect((await server.call('DELETE', '/sandbox/messages', { token })).json.Deleted).toBeGreaterThanOrEqual(
      all,
    );
    expect((await server.call('GET', '/sandbox/messages', { token })).json.Items).toEqual([]);
  });
});

describe('SpamAssassin', () => {
  it('of the operator is asked about a captured mail by its own tenant, and the worst rules come first', async () => {
    await server.send({ Sandbox: true, To: [{ email: 'spam@example.net' }], Subject: 'HELLO' }, { token });
    const [{ ID }] = await until('it is captured', async () => {
      const { Items } = (await server.call('GET', '/sandbox/messages?To=spam@example.net', { token })).json;
      return Items.length > 0 ? Items : null;
    });
    const others = await addDomain(server, 'others.example');
    expect((await server.call('GET', `/sandbox/messages/${ID}/spam`, { token: others })).status).toBe(404);
    expect(spamd.asked).toEqual([]);
    const { status, json } = await server.call('GET', `/sandbox/messages/${ID}/spam`, { token });
    expect([status, json]).toEqual([
      200,
      {
        ...{ Why: null, Points: 5.9, Required: 5 },
        Rules: [
          { Name: 'SUBJ_ALL_CAPS', Points: 4.8, Description: 'Subject is all capitals' },
          { Name: 'MISSING_HEADERS', Points: 1.2, Description: 'Missing To: header' },
          { Name: 'DKIM_VALID', Points: -0.1, Description: 'Message has at least one valid DKIM signature' },
        ],
      },
    ]);
    expect(spamd.asked[0]).toMatch(/^REPORT SPAMC\/1\.5\r\nContent-length: \d+\r\n\r\n/);
    expect(spamd.asked[0]).toContain('Subject: HELLO');
  });
});
