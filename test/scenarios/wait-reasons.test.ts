/**
 * Everything that waits says why, wherever somebody looks: the message, the queue, the path, the command. Most of what
 * waits is held in memory under a lease, where no row says anything.
 */
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { messageText } from '../../src/cli/message-text.ts';
import { queueText } from '../../src/cli/queue-command.ts';
import type { QueueItem } from '../../src/listeners/http/operations/operator.ts';
import type { WaitKind } from '../../src/pipeline/deliver/path/state.ts';
import { NO_TIME_LEFT } from '../../src/pipeline/queue/retry-schedule.ts';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import type { Script } from '../fakes/scripted-mx.ts';
import { command } from './commands.ts';
import { directKit } from './direct-kit.ts';
import { addDomain, fileScope, type Instance, type MessageFacts, startInstance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;
const kit = directKit(scope, () => dns, '127.31');

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

/** A message that waits, and the reason that is expected. */
interface Waiting {
  server: Instance;
  id: string;
  reason: string | RegExp;
  /** The command says it in other words. */
  shownAs?: string;
  /** Nobody knows when it is tried next. */
  open?: true;
}

/** A host for `domain`, which is its site. */
async function host(domain: string, script: Script | readonly Script[] = {}): Promise<void> {
  const { address } = await kit.farEnd(script);
  dns.set(domain, { MX: [`mx.${domain}`] });
  dns.set(`mx.${domain}`, { A: [address] });
}

/** A server, and what it sends in turn: each waits for the end, or the attempts, of the one before. */
async function sending(
  options: Parameters<typeof kit.start>[0],
  ...steps: readonly {
    to: string;
    until?: (row: MessageFacts['Recipients'][number]) => boolean;
    more?: object;
  }[]
): Promise<{ server: Instance; token: string; id: string }> {
  const { server, token } = await kit.start(options);
  let id = '';
  for (const { to, until: holds, more } of steps) {
    id = await server.send({ To: [{ email: to }], ...more }, { token });
    if (holds !== undefined)
      await until(`mail to ${to}`, async () => {
        const [row] = ((await server.call('GET', `/email/${id}`)).json as MessageFacts).Recipients;
        return row !== undefined && holds(row);
      });
  }
  return { server, token, id };
}

const delivered = ({ Status }: { Status: string }) => Status === 'Delivered';
const isSending = ({ Status }: { Status: string }) => Status === 'Sending';
const tried = ({ WaitReason }: { WaitReason: string }) => /^(path:|deferred)/.test(WaitReason);
const never = () => new Promise<never>(() => {});
const HANGS: Script = { dot: { do: 'wait', until: never(), next: '250 ok' } };
const GREETS_NOT: Script = { banner: { do: 'silence' } };
const limits = (id: string, domains: readonly string[], some: object) => ({
  shaping: [{ id, domains, limits: some }],
});
const iso = (ms: number) => new Date(Date.now() + ms).toISOString();

/**
 * Every kind of wait, each made with a server of its own. What a path says of itself is held to its list by the type; the
 * store that cannot write and the node that has no lease are shown with the parts that say them.
 */
const WAITS: Record<Exclude<WaitKind, 'none' | 'store' | 'lease'> | Other, () => Promise<Waiting>> = {
  async 'message-rate'() {
    await host('slow.test');
    const rate = limits('slow', ['slow.test'], { messagesPerSecond: 0.01 });
    const made = await sending(rate, { to: 'a@slow.test', until: delivered }, { to: 'b@slow.test' });
    return { ...made, reason: 'rate limit of slow: 0.6/min' };
  },
  async 'connection-rate'() {
    await host('calls.test');
    const rate = limits('calls', ['calls.test'], { newConnectionsPerMinute: 1, messagesPerConnection: 1 });
    const made = await sending(rate, { to: 'a@calls.test', until: delivered }, { to: 'b@calls.test' });
    return { ...made, reason: 'calls gets at most 1 new connections a minute' };
  },
  async 'provider-connections'() {
    await host('one.test', HANGS);
    await host('two.test');
    const rate = limits('shared', ['one.test', 'two.test'], { providerConnections: 1 });
    const made = await sending(rate, { to: 'a@one.test', until: isSending }, { to: 'b@two.test' });
    return { ...made, reason: /connections to (shared|mx\.two\.test) are in use/ };
  },
  async 'address-connections'() {
    const { address } = await kit.farEnd(HANGS);
    const domains = Array.from({ length: 11 }, (_, n) => `customer${n}.test`);
    for (const domain of domains) {
      dns.set(domain, { MX: [`mail.${domain}`] });
      dns.set(`mail.${domain}`, { A: [address] });
    }
    const steps = domains.map((domain) => ({ to: `a@${domain}`, until: isSending }));
    const made = await sending({}, ...steps.slice(0, 10), { to: 'a@customer10.test' });
    return {
      ...made,
      reason:
        'all connections to the mail server of mail.customer10.test are in use, also by mail to other domains',
    };
  },
  async 'all-connections'() {
    await host('first.test', HANGS);
    await host('second.test');
    const few = { openFiles: 128 + 2 };
    const made = await sending(few, { to: 'a@first.test', until: isSending }, { to: 'b@second.test' });
    return { ...made, reason: 'all 1 connections of this server are in use' };
  },
  async slots() {
    await host('busy.test', HANGS);
    const made = await sending(
      { settings: { 'max-connections': '1' } },
      { to: 'a@busy.test', until: isSending },
      { to: 'b@busy.test' },
    );
    return { ...made, reason: 'all connections to mx.busy.test are in use (1)' };
  },
  async connecting() {
    await host('silent.test', GREETS_NOT);
    return {
      ...(await sending({}, { to: 'a@silent.test' })),
      reason: 'a connection to mx.silent.test is being opened',
    };
  },
  async resolving() {
    await host('nameless.test');
    dns.fault('mx.nameless.test', { kind: 'drop' });
    return {
      ...(await sending({}, { to: 'a@nameless.test' })),
      reason: 'DNS is asked for the hosts of mx.nameless.test',
    };
  },
  async breaker() {
    await host('shut.test', { banner: '421 4.3.2 closed for today' });
    const hour = { settings: { retry: '1h' } };
    const made = await sending(hour, { to: 'a@shut.test', until: tried }, { to: 'b@shut.test' });
    return { ...made, reason: /^path: .*421 4\.3\.2 closed for today/ };
  },
  async suspended() {
    const listed =
      '554 5.7.1 Client host [192.0.2.1] blocked using bl.spamcop.net; see https://www.spamcop.net/bl.shtml';
    await host('listed.test', { banner: { do: 'last', reply: listed } });
    const made = await sending({}, { to: 'a@listed.test', until: tried }, { to: 'b@listed.test' });
    return { ...made, reason: /^path: mx\.listed\.test is suspended: .*spamcop/ };
  },
  async local() {
    await host('near.test');
    const sources = [{ id: 'gone', address: '192.0.2.77' }];
    const made = await sending({ file: { sources } }, { to: 'a@near.test' });
    return { ...made, reason: /mx\.near\.test .*the source address 192\.0\.2\.77 is not an address of this/ };
  },
  async 'no-node'() {
    await host('lonely.test');
    const sources = [{ id: 'b', address: '127.31.255.8', node: 'another' }];
    return {
      ...(await sending({ file: { sources } }, { to: 'a@lonely.test' })),
      reason: 'the node that sends from this source is not running',
    };
  },
  async 'warm-up'() {
    dns.set('big.test', { MX: ['mta1.am0.yahoodns.net'] });
    dns.set('mta1.am0.yahoodns.net', { A: [(await kit.farEnd({})).address] });
    const sources = [{ id: 'fresh', address: '127.31.255.9', newSince: '2026-01-01' }];
    const steps = Array.from({ length: 4 }, (_, n) => ({
      ...{ to: `r${n}@big.test`, more: { Priority: 'bulk' } },
      ...(n < 3 ? { until: delivered } : {}),
    }));
    return {
      ...(await sending({ file: { sources } }, ...steps)),
      reason: /warm-up of fresh: 50 a day to yahoo/,
    };
  },
  async probing() {
    await host('mending.test', [{ banner: '421 4.3.2 closed for today' }, GREETS_NOT]);
    const hour = { settings: { retry: '1h' } };
    const made = await sending(hour, { to: 'a@mending.test', until: tried }, { to: 'b@mending.test' });
    await made.server.call('POST', '/queue/paths/mx.mending.test/try');
    return { ...made, reason: /tried again with one message|is being opened/ };
  },
  async 'where it goes'() {
    dns.fault('mute.test', { kind: 'drop' });
    return {
      ...(await sending({}, { to: 'a@mute.test' })),
      reason: 'DNS is asked where mail for mute.test goes',
    };
  },
  async 'behind another'() {
    await host('stuck.test', { dot: ['250 ok', { do: 'wait', until: never(), next: '250 ok' }] });
    const made = await sending(
      { settings: { 'max-connections': '1' } },
      { to: 'a@stuck.test', until: delivered },
      { to: 'b@stuck.test', until: isSending },
      { to: 'c@stuck.test' },
    );
    return { ...made, reason: /waits behind another message|all connections to mx\.stuck\.test are in use/ };
  },
  async 'rate of a sender'() {
    const spam =
      '550 5.7.1 Our system has detected that this message is likely suspicious due to the very low reputation of the sending domain.';
    dns.set('reader.test', { MX: ['aspmx.l.google.com'] });
    dns.set('aspmx.l.google.com', { A: [(await kit.farEnd({ dot: [spam, spam, '250 ok'] })).address] });
    const ended = ({ Status }: { Status: string }) => ['Bounced', 'Delivered'].includes(Status);
    const three = ['a', 'b', 'c'].map((local) => ({ to: `${local}@reader.test`, until: ended }));
    const clear = { shaping: [{ id: 'google', mx: ['.google.com'], limits: { tls: 'opportunistic' } }] };
    const made = await sending(clear, ...three, { to: 'd@reader.test' });
    return { ...made, reason: 'rate limit of example.com at google: 10/min' };
  },
  async 'pause of a sender'() {
    const refusal = '550 5.7.26 This mail is unauthenticated: DMARC policy of the domain';
    await host('checks.test', { rcpt: [refusal, refusal, refusal, '250 ok'] });
    const bounced = ({ Status }: { Status: string }) => Status === 'Bounced';
    const three = ['a', 'b', 'c'].map((local) => ({ to: `${local}@checks.test`, until: bounced }));
    return {
      ...(await sending({}, ...three, { to: 'd@checks.test' })),
      reason: 'mail from example.com to mx.checks.test is paused',
    };
  },
  async hold() {
    await host('price.test');
    const { server, token } = await kit.start();
    const body = { RecipientDomain: 'price.test', Reason: 'wrong price' };
    expect((await server.call('POST', '/queue/hold', { body })).status).toBe(201);
    const id = await server.send({ To: [{ email: 'a@price.test' }] }, { token });
    return { server, id, reason: 'held: wrong price', shownAs: 'Held: wrong price', open: true };
  },
  async 'hold for a time'() {
    await host('sale.test');
    const { server, token } = await kit.start();
    const body = { RecipientDomain: 'sale.test', Reason: 'until the sale', Until: iso(3_600_000) };
    expect((await server.call('POST', '/queue/hold', { body })).status).toBe(201);
    const id = await server.send({ To: [{ email: 'a@sale.test' }] }, { token });
    return { server, id, reason: 'held: until the sale', shownAs: 'Held: until the sale' };
  },
  async 'sender domain'() {
    await host('gone.test', { rcpt: '450 4.2.0 later' });
    const { server, id } = await sending({ settings: { retry: '1h' } }, { to: 'a@gone.test', until: tried });
    await server.call('DELETE', '/domains/example.com');
    await server.call('POST', `/email/${id}/retry`);
    return {
      server,
      id,
      reason: /^held by domain: the domain example\.com is no longer registered/,
      shownAs: 'Held: the domain',
    };
  },
  async deferred() {
    await host('later.test', { rcpt: '450 4.2.0 not now' });
    const hour = { settings: { retry: '1h' } };
    return {
      ...(await sending(hour, { to: 'a@later.test', until: tried })),
      reason: 'deferred',
      shownAs: 'Deferred: 450 4.2.0 not now (1)',
    };
  },
  async scheduled() {
    const more = { SendAt: iso(3_600_000) };
    return { ...(await sending({}, { to: 'a@soon.test', more })), reason: 'scheduled', shownAs: 'Scheduled' };
  },
  async 'its end'() {
    await host('code.test', { rcpt: '450 4.2.0 not now' });
    const more = { ExpiresAt: iso(25_000) };
    return { ...(await sending({}, { to: 'a@code.test', more })), reason: NO_TIME_LEFT, open: true };
  },
  async sandbox() {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    const body = { Recipient: 'late@example.net', Result: 'Click', DelayMs: 60_000 };
    expect((await server.call('POST', '/sandbox/rules', { token, body })).status).toBe(201);
    const id = await server.send({ To: [{ email: 'late@example.net' }] }, { token });
    return { server, id, reason: 'delayed by a sandbox rule' };
  },
};

/** Waits that are not a path's own. */
type Other =
  | 'probing'
  | 'where it goes'
  | 'behind another'
  | 'rate of a sender'
  | 'pause of a sender'
  | 'hold'
  | 'hold for a time'
  | 'sender domain'
  | 'deferred'
  | 'scheduled'
  | 'its end'
  | 'sandbox';

describe.each(Object.entries(WAITS))('a wait for %s', (_, make) => {
  it('is shown by the message and the queue, by API and command, with a next try that is not past', async () => {
    const { server, id, reason, shownAs, open } = await make();
    const said = (text: string) => (typeof reason === 'string' ? text.includes(reason) : reason.test(text));
    const looked = async () => {
      const atMs = Date.now();
      const { json: message } = await server.call('GET', `/email/${id}`);
      const { json: queue } = await server.call('GET', '/queue');
      return { atMs, message, queue, row: message.Recipients[0] };
    };
    const { atMs, message, queue, row } = await until(`it waits for ${reason}`, async () => {
      const found = await looked();
      // In between it may wait for something else, but never for nothing.
      if (found.row.Status !== 'Sending') expect(found.row.WaitReason).not.toBe('');
      const inQueue = found.queue.Queues.some(({ Reasons }: QueueItem) =>
        Reasons.some(({ Reason }) => said(Reason)),
      );
      return said(found.row.WaitReason) && inQueue ? found : null;
    });
    expect(['Queued', 'Deferred', 'Held', 'Scheduled']).toContain(row.Status);
    if (open) expect(row.NextAttemptAt).toBeNull();
    else expect(Date.parse(row.NextAttemptAt)).toBeGreaterThanOrEqual(atMs);
    const site = row.Email.split('@')[1];
    const item = queue.Queues.find(({ Site }: QueueItem) => Site === site);
    for (const { Reason } of item.Reasons) expect(Reason).not.toBe('');
    if (item.NextDueAt !== null) expect(Date.parse(item.NextDueAt)).toBeGreaterThanOrEqual(atMs);
    const words = shownAs ?? (typeof reason === 'string' ? reason : row.WaitReason.slice(0, 60));
    expect(queueText(queue)).toContain(words.replace(/^path: /, ''));
    const { json: events } = await server.call('GET', `/email/${id}/events`);
    const text = messageText(new PassThrough() as never, message, events.Items, atMs - 1);
    const itself = row.WaitReason.replace(/^(?:path: |held: |held by domain: |held$)/, '').slice(0, 40);
    if (reason !== 'deferred') expect(text).toContain(itself);
    if (row.NextAttemptAt !== null && row.Status !== 'Held')
      expect(text).toContain(`next try ${row.NextAttemptAt}`);
  });
});

describe('mail that waits in memory', () => {
  it('stops waiting when it goes, and is counted as waiting until then', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await host('once.test', { dot: [{ do: 'wait', until: held, next: '250 ok' }, '250 ok'] });
    const { server, token } = await kit.start({ settings: { 'max-connections': '1' } });
    const first = await server.send({ To: [{ email: 'a@once.test' }] }, { token });
    await until('the first is being sent', async () => (await server.statusOf(first)) === 'Sending');
    const second = await server.send({ To: [{ email: 'b@once.test' }] }, { token });
    await until('the second waits', async () => (await server.statusOf(second)) === 'Queued');
    await until('the first says what it waits for, and for how long', async () => {
      const [sent] = (await server.call('GET', `/email/${first}`)).json.Recipients;
      expect(sent).toMatchObject({ Status: 'Sending', NextAttemptAt: null });
      const said = /^on its way to mx\.once\.test \([\d.]+\) for (\d+) s: no reply to the whole message yet$/;
      expect(sent.WaitReason).toMatch(said);
      return Number(said.exec(sent.WaitReason)?.[1]) > 0;
    });
    expect((await server.call('GET', '/queue')).json).toMatchObject({ Waiting: 1, Sending: 1 });
    // A token of another domain sees none of it.
    expect((await server.call('GET', '/queue?Domain=other.example')).json.Queues).toEqual([]);
    await until('the command shows why', async () => {
      const { stdout } = await command(['queue', '--data', server.folder]);
      return stdout.includes('all connections to mx.once.test are in use (1)');
    });
    release();
    expect((await server.settled(second)).Recipients[0]).toMatchObject({
      Status: 'Delivered',
      WaitReason: '',
    });
    expect((await server.call('GET', '/queue')).json).toMatchObject({ Waiting: 0, Sending: 0, Queues: [] });
  });
});

describe('mail that waits behind a slow far end', () => {
  async function behindASlowOne(count: number) {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mx = await kit.farEnd({ dot: [{ do: 'wait', until: held, next: '250 ok' }, '250 ok'] });
    const name = `slow${mx.address.replaceAll('.', '-')}.test`;
    dns.set(name, { MX: [`mx.${name}`] });
    dns.set(`mx.${name}`, { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { 'max-connections': '1' } });
    const first = await server.send({ To: [{ email: `first@${name}` }] }, { token });
    await until('the first is being sent', async () => (await server.statusOf(first)) === 'Sending');
    const waiting = await Promise.all(
      Array.from({ length: count }, (_, n) => server.send({ To: [{ email: `r${n}@${name}` }] }, { token })),
    );
    const taken = () => mx.connections.flatMap(({ messages }) => messages).length;
    return { server, token, first, waiting, release, taken, name };
  }

  it('is queued with a reason, and can be canceled to the last of it', async () => {
    const { server, token, first, waiting, release, taken } = await behindASlowOne(60);
    const shown = await Promise.all(waiting.map((id) => server.call('GET', `/email/${id}`)));
    for (const { json } of shown) {
      expect([json.Status, json.Recipients[0].Status]).toEqual(['Queued', 'Queued']);
      expect(json.Recipients[0].WaitReason).not.toBe('');
    }
    const late = await server.call('POST', `/email/${first}/cancel`, { token });
    expect(late.status).toBe(409);
    // The one whose envelope is on its way already may be too late, and says so.
    const canceled = await Promise.all(
      waiting.map((id) => server.call('POST', `/email/${id}/cancel`, { token })),
    );
    const refused = canceled.filter(({ status }) => status !== 200).length;
    expect(refused).toBeLessThanOrEqual(1);
    release();
    await until('the first is delivered', async () => (await server.statusOf(first)) === 'Delivered');
    await until('nothing is queued', async () => (await server.call('GET', '/queue')).json.Waiting === 0);
    const statuses = await Promise.all(waiting.map((id) => server.statusOf(id)));
    expect(statuses.filter((status) => status === 'Canceled')).toHaveLength(60 - refused);
    expect(taken()).toBe(1 + refused);
  });

  it('is not sent to whom its sender suppresses meanwhile', async () => {
    const { server, waiting, release, taken, name } = await behindASlowOne(20);
    const Items = Array.from({ length: 20 }, (_, n) => ({ Email: `r${n}@${name}` }));
    const body = { Domain: 'example.com', Items };
    expect((await server.call('POST', '/suppressions', { body })).status).toBe(200);
    release();
    const ends = await Promise.all(waiting.map((id) => server.settled(id)));
    const suppressed = ends.filter((end) => end.Recipients[0]?.Status === 'Suppressed').length;
    // One may have been on its way.
    expect(suppressed).toBeGreaterThanOrEqual(19);
    expect(taken()).toBe(1 + 20 - suppressed);
  });
});
