/** A domain whose DNS fails while relays stand behind its hosts: tried again later, not at once and for ever. */
import { beforeAll, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, fileScope, startInstance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

it('waits for its own sake, and leaves the connections of its site to others', async () => {
  dns.set('far.test', { MX: ['mx.far.test'] });
  for (const name of ['mx.far.test', 'relay.test']) dns.fault(name, { kind: 'servfail' });
  const server = await startInstance(scope, {
    settings: { route: 'mx,smtp://relay.test:25', dns: dns.text, 'allow-networks': '127.0.0.0/8' },
  });
  const token = await addDomain(server, 'example.com');
  await server.send({ To: [{ email: 'r@far.test' }] }, { token });
  const paths = await until('a path waits', async () => {
    const { Items } = (await server.call('GET', '/queue/paths')).json;
    return Items.some(({ State }: { State: string }) => State === 'open') ? Items : null;
  });
  expect(paths).toMatchObject([
    { Site: 'far.test|relay:relay.test:25', Reason: expect.stringMatching(/DNS for far\.test/) },
    { Site: 'mx.far.test|relay:relay.test:25', State: 'closed', WaitsFor: 'none' },
  ]);
});

it('fails no mail because our own resolver denies every domain, sends it when it no longer does, and is silent where nothing leaves', async () => {
  dns.set('denied.test', { MX: ['mx.denied.test'] });
  dns.set('mx.denied.test', { A: ['127.0.0.1'] });
  dns.fault('*', { kind: 'nxdomain' });
  const mx = await startScriptedMx({});
  scope.defer(() => mx.close());
  const server = await startInstance(scope, {
    settings: { route: 'mx', dns: dns.text, 'allow-networks': '127.0.0.0/8', 'mx-port': String(mx.port) },
  });
  const token = await addDomain(server, 'example.com');
  // Critical mail gets no second look.
  const id = await server.send({ To: [{ email: 'r@denied.test' }], Priority: 'critical' }, { token });
  const waits = await until('it was looked up', async () => {
    const [recipient] = (await server.call('GET', `/email/${id}`)).json.Recipients;
    return recipient.WaitReason.startsWith('path: ') || recipient.Status === 'Bounced' ? recipient : null;
  });
  expect(waits.WaitReason).toMatch(
    /127\.0\.0\.1 port \d+ says that denied\.test does not exist, .* not even com/,
  );
  const attention = await server.call('GET', '/attention');
  expect(attention.json.Items).toContainEqual(
    expect.objectContaining({
      Subject: 'resolver',
      Message: expect.stringMatching(/denies every domain, even com/),
    }),
  );
  const captures = await startInstance(scope, { settings: { route: 'sandbox', dns: dns.text } });
  await addDomain(captures, 'example.com');
  await captures.call('POST', '/domains/example.com/verify');
  expect((await captures.call('GET', '/attention')).json.Items).toEqual([]);
  dns.fault('*', undefined);
  await until('it is delivered', async () => {
    await server.call('POST', `/email/${id}/retry`);
    return (await server.statusOf(id)) === 'Delivered';
  });
});

it('tells in one line what it names for the first sites, where the DNS fails for all', async () => {
  const away = await createFakeDns();
  scope.defer(() => away.close());
  away.fault('*', { kind: 'servfail' });
  const server = await startInstance(scope, { settings: { route: 'mx', dns: away.text } });
  const token = await addDomain(server, 'example.com');
  for (let n = 0; n < 12; n++) await server.send({ To: [{ email: `r@away${n}.test` }] }, { token });
  await until('all are blocked', async () => {
    const { Items } = (await server.call('GET', '/queue/paths')).json;
    return Items.filter(({ State }: { State: string }) => State === 'open').length === 12;
  });
  const told = (name: string) => server.logs.filter(({ level, msg }) => level === 'warn' && msg === name);
  expect(told('site blocked')).toHaveLength(5);
  expect(told('the DNS fails for many sites: more of them are blocked')).toMatchObject([
    { reason: expect.stringMatching(/SERVFAIL/) },
  ]);
});

it('holds against no domain and no webhook that this machine may not ask the DNS, and says so', async () => {
  // What is sent to a broadcast address is refused as by a firewall of this machine.
  const server = await startInstance(scope, { settings: { route: 'mx', dns: '127.255.255.255' } });
  const token = await addDomain(server, 'example.com');
  const id = await server.send({ To: [{ email: 'r@far.test' }] }, { token });
  const waits = await until('it was looked up', async () => {
    const { WaitReason, Attempts } = (await server.call('GET', `/email/${id}`)).json.Recipients[0];
    return /EACCES/.test(WaitReason) ? { WaitReason, Attempts } : null;
  });
  expect(waits).toEqual({
    WaitReason: expect.stringMatching(/^the DNS cannot be asked: .*EACCES.*firewall/),
    Attempts: 0,
  });
  expect((await server.call('GET', '/queue/paths')).json.Items).toMatchObject([
    { Site: 'far.test', State: 'closed', WaitsFor: 'local' },
  ]);
  const hook = { Event: 'all', WebhookURL: 'https://hooks.far.test/' };
  const made = await server.call('POST', '/webhooks', { token, body: hook });
  await server.send({ To: [{ email: 'delivered@simulator.test' }] }, { token });
  const told = await until('a call waits', () =>
    server.logs.find(({ msg }) => msg === 'this machine cannot make webhook calls: they wait'),
  );
  expect(told).toMatchObject({ level: 'warn', reason: expect.stringMatching(/EACCES.*firewall/) });
  const known = async () => (await server.call('GET', `/webhooks/${made.json.NewWebhookID}`, { token })).json;
  // The message may still be on its way when the call about its acceptance is tried.
  await until('both calls wait', async () => (await known()).Pending === 2);
  expect(await known()).toMatchObject({ Status: 'Enabled', FailingSince: null, LastError: '' });
});
