/** A server that is asked to stop is gone when it said it would be, whatever hangs around it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { silentLoggers } from '../../src/lib/log.ts';
import { type RunningServer, startServer } from '../../src/server.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, email, fileScope, request, startInstance, temporaryFolder, until } from './harness.ts';

const scope = fileScope();
const DEADLINE_MS = 4_000;
/** Giving back and closing, on a busy machine; short of a second deadline. */
const SLACK_MS = 3_500;

async function stopMs(server: { stop(deadlineMs: number): Promise<void> }): Promise<number> {
  const startMs = performance.now();
  await server.stop(DEADLINE_MS);
  return performance.now() - startMs;
}

/** Sends one message after the other; true once one was accepted whose outcome is not stored, false where none is. */
async function sendUntilStuck(server: RunningServer): Promise<boolean> {
  const call = (method: string, path: string, body?: object) =>
    request(method, `${server.localUrl}/api/v1${path}`, { token: server.adminToken, ...(body && { body }) });
  for (;;) {
    const { status, json } = await call('POST', '/email', email());
    if (status !== 200) return false;
    const state = await until('the outcome is stored, or the store is found out', async () => {
      const { json: message } = await call('GET', `/email/${json.MessageID}`);
      if (message.Recipients[0].Status === 'Delivered') return 'stored';
      return (await request('GET', `${server.localUrl}/readyz`)).status === 503 && 'stuck';
    });
    if (state === 'stuck') return true;
  }
}

describe('stopping', () => {
  it('ends though outcomes of the sandbox cannot be stored', async () => {
    // The first write that fails is to be that of an outcome; which one it is depends on what the start writes and on
    // what is written together: each number is about as likely as not, so that six in a row were missed now and then.
    for (let firstFailing = 10; ; firstFailing++) {
      const server = await startServer({
        mode: 'dev',
        loaded: loadConfig(
          'dev',
          { data: await temporaryFolder(scope), http: '127.0.0.1:0', submission: 'off' },
          {},
        ),
        logs: silentLoggers,
        version: '0.0.0-scenario',
        failpoints: `store-write:${firstFailing}:1000000`,
        kill: () => {},
      });
      const isStuck = await sendUntilStuck(server);
      expect(await stopMs(server)).toBeLessThan(DEADLINE_MS + SLACK_MS);
      if (isStuck) break;
      expect(firstFailing).toBeLessThan(40);
    }
  });

  it('grants a far end and a webhook that hang one deadline together, and begins nothing meanwhile', async () => {
    const mx = await startScriptedMx({ dot: ['250 2.0.0 taken', { do: 'silence' }] });
    scope.defer(() => mx.close());
    let calls = 0;
    const receiver = createServer(() => {
      calls += 1;
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    scope.defer(() => {
      receiver.closeAllConnections();
      receiver.close();
    });
    const instance = await startInstance(scope, {
      settings: {
        route: `smtp://127.0.0.1:${mx.port}`,
        'max-connections': '1',
        'allow-networks': '127.0.0.0/8',
        'webhook-allow-http': 'on',
      },
    });
    const token = await addDomain(instance, 'example.com', { Preset: 'Full' });
    const WebhookURL = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    await instance.call('POST', '/webhooks', { token, body: { Event: 'delivery', WebhookURL } });
    for (let i = 0; i < 4; i++) await instance.send({}, { token });
    const taken = () => mx.connections.reduce((sum, { messages }) => sum + messages.length, 0);
    await until('both hang', () => calls > 0 && taken() === 2);
    expect(await stopMs(instance.server)).toBeLessThan(DEADLINE_MS + SLACK_MS);
    expect(taken()).toBe(2);
  });

  it('is no loss of the node, which only one that is killed is', async () => {
    const folder = await temporaryFolder(scope);
    const first = await startInstance(scope, { folder });
    await first.stop();
    const second = await startInstance(scope, { folder });
    const { Items } = (await second.call('GET', '/nodes')).json;
    expect(Items.map(({ Status }: { Status: string }) => Status)).toEqual(['Alive', 'Ended']);
  });
});
