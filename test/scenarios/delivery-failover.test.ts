/** A list of relays whose first one greets and then takes no mail: through the whole program. */
import { describe, expect, it } from 'vitest';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();

async function farEnd(script: Script | readonly Script[]) {
  const mx = await startScriptedMx(script);
  scope.defer(() => mx.close());
  return mx;
}

async function sink() {
  const started = await startSmtpSink();
  scope.defer(() => started.close());
  return started;
}

const relaysOf = async (server: Instance) => (await server.call('GET', '/queue/paths')).json.Relays;

describe('a relay that greets and takes no mail', () => {
  it.each<[string, Script]>([
    ['ends the session', { mail: { do: 'last', reply: '421 4.3.2 service closing' } }],
    ['wants a login', { mail: '530 5.7.0 Authentication required' }],
    ['does not know our account any more', { mail: '535 5.7.8 account suspended' }],
    ['does not relay for us', { rcpt: '550 5.7.1 Relay access denied' }],
    ['says so at the end', { dot: '554 5.7.1 Relay access denied' }],
  ])('and %s hands every message on to the next of the list at once', async (_, script) => {
    const first = await farEnd(script);
    const second = await sink();
    const route = `smtp://127.0.0.1:${first.port},smtp://127.0.0.1:${second.port}`;
    const server = await startInstance(scope, { settings: { route } });
    const token = await addDomain(server, 'example.com');
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await server.send({ Subject: `${n}` }, { token }));
    for (const id of ids)
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect(second.messages).toHaveLength(5);
    expect(await relaysOf(server)).toMatchObject([{ Relay: `127.0.0.1:${first.port}`, Failures: 1 }]);
    // It was met by those that were under way, and by none after.
    const met = first.connections.length;
    const later = await server.send({}, { token });
    expect((await server.settled(later)).Status).toBe('Delivered');
    expect(first.connections).toHaveLength(met);
  });

  it('puts messages off for its own sake is passed over when a second one meets it, not for one', async () => {
    const first = await farEnd({ mail: '451 4.3.0 local error in processing' });
    const second = await sink();
    const route = `smtp://127.0.0.1:${first.port},smtp://127.0.0.1:${second.port}`;
    const server = await startInstance(scope, { settings: { route } });
    const token = await addDomain(server, 'example.com');
    const one = await server.send({}, { token });
    await until('it is put off', async () => (await server.statusOf(one)) === 'Deferred');
    expect(await relaysOf(server)).toEqual([]);
    const two = await server.send({}, { token });
    expect((await server.settled(two)).Status).toBe('Delivered');
    expect(await relaysOf(server)).toMatchObject([
      { Relay: `127.0.0.1:${first.port}`, Why: expect.stringContaining('451') },
    ]);
    expect(second.messages).toHaveLength(1);
  });

  it('is asked again after a restart: whoever restarts has often just mended it', async () => {
    const first = await farEnd({ mail: '530 5.7.0 Authentication required' });
    const second = await sink();
    const settings = { route: `smtp://127.0.0.1:${first.port},smtp://127.0.0.1:${second.port}` };
    const before = await startInstance(scope, { settings });
    const token = await addDomain(before, 'example.com');
    expect((await before.settled(await before.send({}, { token }))).Status).toBe('Delivered');
    await before.stop();
    const met = first.connections.length;
    const after = await startInstance(scope, { settings, folder: before.folder });
    expect((await after.settled(await after.send({}, { token }))).Status).toBe('Delivered');
    expect(first.connections).toHaveLength(met + 1);
    expect(await relaysOf(after)).toMatchObject([{ Relay: `127.0.0.1:${first.port}`, Failures: 1 }]);
    expect(second.messages).toHaveLength(2);
  });

  it('alone in its list keeps the mail, as any relay', async () => {
    const only = await farEnd({ mail: '530 5.7.0 Authentication required' });
    const server = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${only.port}` } });
    const token = await addDomain(server, 'example.com');
    const id = await server.send({}, { token });
    const row = await until('the reason is shown', async () => {
      const [first] = (await server.call('GET', `/email/${id}`)).json.Recipients;
      return first.Class === '' ? null : first;
    });
    expect(row).toMatchObject({ Status: 'Queued', Attempts: 0, Class: 'relay_login_failed' });
    expect(await relaysOf(server)).toMatchObject([{ Relay: `127.0.0.1:${only.port}`, Failures: 1 }]);
  });
});
