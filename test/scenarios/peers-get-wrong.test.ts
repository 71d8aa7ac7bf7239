/**
 * What mail servers often get wrong, over real sockets: the cases of `peers-get-wrong.ts` that no other file shows.
 * Each far end has an address of its own on loopback; one server delivers to all of them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import type { Script, ScriptedMx } from '../fakes/scripted-mx.ts';
import { destuff } from '../fakes/smtp-sink.ts';
import { openStoreOf } from './database-of-folder.ts';
import { directKit } from './direct-kit.ts';
import { fileScope, type Instance, type MessageFacts, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';

const NET = '127.35';
const scope = fileScope();
const kit = directKit(scope, () => dns, NET);
let dns: FakeDns;
let server: Instance;
let token: string;
let good: ScriptedMx & { address: string };
/** Takes its fifteen seconds while the others run. */
let swallowed: ReturnType<typeof throughTheHole>;

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
  good = await domain('good.test', {});
  ({ server, token } = await kit.start({ settings: { retry: `${'500ms,'.repeat(12)}60s` } }));
  swallowed = throughTheHole();
  swallowed.catch(() => {});
});

/** A domain with one MX host that follows the script. */
async function domain(
  name: string,
  script: Script | readonly Script[],
): Promise<ScriptedMx & { address: string }> {
  const mx = await kit.farEnd(script);
  dns.set(name, { MX: [`mx.${name}`] });
  dns.set(`mx.${name}`, { A: [mx.address] });
  return mx;
}

const sendTo = (address: string, more: object = {}) =>
  server.send({ To: [{ email: address }], ...more }, { token });
const eventsOf = async (id: string): Promise<{ Event: string; Reply?: string; RemoteMta?: string }[]> =>
  (await server.call('GET', `/email/${id}/events`)).json.Items;
const kindsOf = async (id: string) => (await eventsOf(id)).map(({ Event }) => Event);
const messagesOf = (mx: ScriptedMx) => mx.connections.flatMap(({ messages }) => messages);
const commandsOf = (mx: ScriptedMx) => mx.connections.flatMap(({ commands }) => commands);

describe('the way to a host', () => {
  it('goes on to the next host where a greeting says 554, and bounces nobody', async () => {
    const closed = await kit.farEnd({ banner: { do: 'last', reply: '554 5.7.1 No SMTP service here' } });
    dns.set('shut.test', {
      MX: [
        [10, 'first.shut.test'],
        [20, 'mx.good.test'],
      ],
    });
    dns.set('first.shut.test', { A: [closed.address] });
    const id = await sendTo('a@shut.test');
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect(closed.connections).toHaveLength(1);
    expect(await kindsOf(id)).toEqual(['accepted', 'delivered']);
  });

  it('a connection that ends at its second MAIL costs no attempt and no time', async () => {
    const mx = await domain('idle.test', [{ mail: ['250 ok', { do: 'close' }] }, {}]);
    await server.settled(await sendTo('a@idle.test'));
    const id = await sendTo('b@idle.test');
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect(mx.connections).toHaveLength(2);
    expect(messagesOf(mx)).toHaveLength(2);
    expect(await kindsOf(id)).toEqual(['accepted', 'delivered']);
  });
});

describe('ten thousand messages for a host that is down', () => {
  it('keep no one-time code for another waiting, and nothing is noted of each of them', async () => {
    dns.set('dead.test', { MX: ['mx.dead.test'] });
    dns.set('mx.dead.test', { A: [`${NET}.9.2`] });
    const ids: string[] = [];
    for (let wave = 0; wave < 10; wave++) {
      const sent = Array.from({ length: 20 }, (_, i) => {
        const To = Array.from({ length: 50 }, (_, j) => ({ email: `r${wave}-${i}-${j}@dead.test` }));
        return server.send({ To }, { token });
      });
      ids.push(...(await Promise.all(sent)));
    }
    const code = await sendTo('code@good.test', { Priority: 'critical' });
    await until('the code is there', () =>
      messagesOf(good).some((message) => String(message).includes('code@good.test')),
    );
    expect((await server.settled(code)).Recipients[0]).toMatchObject({ Attempts: 1 });
    const answer = await server.call('GET', '/events?Event=deferred&RetrieveCount=100');
    expect(answer.status, answer.text).toBe(200);
    const dead = answer.json.Events.filter(({ Recipient }: { Recipient: string }) =>
      Recipient.endsWith('@dead.test'),
    );
    // One row hears of each failure of the path; the path was asked a few times at most meanwhile.
    expect(dead.length).toBeLessThan(20);
    const last = (await server.call('GET', `/email/${ids.at(-1)}`)).json.Recipients;
    expect(last.every(({ Attempts }: { Attempts: number }) => Attempts === 0)).toBe(true);
  });
});

describe('what a reply asks for', () => {
  it('a greylisted message comes back with the same return path, and is taken', async () => {
    const mx = await domain('grey.test', { rcpt: ['451 4.7.1 Greylisted, see you later', '250 ok'] });
    const id = await sendTo('a@grey.test');
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 2 });
    const [first, second, ...more] = commandsOf(mx).flatMap((line) => /^MAIL FROM:<[^>]*>/.exec(line) ?? []);
    expect(first).toMatch(/^MAIL FROM:<[^>]+@/);
    expect(second).toBe(first);
    expect(more).toEqual([]);
    // What was pipelined behind the refusal is a lone dot: no message.
    expect(messagesOf(mx).filter((message) => message.length > 0)).toHaveLength(1);
  });

  it('a wait of an hour is cut to half of one for a one-time code', async () => {
    await domain('later.test', { rcpt: '451 4.7.1 Greylisted, try again in 3600 seconds' });
    // One with the waits it has of itself.
    const { server: own, token: ownToken } = await kit.start();
    const id = await own.send({ To: [{ email: 'a@later.test' }], Priority: 'critical' }, { token: ownToken });
    await until('it is deferred', async () => (await own.statusOf(id)) === 'Deferred');
    const [row] = (await own.call('GET', `/email/${id}`)).json.Recipients;
    const waitMs = Date.parse(row.NextAttemptAt) - Date.now();
    expect(waitMs).toBeGreaterThan(60_000);
    // A prescribed wait is up to a tenth longer, so that not all come back at once.
    expect(waitMs).toBeLessThanOrEqual(1.1 * (30 * 60_000 + 10_000));
  });

  it('the number under which a host took the message is kept for whoever asks', async () => {
    await domain('number.test', { dot: '250 2.0.0 Ok: queued as 4XyZ12AbC9' });
    const id = await sendTo('a@number.test');
    expect((await server.settled(id)).Recipients[0]?.LastResponse).toContain('queued as 4XyZ12AbC9');
    expect((await eventsOf(id)).at(-1)?.Reply).toContain('queued as 4XyZ12AbC9');
  });
});

describe('what a host cannot take', () => {
  it('a message above its SIZE bounces before DATA, and SIZE 0 is no limit', async () => {
    const small = await domain('small.test', { capabilities: ['SIZE 200'] });
    const any = await domain('any.test', { capabilities: ['SIZE 0'] });
    const bounced = await server.settled(await sendTo('a@small.test'));
    expect(bounced.Recipients[0]).toMatchObject({ Status: 'Bounced' });
    expect(commandsOf(small).filter((line) => /^(MAIL|RCPT|DATA)/.test(line))).toEqual([]);
    expect((await server.settled(await sendTo('a@any.test'))).Status).toBe('Delivered');
    expect(messagesOf(any)).toHaveLength(1);
  });

  it('a local part outside ASCII bounces where SMTPUTF8 is not offered, and suppresses nobody', async () => {
    const old = await domain('old.test', { capabilities: ['PIPELINING', '8BITMIME'] });
    const id = await sendTo('чебурашка@old.test');
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
    expect(commandsOf(old).filter((line) => /^(RCPT|DATA)/.test(line))).toEqual([]);
    expect(await kindsOf(id)).toEqual(['accepted', 'bounced']);
  });
});

describe('content that would break a line', () => {
  it('arrives in lines that SMTP allows, whole and with a signature that verifies', async () => {
    const mx = await domain('lines.test', {});
    const long = 'x'.repeat(5_000);
    const text = `.\n..two\n${long}\na lone\rreturn\n.\r\nQUIT\r\nlast`;
    const id = await sendTo('a@lines.test', {
      ContentType: 'Text',
      HTMLContent: undefined,
      PlainContent: text,
      Subject: `Long ${'ab cd '.repeat(150)}end`,
    });
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect(mx.connections).toHaveLength(1);
    const [wire, ...more] = messagesOf(mx);
    expect(more).toEqual([]);
    const raw = Buffer.from(wire ?? []);
    const lines = raw.toString('latin1').split('\r\n');
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(998);
      expect(line).not.toMatch(/[\r\n\0]/);
      expect(line, 'a dot alone would end the message').not.toBe('.');
    }
    const message = destuff(raw);
    expect(await dkimVerdict(server, 'example.com', message)).toBe('pass');
    expect(readMail(message).header('subject')[0]).toMatch(/^Long ab cd .*end$/);
    const parsed = await PostalMime.parse(message);
    expect(parsed.text?.trimEnd().split(/\r\n|\r|\n/)).toEqual(text.split(/\r\n|\r|\n/));
  });
});

describe('mail that waits for its sender domain', () => {
  it('is held with the reason where the domain was suspended meanwhile', async () => {
    const mx = await domain('patient.test', {});
    // Accepted by a server that does not deliver, so that the state changes before the first attempt.
    const { server: taking, token: own } = await kit.start({ settings: { roles: 'http' } });
    const id = await taking.send({ To: [{ email: 'a@patient.test' }] }, { token: own });
    await taking.stop();
    await suspend(taking.folder);
    const settings = {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(mx.port),
      'allow-networks': '127.0.0.0/8',
      retry: '200ms',
    };
    const sending = await startInstance(scope, { folder: taking.folder, settings });
    const row = await until('it is held', async () => {
      const [found] = (await sending.call('GET', `/email/${id}`)).json.Recipients;
      return found.Status === 'Held' ? found : null;
    });
    expect(row).toMatchObject({
      Status: 'Held',
      Attempts: 0,
      WaitReason: expect.stringContaining('Suspended'),
    });
    // It is looked at again within a minute: the domain may come back.
    expect(Date.parse(row.NextAttemptAt) - Date.now()).toBeLessThanOrEqual(61_000);
    await sending.stop();
    expect(messagesOf(mx)).toEqual([]);
  });
});

describe('a first host that swallows connections', () => {
  it('is passed over for the next one, long before a one-time code is tried again', async () => {
    const { id, tookMs, facts } = await swallowed;
    // Sooner, nothing was swallowed, and the test would show nothing.
    expect(tookMs).toBeGreaterThan(5_000);
    expect(facts.Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect((await eventsOf(id)).at(-1)?.RemoteMta).toContain('mx.good.test');
  });
});

/** As a person with the database would: there is no command for it. */
async function suspend(folder: string): Promise<void> {
  const store = await openStoreOf(folder);
  const domain = await store.getDomain({ name: 'example.com' });
  await store.setDomainStatus({
    name: 'example.com',
    verifyToken: domain?.verifyToken ?? '',
    status: 'Suspended',
    verifiedBy: 'operator',
    failingSince: null,
    checks: null,
    events: [],
    now: systemClock.now(),
  });
  await store.close();
}

async function throughTheHole(): Promise<{ id: string; tookMs: number; facts: MessageFacts }> {
  const hole = `${NET}.9.1`;
  await blackHole(hole, good.port);
  dns.set('hole.test', {
    MX: [
      [10, 'first.hole.test'],
      [20, 'mx.good.test'],
    ],
  });
  dns.set('first.hole.test', { A: [hole] });
  const from = performance.now();
  const id = await sendTo('a@hole.test', { Priority: 'critical' });
  const facts = await until(
    'the code is there',
    async () => {
      const found: MessageFacts = (await server.call('GET', `/email/${id}`)).json;
      return found.Status === 'Delivered' ? found : null;
    },
    40_000,
  );
  return { id, tookMs: performance.now() - from, facts };
}

/** A host whose system answers no connection any more: nobody accepts, and the room for those that wait is taken. */
async function blackHole(host: string, port: number): Promise<void> {
  const program = `
    require('node:net').createServer().listen({ host: '${host}', port: ${port}, backlog: 1 }, () => {
      require('node:fs').writeSync(1, 'listening');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child: ChildProcess = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  scope.defer(async () => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  if (child.stdout === null) throw new Error('a child without output');
  await once(child.stdout, 'data');
  for (let filler = 0; filler < 4; filler++) {
    const socket = connect({ host, port });
    socket.on('error', () => {});
    scope.defer(async () => void socket.destroy());
  }
}
