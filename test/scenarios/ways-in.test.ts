/** Which addresses of a domain are used: IPv4 before IPv6, never our own, and asked for anew where they were wrong. */
import { writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';

const scope = fileScope();
const loopback6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1');
if (!loopback6) process.stderr.write('SKIPPED: delivery by IPv6: this machine has no ::1\n');
const own4 = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')?.address;
if (own4 === undefined)
  process.stderr.write('SKIPPED: an MX that is this machine: it has no address but loopback\n');

let dns: FakeDns;
let sink: SmtpSink;
let sink6: SmtpSink | null = null;
let server: Instance;
let token: string;

beforeAll(async () => {
  sink = await startSmtpSink();
  if (loopback6) sink6 = await startSmtpSink({ host: '::1', port: sink.port });
  dns = await createFakeDns({
    'both.example': { MX: ['mx.both.example'] },
    'mx.both.example': { A: ['127.0.0.1'], AAAA: ['::1'] },
    'six.example': { MX: ['mx.six.example'] },
    'mx.six.example': { AAAA: ['::1'] },
    ...(own4 === undefined
      ? {}
      : {
          'ours.example': {
            MX: [
              [10, 'mx.ours.example'],
              [20, 'backup.ours.example'],
            ],
          },
          'mx.ours.example': { A: [own4] },
          'behind.example': {
            MX: [
              [20, 'mx.ours.example'],
              [10, 'backup.ours.example'],
            ],
          },
          'backup.ours.example': { A: ['127.0.0.1'] },
        }),
  });
  server = await start({ ipv6: 'on' });
  token = await addDomain(server, 'example.com');
  scope.defer(() => Promise.all([sink.close(), sink6?.close(), dns.close()]));
});

async function start(settings: Record<string, string>, file = {}): Promise<Instance> {
  const folder = await temporaryFolder(scope);
  writeFileSync(join(folder, 'postrider.json'), JSON.stringify(file));
  return startInstance(scope, {
    folder,
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(sink.port),
      'allow-networks': '127.0.0.0/8,::1/128',
      retry: '100ms',
      ...settings,
    },
  });
}

const sendTo = (address: string, on = server, as = token) =>
  on.send({ To: [{ email: address }] }, { token: as });
const lastEvent = async (id: string, on = server) =>
  (await on.call('GET', `/email/${id}/events`)).json.Items.at(-1) as {
    RemoteMta: string;
    Reason: string;
    SourceAddress: string;
    Bounce: { Class: string };
  };

describe.skipIf(!loopback6)('IPv6', () => {
  it('is used where it is switched on and a host has nothing else', async () => {
    const id = await sendTo('a@six.example');
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect((await lastEvent(id)).RemoteMta).toContain('[::1]');
  });

  it('comes after IPv4', async () => {
    const id = await sendTo('a@both.example');
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect((await lastEvent(id)).RemoteMta).toContain('[127.0.0.1]');
  });

  it('is given up at once for IPv4 where the receiver takes no mail over it', async () => {
    const access = '550 5.7.510 Access denied, [choosy.example] does not accept email over IPv6';
    const over6 = await startScriptedMx({ rcpt: access }, { host: '::1' });
    const busyOnce = [{ banner: '421 4.3.2 busy' }, {}];
    const over4 = await startScriptedMx(busyOnce, { host: '127.0.0.77', port: over6.port });
    dns.set('choosy.example', { MX: ['mx.choosy.example'] });
    dns.set('mx.choosy.example', { A: ['127.0.0.77'], AAAA: ['::1'] });
    const choosy = await start({ ipv6: 'on', 'mx-port': String(over6.port) });
    const own = await addDomain(choosy, 'example.com');
    const id = await sendTo('a@choosy.example', choosy, own);
    expect((await choosy.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect((await lastEvent(id, choosy)).RemoteMta).toContain('[127.0.0.77]');
    expect(over6.connections.map(({ commands }) => commands.at(-1))).toEqual(['QUIT']);
    await choosy.stop();
    await Promise.all([over4.close(), over6.close()]);
  });

  it('is left for the less preferred host that has IPv4, where the first has none and takes no mail over it', async () => {
    const access = '550 5.7.510 Access denied, split.example does not accept email over IPv6';
    const over6 = await startScriptedMx({ rcpt: access }, { host: '::1' });
    const over4 = await startScriptedMx({}, { host: '127.0.0.78', port: over6.port });
    dns.set('split.example', {
      MX: [
        [10, 'six.split.example'],
        [20, 'four.split.example'],
      ],
    });
    dns.set('six.split.example', { AAAA: ['::1'] });
    dns.set('four.split.example', { A: ['127.0.0.78'] });
    const split = await start({ ipv6: 'on', 'mx-port': String(over6.port) });
    const own = await addDomain(split, 'example.com');
    const id = await sendTo('a@split.example', split, own);
    expect((await split.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect((await lastEvent(id, split)).RemoteMta).toContain('[127.0.0.78]');
    expect(over6.connections).toHaveLength(1);
    await split.stop();
    await Promise.all([over4.close(), over6.close()]);
  });

  it('is no reason to stop other mail where its refusal is repeated over IPv4', async () => {
    const access = '550 5.7.510 Access denied, one.example does not accept email over IPv6';
    const mx = await startScriptedMx({ rcpt: [access, '250 ok'] }, { host: '127.0.0.79' });
    dns.set('one.example', { MX: ['mx.shared.example'] });
    dns.set('two.example', { MX: ['mx.shared.example'] });
    dns.set('mx.shared.example', { A: ['127.0.0.79'] });
    const shared = await start({ ipv6: 'on', 'mx-port': String(mx.port), retry: '5m' });
    const own = await addDomain(shared, 'example.com');
    const refused = await sendTo('a@one.example', shared, own);
    await until('it was refused', async () => (await lastEvent(refused, shared)).Reason.includes('5.7.510'));
    const id = await sendTo('a@two.example', shared, own);
    expect((await shared.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered' });
    await shared.stop();
    await mx.close();
  });

  it('is not used unless it is switched on', async () => {
    const without = await start({});
    const own = await addDomain(without, 'example.com');
    const id = await sendTo('a@six.example', without, own);
    expect((await without.settled(id)).Recipients[0]?.Status).toBe('Bounced');
    expect((await lastEvent(id, without)).Reason).toContain('IPv6 addresses only');
    await without.stop();
  });
});

describe.skipIf(!loopback6)('sources', () => {
  /** A server with this source. `sent`: where mail came from and went to, or why it did not. */
  async function withSource(source: Record<string, string>, more: Record<string, unknown> = {}) {
    const on = await start({ ipv6: 'on' }, { sources: [{ id: 'a', ...source }], ...more });
    const own = await addDomain(on, 'example.com');
    const sent = async (to: string) => {
      const id = await sendTo(to, on, own);
      const { Status } = await on.settled(id);
      const { RemoteMta, SourceAddress, Reason, Bounce } = await lastEvent(id, on);
      return Status === 'Delivered'
        ? `${SourceAddress} to ${/\[(.*)\]/.exec(RemoteMta)?.[1]}`
        : `${Bounce.Class}: ${Reason}`;
    };
    return { on, own, sent };
  }

  it('with both addresses send from the one of the family that the host is reached by', async () => {
    const { on, sent } = await withSource({ address: '127.0.0.9', ipv6: '::1' });
    expect(await sent('a@both.example')).toBe('127.0.0.9 to 127.0.0.1');
    expect(await sent('a@six.example')).toBe('::1 to ::1');
    await on.stop();
  });

  it('bind the IPv6 address: one that this machine does not have is named', async () => {
    const { on, own } = await withSource({ address: '127.0.0.9', ipv6: '2001:db8::77' });
    await sendTo('a@six.example', on, own);
    const reason = await until('it waits', async () => {
      const { Items } = (await on.call('GET', '/queue/paths')).json;
      return Items.find(({ WaitsFor }: { WaitsFor: string }) => WaitsFor === 'local')?.Reason;
    });
    expect(reason).toContain('the source address 2001:db8::77 is not an address of this machine');
    await on.stop();
  });

  it('without an IPv6 address never use IPv6, also to a relay', async () => {
    const { on, sent } = await withSource(
      { address: '127.0.0.9' },
      { routes: [{ recipientDomain: 'relayed.example', route: [`smtp://[::1]:${sink.port}`, 'mx'] }] },
    );
    dns.set('relayed.example', { A: ['127.0.0.1'] });
    const before = sink6?.counts.connections;
    expect(await sent('a@both.example')).toBe('127.0.0.9 to 127.0.0.1');
    expect(await sent('a@six.example')).toMatch(/^Ipv6Only: .*IPv6 addresses only: mx\.six\.example/);
    expect(await sent('a@relayed.example')).toBe('127.0.0.9 to 127.0.0.1');
    expect(sink6?.counts.connections).toBe(before);
    await on.stop();
  });

  it('without an IPv4 address never use IPv4', async () => {
    const { on, sent } = await withSource({ ipv6: '::1' });
    dns.set('four.example', { A: ['127.0.0.1'] });
    const before = sink.counts.connections;
    expect(await sent('a@both.example')).toBe('::1 to ::1');
    expect(await sent('a@four.example')).toMatch(/^Ipv4Only: .*IPv4 addresses only: four\.example/);
    expect(sink.counts.connections).toBe(before);
    await on.stop();
  });

  it('with an IPv6 address alone need the key ipv6', async () => {
    await expect(start({}, { sources: [{ id: 'six', ipv6: '::1' }] })).rejects.toThrow(
      /sources\[0\]: "six" has an IPv6 address only, and the key ipv6 is off/,
    );
  });
});

describe('an address that was refused by IPv6', () => {
  it.skipIf(!loopback6)('is spoken to by IPv4 from then on', async () => {
    const strict = await startScriptedMx(
      { rcpt: '550 5.7.1 IPv6 sending guidelines: this address has no PTR record' },
      { host: '::1', port: 0 },
    );
    scope.defer(() => strict.close());
    // Nobody answers by IPv4 at first, so that IPv6 gets its turn.
    dns.set('strict.example', { MX: ['mx.strict.example'], ttl: 60 });
    dns.set('mx.strict.example', { A: ['127.0.0.7'], AAAA: ['::1'] });
    const other = await start({ ipv6: 'on', 'mx-port': String(strict.port) });
    const own = await addDomain(other, 'example.com');
    const id = await sendTo('a@strict.example', other, own);
    await until('IPv6 was tried', () =>
      strict.connections.some(({ commands }) => commands.some((line) => line.startsWith('RCPT'))),
    );
    const tried = strict.connections.length;
    // The IPv4 address answers now: nothing goes by IPv6 any more.
    const back = await startSmtpSink({ host: '127.0.0.7', port: strict.port });
    scope.defer(() => back.close());
    await other.call('POST', `/email/${id}/retry`);
    await until('IPv4 is used', () => back.counts.messages > 0, 60_000);
    expect(strict.connections.length).toBe(tried);
    await other.stop();
  });
});

describe.skipIf(own4 === undefined)('an MX that is this machine', () => {
  it('ends the list of hosts: those behind it would only send back', async () => {
    const id = await sendTo('a@ours.example');
    expect((await server.settled(id)).Recipients[0]?.Status).toBe('Bounced');
    const event = await lastEvent(id);
    expect(event.Bounce.Class).toBe('RoutingLoop');
    expect(event.Reason).toContain('allow-networks');
    expect(sink.messages.some(({ rcpts }) => rcpts[0] === 'a@ours.example')).toBe(false);
  });

  it('does not keep mail from those before it', async () => {
    expect((await server.settled(await sendTo('a@behind.example'))).Status).toBe('Delivered');
  });
});

describe('what DNS said', () => {
  it('is asked for again after nobody answered there', async () => {
    dns.set('moved.example', { MX: ['mx.moved.example'], ttl: 3600 });
    dns.set('mx.moved.example', { A: ['127.0.0.11'] });
    dns.set('mx.new.example', { A: ['127.0.0.1'] });
    const id = await sendTo('a@moved.example');
    await until(
      'it waits',
      async () => (await server.call('GET', `/email/${id}`)).json.Recipients[0].WaitReason !== '',
    );
    dns.set('moved.example', { MX: ['mx.new.example'], ttl: 3600 });
    await server.call('POST', `/email/${id}/retry`);
    expect((await server.settled(id)).Status).toBe('Delivered');
  });
});
