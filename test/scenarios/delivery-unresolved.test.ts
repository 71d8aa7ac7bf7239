/** A domain whose DNS fails while relays stand behind its hosts: tried again later, not at once and for ever. */
import { beforeAll, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
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
