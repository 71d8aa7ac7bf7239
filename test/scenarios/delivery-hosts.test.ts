/** How many hosts one attempt meets, and where the next one goes on. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { command } from './commands.ts';
import { directKit } from './direct-kit.ts';
import { fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;
const { farEnd, start } = directKit(scope, () => dns, '127.17');

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

/** MX records of increasing preference for these addresses. */
function hosts(domain: string, addresses: readonly string[]): void {
  dns.set(domain, { MX: addresses.map((_, i) => [i, `mx${i}.${domain}`] as [number, string]) });
  for (const [i, address] of addresses.entries()) dns.set(`mx${i}.${domain}`, { A: [address] });
}

describe('an attempt', () => {
  it('meets two hosts that answer and refuse, and the next one goes on with the others', async () => {
    const refusing: Awaited<ReturnType<typeof farEnd>>[] = [];
    for (let n = 0; n < 5; n++) refusing.push(await farEnd({ banner: '554 5.7.1 not you' }));
    const good = await farEnd({});
    hosts(
      'many.test',
      [...refusing, good].map(({ address }) => address),
    );
    const { server, token } = await start({ settings: { retry: '200ms' } });
    const id = await server.send({ To: [{ email: 'a@many.test' }] }, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    // Each was met once: two, two, and the last of them with the one that takes mail.
    expect(refusing.map(({ connections }) => connections.length)).toEqual([1, 1, 1, 1, 1]);
    expect(good.connections).toHaveLength(1);
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    const deferred = items.filter(({ Event }: { Event: string }) => Event === 'deferred');
    expect(deferred.map(({ RemoteMta }: { RemoteMta: string }) => RemoteMta.split(' ')[0])).toEqual([
      'mx1.many.test',
      'mx3.many.test',
    ]);
    // Also what opened no connection took its time.
    expect(deferred.map(({ DurationMs }: { DurationMs: unknown }) => typeof DurationMs)).toEqual([
      'number',
      'number',
    ]);
  });

  it('tries five addresses at most, and the next one the others', async () => {
    const good = await farEnd({});
    // Nobody listens there.
    const dead = [1, 2, 3, 4, 5, 6].map((n) => `127.17.9.${n}`);
    hosts('dead.test', [...dead, good.address]);
    const { server, token } = await start({ settings: { retry: '200ms' } });
    const id = await server.send({ To: [{ email: 'a@dead.test' }] }, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    const deferred = items.filter(({ Event }: { Event: string }) => Event === 'deferred');
    expect(deferred.map(({ RemoteMta }: { RemoteMta: string }) => RemoteMta.split(' ')[0])).toEqual([
      'mx4.dead.test',
    ]);
  });

  it('that this machine cannot make counts against nobody, says why, and can be made now', async () => {
    const good = await farEnd({});
    hosts('here.test', [good.address]);
    const { server, token } = await start({ file: { sources: [{ id: 'gone', address: '192.0.2.77' }] } });
    hosts('there.test', [good.address]);
    await server.send({ To: [{ email: 'a@there.test' }] }, { token });
    const id = await server.send({ To: [{ email: 'a@here.test' }] }, { token });
    const fault = /the source address 192\.0\.2\.77 is not an address of this machine/;
    const path = () =>
      until('it waits', async () => {
        const { Items } = (await server.call('GET', '/queue/paths')).json;
        const waits = ({ WaitsFor }: { WaitsFor: string }) => WaitsFor === 'local';
        return Items.length === 2 && Items.every(waits) ? Items[0] : null;
      });
    const closed = await path();
    expect(closed).toMatchObject({ State: 'closed', Reason: expect.stringMatching(fault) });
    const told = await until('it is told', async () =>
      (await server.call('GET', '/attention')).json.Items?.find(
        ({ Subject }: { Subject: string }) => Subject === 'connections',
      ),
    );
    expect(told).toMatchObject({ Severity: 'Failing', Message: expect.stringMatching(fault) });
    const kinds = (await server.call('GET', '/attention')).json.Items.map(
      ({ Kind }: { Kind: string }) => Kind,
    );
    expect(kinds).not.toContain('site');
    const logged = server.logs.filter(({ msg }) => msg === 'this machine cannot open a connection');
    expect(logged).toMatchObject([{ level: 'warn', reason: expect.stringMatching(fault) }]);
    await path();
    const tried = await command(['queue', 'try', closed.Site, '--data', server.folder]);
    expect(tried.stdout).toMatch(fault);
    expect(tried.stdout).not.toContain('there is nothing to try');
    expect(await path()).toMatchObject({ State: 'closed' });
    expect((await server.call('GET', `/email/${id}`)).json.Recipients[0]).toMatchObject({
      ...{ Status: 'Queued', Attempts: 0, Class: '', WaitReason: expect.stringMatching(fault) },
    });
    const { Items } = (await server.call('GET', `/email/${id}/events`)).json;
    expect(Items.map(({ Event }: { Event: string }) => Event)).toEqual(['accepted']);
  });

  it('begins with the best again when all have had their turn', async () => {
    const first = await farEnd([{ banner: '554 5.7.1 not you' }, {}]);
    const second = await farEnd({ banner: '554 5.7.1 not you' });
    hosts('turns.test', [first.address, second.address]);
    const { server, token } = await start({ settings: { retry: '200ms' } });
    const id = await server.send({ To: [{ email: 'a@turns.test' }] }, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect([first.connections.length, second.connections.length]).toEqual([2, 1]);
  });
});

describe('a site of no provider', () => {
  const limitOf = async (server: Instance) => {
    const [path] = (await server.call('GET', '/queue/paths/few.test')).json.Paths;
    return path.Limits.find(({ Name }: { Name: string }) => Name === 'recipientsPerTransaction').Detail;
  };

  it('is small until it took so many messages within a day, which a restart does not forget', async () => {
    const mx = await farEnd({});
    dns.set('few.test', { MX: ['mx.few.test'] });
    dns.set('mx.few.test', { A: [mx.address] });
    const { server, token } = await start({ shaping: [{ id: 'small', belowMessagesPerDay: 5 }] });
    const send = async (instance: Instance, count: number) => {
      for (let n = 0; n < count; n++) {
        const id = await instance.send({ To: [{ email: `r${n}@few.test` }] }, { token });
        expect((await instance.settled(id)).Status).toBe('Delivered');
      }
    };
    await send(server, 4);
    expect(await limitOf(server)).toMatch(/small/);
    await send(server, 1);
    expect(await limitOf(server)).toMatch(/default/);
    await server.stop();
    const again = await startInstance(scope, {
      folder: server.folder,
      settings: { route: 'mx', dns: dns.text, 'mx-port': String(mx.port), 'allow-networks': '127.0.0.0/8' },
    });
    await send(again, 1);
    expect(await limitOf(again)).toMatch(/default/);
  });
});

describe('the timeline of a message whose way closed', () => {
  it('says when that was and when it opened, without a row for any recipient', async () => {
    const mx = await farEnd([{ banner: '421 4.3.2 not now, ask <bob@elsewhere.test>' }, {}]);
    dns.set('closed.test', { MX: ['mx.closed.test'] });
    dns.set('mx.closed.test', { A: [mx.address] });
    const { server, token } = await start({ settings: { retry: '500ms' } });
    const id = await server.send({ To: [{ email: 'a@closed.test' }] }, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
    const timeline = async (query = '') =>
      (await server.call('GET', `/email/${id}/events${query}`, { token })).json;
    const items: { Event: string; Reason: string; NextAttemptAt: string | null }[] = await until(
      'both are told',
      async () => {
        const { Items } = await timeline();
        return Items.some(({ Event }: { Event: string }) => Event === 'path_unblocked') ? Items : null;
      },
    );
    expect(items.map(({ Event }) => Event).sort()).toEqual([
      'accepted',
      'deferred',
      'delivered',
      'path_blocked',
      'path_unblocked',
    ]);
    const blocked = items.find(({ Event }) => Event === 'path_blocked');
    expect(blocked).toMatchObject({
      Reason: expect.stringContaining('mx.closed.test: mx.closed.test [127.17'),
      NextAttemptAt: expect.any(String),
    });
    expect(blocked?.Reason).toContain('421');
    // A reply may name another sender's recipient: whose address that was is not for this one.
    expect(blocked?.Reason).not.toContain('elsewhere.test');
    // Page by page each stands once.
    const paged: string[] = [];
    for (let after = ''; ; ) {
      const { Items, NextCursor } = await timeline(`?Limit=1${after}`);
      paged.push(...Items.map(({ Event }: { Event: string }) => Event));
      if (NextCursor === null) break;
      after = `&After=${NextCursor}`;
    }
    expect(paged.sort()).toEqual(items.map(({ Event }) => Event).sort());
  });
});

describe('the DNS of a stranger', () => {
  it('leads to its own hosts nobody else’s mail, however it names them', async () => {
    const [own, theirs] = [await farEnd({}), await farEnd({})];
    const evil = (domain: string, first: string) => {
      const more = Array.from({ length: 10 }, (_, n) => `h${n}.${domain}`);
      dns.set(domain, { MX: [first, ...more].map((host, i) => [i, host] as [number, string]) });
      for (const host of more) dns.set(host, { A: [theirs.address] });
    };
    // A domain without MX, one of a provider, and one with several hosts.
    dns.set('plain.test', { A: [own.address] });
    dns.set('work.test', { MX: ['aspmx.l.google.com'] });
    dns.set('aspmx.l.google.com', { A: [own.address] });
    hosts('two.test', [own.address, own.address]);
    evil('evil1.test', 'nothing.plain.test');
    evil('evil2.test', 'google');
    evil('evil3.test', 'mx0.two.test');
    const { server, token } = await start({
      shaping: [{ id: 'google', limits: { tls: 'opportunistic' } }],
    });
    const sendTo = async (domains: readonly string[]) => {
      const ids = domains.flatMap((domain) =>
        [1, 2].map((n) => server.send({ To: [{ email: `r${n}@${domain}` }] }, { token })),
      );
      for (const id of ids) expect((await server.settled(await id)).Status).toBe('Delivered');
    };
    await sendTo(['evil1.test', 'evil2.test', 'evil3.test']);
    await sendTo(['plain.test', 'work.test', 'two.test']);
    const recipients = theirs.connections.flatMap(({ commands }) =>
      commands.filter((line) => line.startsWith('RCPT')),
    );
    expect(recipients.length).toBeGreaterThan(0);
    expect(recipients.filter((line) => !/@evil\d\.test>/.test(line))).toEqual([]);
  });
});
