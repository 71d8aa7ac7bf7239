/**
 * Answers of the database that are lost on their way: what was claimed or accepted then is leased to a node that does not
 * know it. It gets it back, marked, and delivers it.
 */
import { expect, it } from 'vitest';
import { NODE_TIMES } from '../../src/pipeline/queue/membership.ts';
import { proxyTo } from '../../src/store/postgres/test-proxy.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { addDomain, email, fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import { emptyDatabase } from './databases.ts';

const scope = fileScope();
/** A minute in life. */
const STRAY_MS = 2_000;

async function prepare() {
  const proxy = await proxyTo(await emptyDatabase(scope));
  scope.defer(() => proxy.close());
  const nodeTimes = { ...NODE_TIMES, strayMs: STRAY_MS };
  const node = await startInstance(scope, { settings: { database: proxy.url }, nodeTimes });
  await addDomain(node, 'example.com');
  return { proxy, node };
}

const leases = (node: Instance) =>
  node.logs.filter(({ msg }) => msg.startsWith('took back what was leased to this node'));

/** The delivered events of a message, as its timeline shows them. */
async function deliveries(node: Instance, id: string): Promise<{ PossibleDuplicate: boolean }[]> {
  const { Items } = (await node.call('GET', `/email/${id}/events`)).json as {
    Items: { Event: string; PossibleDuplicate: boolean }[];
  };
  return Items.filter(({ Event }) => Event === 'delivered');
}

describePostgres('an answer of the database that is lost', () => {
  it('to a claim frees the rows after a while, marked, and they are delivered once', async () => {
    const { proxy, node } = await prepare();
    const hold = { SenderDomain: 'example.com', Reason: 'by hand' };
    expect((await node.call('POST', '/queue/hold', { body: hold })).status).toBe(201);
    const id = await node.send();
    proxy.loseNext('due AS MATERIALIZED', 'answer');
    const cuts = proxy.cuts();
    await node.call('POST', '/queue/release', { body: { SenderDomain: 'example.com' } });
    await until('the answer was lost', () => proxy.cuts() > cuts);
    expect((await node.settled(id)).Status).toBe('Delivered');
    expect(await deliveries(node, id)).toMatchObject([{ PossibleDuplicate: true }]);
    expect(leases(node)).toHaveLength(1);
    await node.stop();
  });

  it('to an acceptance frees what the client was told is not accepted, and it is delivered once', async () => {
    const { proxy, node } = await prepare();
    // The statement is prepared, and the path is known.
    const first = await node.send({ Subject: 'first' });
    await node.settled(first);
    proxy.loseNext('its answer is lost', 'answer');
    const cuts = proxy.cuts();
    const posting = node.call('POST', '/email', { body: email({ Subject: 'its answer is lost' }) });
    await until('the answer was lost', () => {
      if (proxy.cuts() === cuts) return false;
      proxy.shut();
      return true;
    });
    expect((await posting).status).toBe(503);
    proxy.open();
    const found = await until('it is delivered', async () => {
      const answer = await node.call('GET', '/email?Subject=its+answer+is+lost');
      const [message] =
        answer.status === 200 ? (answer.json.Items as { MessageID: string; Status: string }[]) : [];
      return message?.Status === 'Delivered' ? message : null;
    });
    expect(await deliveries(node, found.MessageID)).toMatchObject([{ PossibleDuplicate: true }]);
    expect(leases(node)).toHaveLength(1);
    await node.stop();
  });
});
