/**
 * Everything that waits says why, wherever somebody looks: the message, the queue, the path, the command. Most of what
 * waits is held in memory under a lease, where no row says anything.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { startCommand } from './commands.ts';
import { directKit } from './direct-kit.ts';
import { fileScope, type Instance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;
const kit = directKit(scope, () => dns, '127.31');

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

/** Waits until the message's only recipient waits for `reason`, whatever it waits for on the way there. */
async function waitsFor(server: Instance, id: string, reason: string): Promise<void> {
  await until(`message ${id} waits for: ${reason}`, async () => {
    const [recipient] = (await server.call('GET', `/email/${id}`)).json.Recipients;
    return recipient.WaitReason.includes(reason);
  });
}

describe('mail that waits in memory', () => {
  it('names the rate of its site', async () => {
    const mx = await kit.farEnd({});
    dns.set('slow.test', { MX: ['mx.slow.test'] });
    dns.set('mx.slow.test', { A: [mx.address] });
    const { server, token } = await kit.start({
      shaping: [{ id: 'slow', domains: ['slow.test'], limits: { messagesPerSecond: 0.01 } }],
    });
    const first = await server.send({ To: [{ email: 'a@slow.test' }] }, { token });
    expect((await server.settled(first)).Status).toBe('Delivered');
    const second = await server.send({ To: [{ email: 'b@slow.test' }] }, { token });
    const reason = 'rate limit of slow: 0.6/min';
    await waitsFor(server, second, reason);
    const queue = (await server.call('GET', '/queue')).json;
    expect(queue).toMatchObject({ Waiting: 1, Sending: 0 });
    expect(queue.Queues).toMatchObject([
      { Site: 'slow.test', Waiting: 1, Due: 1, Reasons: [{ Reason: reason, Count: 1 }] },
    ]);
    expect((await server.call('GET', '/queue/paths/slow')).json).toMatchObject({
      Waiting: 1,
      Reasons: [{ Reason: reason, Count: 1 }],
    });
    const data = ['--data', server.folder];
    const shown = await startCommand(scope, ['queue', ...data]).ended;
    expect(shown.stdout).toContain(`${reason} (1)`);
    expect((await startCommand(scope, ['message', second, ...data]).ended).stdout).toContain(reason);
    // A token of another domain sees none of it.
    const other = await server.call('GET', '/queue?Domain=other.example');
    expect(other.json.Queues).toEqual([]);
  });

  it('names connections that are all in use, and stops waiting when it goes', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mx = await kit.farEnd({ dot: [{ do: 'wait', until: held, next: '250 ok' }, '250 ok'] });
    dns.set('busy.test', { MX: ['mx.busy.test'] });
    dns.set('mx.busy.test', { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { 'max-connections': '1' } });
    const first = await server.send({ To: [{ email: 'a@busy.test' }] }, { token });
    await until('the first is being sent', async () => (await server.statusOf(first)) === 'Sending');
    const second = await server.send({ To: [{ email: 'b@busy.test' }] }, { token });
    await waitsFor(server, second, 'all connections to mx.busy.test are in use (1)');
    const [sent] = (await server.call('GET', `/email/${first}`)).json.Recipients;
    expect(sent).toMatchObject({ Status: 'Sending', WaitReason: '' });
    expect((await server.call('GET', '/queue')).json).toMatchObject({ Waiting: 1, Sending: 1 });
    release();
    expect((await server.settled(second)).Recipients[0]).toMatchObject({
      Status: 'Delivered',
      WaitReason: '',
    });
    expect((await server.call('GET', '/queue')).json).toMatchObject({ Waiting: 0, Sending: 0, Queues: [] });
  });

  it('names DNS while its site is not known', async () => {
    await kit.farEnd({});
    dns.fault('mute.test', { kind: 'drop' });
    const { server, token } = await kit.start();
    const id = await server.send({ To: [{ email: 'a@mute.test' }] }, { token });
    await waitsFor(server, id, 'DNS is asked where mail for mute.test goes');
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
