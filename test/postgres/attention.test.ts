/** What one node sees of the failures of another one: on PostgreSQL, where the node that alerts need not be the one that sends. */
import { expect, it } from 'vitest';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, fileScope, startInstance, until } from '../scenarios/harness.ts';
import { emptyDatabase } from './databases.ts';

const scope = fileScope();

describePostgres('a relay that fails at the node that sends', () => {
  it('needs attention on the node that alerts and sends nothing itself, until it takes mail', async () => {
    let isClosed = true;
    const relay = await startScriptedMx({
      // A look without a message finds nothing wrong.
      get mail() {
        return isClosed ? '530 5.7.0 Authentication required' : '250 2.1.0 fine';
      },
    });
    scope.defer(() => relay.close());
    const name = `127.0.0.1:${relay.port}`;
    const settings = {
      database: await emptyDatabase(scope),
      'secret-key': '5e'.repeat(32),
      route: `smtp://${name}`,
      retry: '1h',
    };
    const alerting = await startInstance(scope, { settings: { ...settings, roles: 'http,upkeep' } });
    const sending = await startInstance(scope, { settings: { ...settings, roles: 'http,deliver,webhooks' } });
    const token = await addDomain(sending, 'example.com');
    const id = await sending.send({}, { token });
    // Null where it was asked too often.
    const relaysOf = async (node: typeof alerting) =>
      (await node.call('GET', '/attention')).json.Items?.filter(
        ({ Kind }: { Kind: string }) => Kind === 'relay',
      ) ?? null;
    const isTold = async (node: typeof alerting) => ((await relaysOf(node))?.length ?? 0) > 0;
    await until('the node that sends tells of it', () => isTold(sending));
    await until('the node that alerts tells of it', () => isTold(alerting));
    await until('it says how much waits, and why', async () => {
      const [told] = (await relaysOf(alerting)) ?? [];
      if (told === undefined || told.Waiting === null) return false;
      expect(told).toMatchObject({
        ...{ Subject: name, Severity: 'Failing', Waiting: 1 },
        Message: expect.stringContaining('Authentication required'),
      });
      return true;
    });
    isClosed = false;
    await sending.call('POST', `/queue/paths/relay:${name}/try`);
    expect((await sending.settled(id)).Status).toBe('Delivered');
    await until('it is over', async () => (await relaysOf(alerting))?.length === 0);
  });
});
