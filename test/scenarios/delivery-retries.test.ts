/** Retries: the same bytes each time, the reply in the timeline, lanes in their order, and giving up when mail expires. */
import { describe, expect, it } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';

const scope = fileScope();

async function relayTo(script: Script, settings: Record<string, string> = {}) {
  const mx = await startScriptedMx(script);
  scope.defer(() => mx.close());
  const server = await startInstance(scope, {
    settings: { route: `smtp://127.0.0.1:${mx.port}`, retry: '100ms', ...settings },
  });
  const token = await addDomain(server, 'example.com');
  const messages = () => mx.connections.flatMap((connection) => connection.messages);
  const commands = () => mx.connections.flatMap((connection) => connection.commands);
  return { mx, server, token, messages, commands };
}

const kindsOf = async (server: Instance, id: string): Promise<string[]> =>
  (await server.call('GET', `/email/${id}/events`)).json.Items.map(({ Event }: { Event: string }) => Event);

describe('a message that is deferred first', () => {
  it('is sent again with the same bytes, its signature and its trace among them', async () => {
    const { server, token, messages } = await relayTo({
      dot: ['451 4.3.0 not now', '451 4.3.0 not yet', '250 2.0.0 taken'],
    });
    const id = await server.send({ PlainContent: 'text\n.\n..dots' }, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 3 });
    const copies = messages().map((bytes) => bytes.toString('latin1').replace(/\r\n\.\./g, '\r\n.'));
    expect(copies).toHaveLength(3);
    expect(new Set(copies).size).toBe(1);
    const [copy = ''] = copies;
    const raw = (await server.call('GET', `/email/${id}/raw`, { token })).bytes.toString('latin1');
    expect(copy.endsWith(raw)).toBe(true);
    expect(await dkimVerdict(server, 'example.com', Buffer.from(copy, 'latin1'))).toBe('pass');
    expect(await kindsOf(server, id)).toEqual(['accepted', 'deferred', 'deferred', 'delivered']);
  });

  it('is signed by the key that signs when it is sent, not by the one of the first attempt', async () => {
    const dns = await createFakeDns();
    scope.defer(() => dns.close());
    const { server, token, messages } = await relayTo(
      { dot: ['451 4.3.0 not now', '250 2.0.0 taken'] },
      { retry: '1h', dns: dns.text },
    );
    const id = await server.send({}, { token });
    await until('it is deferred', async () => (await server.statusOf(id)) === 'Deferred');
    const { DnsRecords } = (await server.call('GET', '/domains/example.com')).json;
    for (const { Host, Value } of DnsRecords)
      if (Host.includes('._domainkey.')) dns.set(Host, { TXT: [Value] });
    const rotated = await server.call('POST', '/domains/example.com/dkim/rotate');
    expect(rotated.status, rotated.text).toBe(200);
    await server.call('POST', `/email/${id}/retry`, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
    const signatures = messages().map((bytes) => readMail(bytes).header('dkim-signature')[0] ?? '');
    expect(signatures.map((text) => /s=([^;]+);/.exec(text)?.[1])).toEqual(['pr1', 'pr2']);
    const [, second = Buffer.alloc(0)] = messages();
    expect(await dkimVerdict(server, 'example.com', second)).toBe('pass');
  });

  it('does not go out by the keys of a domain that was removed meanwhile, and says so', async () => {
    const { server, token, messages } = await relayTo(
      { dot: ['451 4.3.0 not now', '250 2.0.0 taken'] },
      { retry: '1h' },
    );
    const id = await server.send({}, { token });
    await until('it is deferred', async () => (await server.statusOf(id)) === 'Deferred');
    expect((await server.call('DELETE', '/domains/example.com')).status).toBe(200);
    await server.call('POST', `/email/${id}/retry`);
    await until('it is held', async () => (await server.statusOf(id)) === 'Held');
    const [row] = (await server.call('GET', `/email/${id}`)).json.Recipients;
    expect(row.WaitReason).toContain('the domain example.com is no longer registered');
    expect(messages()).toHaveLength(1);
  });

  it('shows the reply, when it is tried next, and the conversation', async () => {
    const { server, token } = await relayTo({ rcpt: '450 4.2.1 mailbox busy' }, { retry: '1h' });
    const id = await server.send({}, { token });
    await until('it is deferred', async () => (await server.statusOf(id)) === 'Deferred');
    const { json } = await server.call('GET', `/email/${id}`, { token });
    expect(json.Status).toBe('Queued');
    expect(json.Recipients[0]).toMatchObject({
      Status: 'Deferred',
      Attempts: 1,
      LastSmtpCode: 450,
      LastResponse: expect.stringContaining('mailbox busy'),
    });
    const wait = Date.parse(json.Recipients[0].NextAttemptAt) - Date.now();
    expect(wait).toBeGreaterThan(50 * 60_000);
    const [, deferred] = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(deferred).toMatchObject({
      Event: 'deferred',
      LogLevel: 'Warn',
      Bounce: { Type: 'Transient', SmtpCode: 450, EnhancedCode: '4.2.1' },
    });
    expect(deferred.Conversation).toContain('RCPT TO:<reader@example.net>');
    expect(deferred.Conversation).toContain('450 4.2.1 mailbox busy');
    const logged = server.logs.find(({ msg, stream }) => msg === 'deferred' && stream === 'mail');
    expect(logged).toMatchObject({ nextAt: json.Recipients[0].NextAttemptAt });
    // Instants are written in one way, whatever the line is about.
    const instants = server.logs.flatMap((line) =>
      Object.entries(line).filter(([name]) => /(?:At|^time|^until)$/.test(name)),
    );
    for (const [name, value] of instants) expect(value, name).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    expect(deferred.Conversation).not.toContain('Hello');
  });

  it('is given up when its time is over, with the last reply', async () => {
    const { server, token } = await relayTo(
      { rcpt: '450 4.2.1 mailbox busy' },
      { 'max-age': '7s', retry: '500ms' },
    );
    const id = await server.send({}, { token });
    const facts = await server.settled(id);
    expect(facts.Status).toBe('Failed');
    expect(facts.Recipients[0]).toMatchObject({
      Status: 'Failed',
      LastResponse: expect.stringContaining('mailbox busy'),
    });
    expect((await kindsOf(server, id)).at(-1)).toBe('failed');
  });
});

describe('a permanent refusal', () => {
  it.each([
    ['RCPT', { rcpt: '550 5.1.1 no such user' }, 'RecipientInvalid'],
    ['MAIL', { mail: '550 5.7.1 not you' }, 'PolicyOther'],
    ['DATA', { data: '554 5.6.0 no' }, 'ProtocolError'],
    ['the final dot', { dot: '552 5.3.4 too large' }, 'MessageTooLarge'],
  ] as const)('at %s is a bounce at once, with its class', async (_stage, script, Class) => {
    const { server, token, mx } = await relayTo(script);
    const id = await server.send({}, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced', Attempts: 1 });
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(items[1]).toMatchObject({
      Event: 'bounced',
      Bounce: { Type: 'Permanent', Phase: 'Session', Class, SmtpCode: expect.any(Number) },
    });
    expect(mx.connections).toHaveLength(1);
  });

  it('of one recipient says nothing about the others', async () => {
    const { server, token } = await relayTo(
      { rcpt: ['550 5.1.1 no such user', '250 2.1.5 ok'] },
      { 'max-connections': '1' },
    );
    const id = await server.send(
      { To: [{ email: 'bad@example.net' }, { email: 'good@example.net' }] },
      { token },
    );
    const facts = await server.settled(id);
    expect(facts.Recipients.map(({ Status }) => Status).sort()).toEqual(['Bounced', 'Delivered']);
    expect(facts.Status).toBe('PartiallyDelivered');
  });

  it.each(['251 2.1.5 will forward', '252 2.1.5 cannot verify, will try'])('is not %s', async (reply) => {
    const { server, token } = await relayTo({ rcpt: reply });
    const id = await server.send({}, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
  });
});

describe('lanes', () => {
  it('let a critical message pass the bulk that waits for the same single connection', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { server, token, messages } = await relayTo(
      { dot: [{ do: 'wait', until: held, next: '250 2.0.0 ok' }, '250 2.0.0 ok'] },
      { 'max-connections': '1' },
    );
    const ids: string[] = [];
    for (let i = 0; i < 40; i++)
      ids.push(await server.send({ Priority: 'bulk', Subject: `bulk ${i}` }, { token }));
    const critical = await server.send({ Priority: 'CRITICAL', Subject: 'code' }, { token });
    release();
    await server.settled(critical);
    await server.settled(ids.at(-1) ?? '');
    const subjects = messages().map((bytes) => readMail(bytes).header('subject')[0]);
    expect(subjects).toHaveLength(41);
    // What was made ready before it arrived goes first: a handful, not the forty.
    expect(subjects.indexOf('code')).toBeLessThan(12);
    const { json } = await server.call('GET', `/email/${critical}`, { token });
    expect(json.Priority).toBe('critical');
    expect(Date.parse(json.ExpiresAt) - Date.parse(json.CreatedAt)).toBe(3_600_000);
  });

  it('let a critical message in where bulk follows bulk on the only connection', async () => {
    const gates = Array.from({ length: 31 }, () => Promise.withResolvers<void>());
    const { server, token, messages } = await relayTo(
      { dot: gates.map(({ promise }) => ({ do: 'wait', until: promise, next: '250 2.0.0 ok' })) },
      { 'max-connections': '1' },
    );
    for (let i = 0; i < 30; i++) await server.send({ Priority: 'bulk', Subject: `bulk ${i}` }, { token });
    for (const [n, gate] of gates.entries()) {
      // It comes when the connection has long been handed its next bulk message before the last one is through.
      if (n === 3) await server.send({ Priority: 'critical', Subject: 'code' }, { token });
      await until(`message ${n} is there`, () => messages().length > n);
      gate.resolve();
    }
    const subjects = messages().map((bytes) => readMail(bytes).header('subject')[0]);
    expect(subjects.indexOf('code')).toBeLessThan(12);
  });
});
