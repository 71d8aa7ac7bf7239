import { createSocket } from 'node:dgram';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../../test/fakes/fake-dns.ts';
import { createSystemRandom } from '../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../lib/virtual-clock.ts';
import { createDnsClient, type DnsClient, type DnsClientOptions, type DnsReply } from './dns-client.ts';
import { createResolver } from './resolver.ts';
import type { DnsServer } from './system-resolvers.ts';

let first: FakeDns;
let second: FakeDns;
let clock: VirtualClock;
let client: DnsClient;
const random = createSystemRandom();
const zones = {
  'example.com': { MX: ['mx.example.com'], TXT: Array.from({ length: 20 }, () => 'x'.repeat(200)) },
};

beforeEach(async () => {
  [first, second] = await Promise.all([createFakeDns(zones), createFakeDns(zones)]);
  clock = createVirtualClock();
  use([first.server]);
});
afterEach(async () => {
  client.close();
  await Promise.all([first.close(), second.close()]);
  expect(clock.pendingTimers()).toBe(0);
});

function use(servers: DnsServer[], options: DnsClientOptions = {}): void {
  client?.close();
  client = createDnsClient({ clock, random, servers: () => servers }, options);
}

/** Moves the clock while nothing answers, each step only when what was awaited has arrived. */
async function afterTimeouts(reply: Promise<DnsReply>): Promise<DnsReply> {
  let isDone = false;
  const settled = reply.finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(250);
  return settled;
}

describe('one server', () => {
  it('is asked over UDP, with a new id and a new port every time', async () => {
    for (let i = 0; i < 20; i++)
      expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
    expect(new Set(first.queries.map((query) => query.id)).size).toBeGreaterThan(15);
    expect(new Set(first.queries.map((query) => query.sourcePort)).size).toBeGreaterThan(10);
    expect(first.queries.every((query) => query.transport === 'udp' && query.hasEdns)).toBe(true);
  });

  it('is asked over TCP when the answer did not fit', async () => {
    first.fault('TXT example.com', { kind: 'truncate' });
    const reply = await client.query('example.com', 'TXT');
    expect(reply).toMatchObject({ kind: 'message', message: { answers: { length: 20 } } });
    expect(first.queries.map((query) => query.transport)).toEqual(['udp', 'tcp']);
  });

  it('is tried twice, the second time from the first second to the fourth, when it says nothing', async () => {
    first.fault('*', { kind: 'drop' });
    const startMs = clock.monotonicMs();
    const reply = await afterTimeouts(client.query('example.com', 'MX'));
    expect(reply).toMatchObject({ kind: 'failure', reason: 'timeout' });
    expect(clock.monotonicMs() - startMs).toBe(4000);
    // Once of these over TCP.
    expect(first.count()).toBeLessThanOrEqual(5);
  });

  it('is asked again in the last try, where packets are lost', async () => {
    first.fault('*', { kind: 'drop' }, 3);
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ kind: 'message' });
    expect(first.count()).toBe(4);
  });

  it('is asked over TCP where nothing comes back over UDP, at first in the last try', async () => {
    first.fault('*', { kind: 'drop-udp' });
    const startMs = clock.monotonicMs();
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ kind: 'message' });
    expect(clock.monotonicMs() - startMs).toBeLessThan(3000);
    let before = first.queries.length;
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
    expect(first.queries.slice(before).map((query) => query.transport)).toEqual(['tcp']);
    await clock.advance(10 * 60_000);
    first.fault('*', undefined);
    before = first.queries.length;
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
    expect(first.queries.slice(before).map((query) => query.transport)).toEqual(['udp']);
  });

  it('is not asked over TCP for a name alone that it says nothing of', async () => {
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
    first.fault('quiet.example.com', { kind: 'drop-udp' });
    expect((await afterTimeouts(client.query('quiet.example.com', 'MX'))).kind).toBe('failure');
    expect(first.queries.every((query) => query.transport === 'udp')).toBe(true);
  });

  it('may be slow once', async () => {
    first.fault('*', { kind: 'drop' }, 1);
    const reply = client.query('example.com', 'MX');
    await first.reached(1);
    await clock.advance(1000);
    expect(await reply).toMatchObject({ kind: 'message' });
  });

  it('may be two seconds away', async () => {
    const far = await createFakeDns(zones, { clock });
    far.fault('*', { kind: 'delay', delayMs: 2000 });
    use([far.server]);
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ kind: 'message' });
    // What it still says to the later tries.
    await clock.advance(2000);
    await far.close();
  });

  it('that is not there fails at once, by name of the cause', async () => {
    const { server } = first;
    await first.close();
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'failure', reason: 'network' });
    first = await createFakeDns();
    expect(server.port).toBeGreaterThan(0);
  });

  it.each(['wrong-id', 'wrong-question'] as const)(
    'is waited for behind an answer with a %s',
    async (kind) => {
      first.fault('*', { kind, thenRight: true });
      expect(await client.query('example.com', 'MX')).toMatchObject({
        kind: 'message',
        message: { answers: [{ exchange: 'mx.example.com' }] },
      });
      first.fault('*', { kind });
      expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ reason: 'timeout' });
    },
  );

  it('alone is heard, not somebody else who sends to our port', async () => {
    first.fault('*', { kind: 'drop' });
    const reply = client.query('example.com', 'MX');
    await first.reached(1);
    const query = first.queries[0]!;
    const forger = createSocket('udp4');
    const forged = Buffer.from([query.id >> 8, query.id & 255, 0x81, 0x82, 0, 0, 0, 0, 0, 0, 0, 0]);
    await new Promise<void>((resolve) => forger.send(forged, query.sourcePort, '127.0.0.1', () => resolve()));
    forger.close();
    first.fault('*', undefined);
    await clock.advance(1000);
    expect(await reply).toMatchObject({ kind: 'message' });
  });

  it('that knows no EDNS is asked again without it', async () => {
    first.fault('*', { kind: 'no-edns' });
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
    expect(first.queries.map((query) => query.hasEdns)).toEqual([true, false]);
  });

  it('that hears nothing with EDNS is asked at last without it', async () => {
    first.fault('*', { kind: 'drop' }, 1);
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ kind: 'message' });
    expect(first.queries.map((query) => query.hasEdns)).toEqual([true, false]);
  });

  it.each([
    [{ kind: 'servfail' }, 'servfail'],
    [{ kind: 'formerr' }, 'servfail'],
    [{ kind: 'refused' }, 'refused'],
    [{ kind: 'lame' }, 'refused'],
    [{ kind: 'lame', referral: true }, 'refused'],
    [{ kind: 'garbage', bytes: Uint8Array.of(0x81, 0x80, 0, 9) }, 'malformed'],
    [{ kind: 'other-name' }, 'malformed'],
    [{ kind: 'half-answer' }, 'network'],
  ] as const)('that answers with %j fails as %s', async (fault, reason) => {
    first.fault('*', fault);
    expect(await client.query('nothing.example.com', 'MX')).toMatchObject({ kind: 'failure', reason });
  });

  it('has its time over TCP too', async () => {
    first.fault('*', { kind: 'truncate' }, 1);
    const reply = client.query('example.com', 'MX');
    await first.reached(1);
    first.fault('*', { kind: 'drop' });
    expect(await afterTimeouts(reply)).toMatchObject({ kind: 'failure', reason: 'timeout' });
  });

  it('whose answer fits only TCP, which fails, is told with both facts', async () => {
    first.fault('*', { kind: 'half-answer' });
    expect(await client.query('example.com', 'MX')).toMatchObject({
      detail: expect.stringMatching(/: the answer is too long for UDP, and over TCP: closed before/),
    });
  });
});

describe('several servers', () => {
  it('are asked in their order; the next one when one is of no use', async () => {
    use([first.server, second.server]);
    await client.query('example.com', 'MX');
    expect([first.count(), second.count()]).toEqual([1, 0]);
    for (const kind of ['servfail', 'refused', 'lame'] as const) {
      first.fault('*', { kind });
      expect(await client.query('gone.example.com', 'MX')).toMatchObject({
        kind: 'message',
        server: second.server,
      });
    }
    expect([first.count(), second.count()]).toEqual([4, 3]);
  });

  it('a silent one is asked last for a while, then first again', async () => {
    use([first.server, second.server]);
    first.fault('*', { kind: 'drop' });
    const reply = client.query('example.com', 'MX');
    await first.reached(1);
    await clock.advance(1000);
    expect(await reply).toMatchObject({ server: second.server });
    await client.query('example.com', 'MX');
    expect([first.count(), second.count()]).toEqual([1, 2]);
    first.fault('*', undefined);
    await clock.advance(30_000);
    expect(await client.query('example.com', 'MX')).toMatchObject({ server: first.server });
  });

  it('one may be silent and the other slow: it is not asked again meanwhile, and then first', async () => {
    const slow = await createFakeDns(zones, { clock });
    slow.fault('*', { kind: 'delay', delayMs: 1500 });
    use([first.server, slow.server]);
    first.fault('*', { kind: 'drop' });
    const startMs = clock.monotonicMs();
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ server: slow.server });
    expect(clock.monotonicMs() - startMs).toBe(2500);
    expect(await afterTimeouts(client.query('example.com', 'MX'))).toMatchObject({ server: slow.server });
    expect(clock.monotonicMs() - startMs).toBe(4000);
    await slow.close();
  });

  it('that all fail are reported one by one, the most telling reason first', async () => {
    use([first.server, second.server]);
    await first.close();
    second.fault('*', { kind: 'servfail' });
    const reply = await client.query('example.com', 'MX');
    expect(reply).toMatchObject({ kind: 'failure', reason: 'servfail' });
    expect(reply).toMatchObject({ detail: expect.stringMatching(/ECONNREFUSED.*; .*SERVFAIL/) });
    first = await createFakeDns();
  });

  it('none at all is a failure', async () => {
    use([]);
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'failure', reason: 'network' });
  });
});

describe('bounds', () => {
  it('no more exchanges than allowed are under way; the rest wait their turn', async () => {
    use([first.server], { maxInFlight: 2 });
    first.fault('*', { kind: 'drop' }, 2);
    const replies = Array.from({ length: 6 }, () => client.query('example.com', 'MX'));
    await first.reached(2);
    await clock.advance(999);
    expect(first.count()).toBe(2);
    await clock.advance(1);
    for (const reply of await Promise.all(replies)) expect(reply).toMatchObject({ kind: 'message' });
    expect(first.count()).toBe(8);
  });

  it('names of a zone that gives no answer do not keep others waiting', async () => {
    use([first.server], { maxInFlight: 4 });
    for (let n = 0; n < 20; n++) first.fault(`MX n${n}.silent.example`, { kind: 'drop' });
    const silent = (n: number) => client.query(`n${n}.silent.example`, 'MX');
    await afterTimeouts(silent(0));
    for (let n = 1; n < 20; n++) void silent(n);
    await first.reached(3);
    expect(await client.query('example.com', 'MX')).toMatchObject({ kind: 'message' });
  });

  it.each([
    ['of many zones', (n: number) => `name.zone${n}.example`],
    ['of a zone that is known to be silent', (n: number) => `name${n}.silent.example`],
  ])('an asker with many names %s that get no answer is not all that others wait for', async (_, nameOf) => {
    use([first.server], { maxInFlight: 4 });
    first.fault('*', { kind: 'drop' });
    await afterTimeouts(client.query(nameOf(40), 'MX'));
    for (let n = 0; n < 40; n++) void client.query(nameOf(n), 'MX', 'many.example');
    void client.query(nameOf(41), 'MX', 'other.example');
    const asked = () => new Set(first.queries.map(({ name }) => name));
    await first.reached(3);
    while (!asked().has(nameOf(41))) {
      const total = first.count();
      await clock.advance(1000);
      await first.reached(total + 1);
    }
    expect(asked().size).toBeLessThan(20);
  });

  it('closing ends what is under way and what comes after', async () => {
    first.fault('*', { kind: 'drop' });
    use([first.server], { maxInFlight: 1 });
    const replies = [client.query('example.com', 'MX'), client.query('example.com', 'TXT')];
    await first.reached(1);
    client.close();
    for (const reply of [...replies, client.query('example.com', 'MX')]) {
      expect(await reply).toMatchObject({ kind: 'failure', detail: expect.stringContaining('closed') });
    }
  });
});

describe('any bytes as an answer', () => {
  it('give some answer and never an error or a hang', async () => {
    const header = fc.constantFrom([0x81, 0x80], [0x83, 0x80], [0x85, 0x83], [0, 0]);
    const random16 = fc.tuple(fc.nat(255), fc.nat(3)).map(([low, high]) => [high, low]);
    const structured = fc
      .tuple(header, random16, random16, random16, fc.uint8Array({ maxLength: 200 }))
      .map(([flags, answers, authority, extra, rest]) =>
        Uint8Array.from([...flags, 0, 1, ...answers, ...authority, ...extra, ...rest]),
      );
    const resolver = createResolver({ clock, random, servers: () => [first.server] }, { failureMs: 0 });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(structured, fc.uint8Array({ maxLength: 200 })),
        fc.boolean(),
        async (bytes, raw) => {
          resolver.flush();
          first.fault('*', { kind: 'garbage', bytes, raw });
          let isDone = false;
          const answer = resolver.mx('example.com').finally(() => {
            isDone = true;
          });
          while (!isDone) await clock.advance(500);
          expect(['found', 'no-data', 'no-name', 'failure']).toContain((await answer).kind);
        },
      ),
      { numRuns: 150 },
    );
    resolver.close();
  });
});
