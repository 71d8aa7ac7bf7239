/** Delivery through a relay: without TLS, STARTTLS, implicit TLS, with a login, and failover to the next of a list. */
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../fakes/certificates.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { type SinkOptions, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, startInstance, until } from './harness.ts';

const scope = fileScope();
const certificates = makeCertificates('relay.test');

async function sink(options: SinkOptions = {}) {
  const started = await startSmtpSink(options);
  scope.defer(() => started.close());
  return started;
}

async function sender(route: string, settings: Record<string, string> = {}) {
  const server = await startInstance(scope, { settings: { route, retry: '200ms', ...settings } });
  const token = await addDomain(server, 'example.com');
  return { server, token };
}

describe('a relay', () => {
  it('without AUTH and TLS takes the mail as it is, over reused connections', async () => {
    const far = await sink();
    const { server, token } = await sender(`smtp://127.0.0.1:${far.port}`, { 'max-connections': '2' });
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await server.send({ Subject: `${i}` }, { token }));
    for (const id of ids) {
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Route: 'relay' });
    }
    expect(far.messages).toHaveLength(20);
    expect(far.counts.connections).toBeLessThanOrEqual(2);
    const [delivered] = (await server.call('GET', `/events?MessageID=${ids[0]}&Event=delivered`)).json.Events;
    expect(delivered.Message.Transport).toBe('smtp');
  });

  it('with a password is logged in to with the user and password of the URL', async () => {
    const far = await sink({ auth: { user: 'user@x', pass: 'p@ss:w/rd' } });
    const { server, token } = await sender(`smtp://user%40x:p%40ss%3Aw%2Frd@127.0.0.1:${far.port}`);
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    expect(server.logText()).not.toContain('p@ss');
    expect(server.logText()).not.toContain('p%40ss');
  });

  it('that refuses the password keeps the mail waiting, with the reason shown', async () => {
    const far = await sink({ auth: { user: 'user', pass: 'right' } });
    const { server, token } = await sender(`smtp://user:mistaken-secret@127.0.0.1:${far.port}`);
    const id = await server.send({}, { token });
    const row = await until('the reason is shown', async () => {
      const { json } = await server.call('GET', `/email/${id}`, { token });
      const [first] = json.Recipients;
      return /535|auth/i.test(`${first.LastResponse} ${first.WaitReason}`) ? first : null;
    });
    expect(['Queued', 'Deferred', 'Sending']).toContain(row.Status);
    expect(far.messages).toHaveLength(0);
    expect(server.logText()).not.toContain('mistaken-secret');
  });

  it('that closed our account fails no mail, and gets it when the account is open again', async () => {
    const closed = ['mail', '550 5.7.1 Account suspended'] as const;
    const closedLater = ['dot', '554 Your account has been suspended, please contact support'] as const;
    for (const [step, reply] of [closed, closedLater]) {
      const far = await startScriptedMx([{ [step]: { do: 'last', reply } }, {}]);
      scope.defer(() => far.close());
      const { server, token } = await sender(`smtp://127.0.0.1:${far.port}`);
      const id = await server.send({}, { token });
      const row = await until('the reason is shown', async () => {
        const [first] = (await server.call('GET', `/email/${id}`)).json.Recipients;
        return first.LastResponse.includes('suspended') ? first : null;
      });
      expect(row).toMatchObject({
        Status: expect.not.stringMatching('Bounced'),
        Class: 'relay_login_failed',
      });
      await until('it is delivered', async () => {
        await server.call('POST', `/email/${id}/retry`);
        return (await server.statusOf(id)) === 'Delivered';
      });
    }
  });

  it.skipIf(certificates === null)('that offers STARTTLS is spoken to in TLS', async () => {
    const far = await sink({ tls: certificates?.good ?? { key: '', cert: '' } });
    const { server, token } = await sender(`smtp://127.0.0.1:${far.port}`);
    const id = await server.send({}, { token });
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect(far.messages[0]?.tls).toBe(true);
    const items = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(items.at(-1).Tls).toMatch(/TLSv1\.3/);
  });

  it.skipIf(certificates === null)('may want STARTTLS and a password together', async () => {
    const far = await sink({
      tls: certificates?.good ?? { key: '', cert: '' },
      auth: { user: 'u', pass: 'p' },
    });
    const { server, token } = await sender(`smtp://u:p@127.0.0.1:${far.port}`);
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    expect(far.messages[0]?.tls).toBe(true);
  });

  it.skipIf(certificates === null)('named with smtps is spoken to in TLS from the first octet', async () => {
    const far = await startScriptedMx({ implicitTls: certificates?.selfSigned ?? { key: '', cert: '' } });
    scope.defer(() => far.close());
    const { server, token } = await sender(`smtps://127.0.0.1:${far.port}`);
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    expect(far.connections[0]?.usedTls).toBe(true);
    expect(far.connections[0]?.commands[0]).toBe('EHLO mail.postrider.test');
  });

  it('whose TLS fails is told as a fault of its route, not of a recipient’s server', async () => {
    const far = await sink();
    const { server, token } = await sender(`smtps://127.0.0.1:${far.port}`);
    const id = await server.send({}, { token });
    const row = await until('the reason is shown', async () => {
      const [first] = (await server.call('GET', `/email/${id}`)).json.Recipients;
      return first.Class === '' ? null : first;
    });
    expect(row).toMatchObject({ Status: 'Queued', Class: 'relay_tls_failed' });
    const [cause] = (await server.call('GET', '/causes')).json.Items;
    expect(cause.Explanation).toContain('the name that its certificate has');
    expect(cause.Explanation).not.toContain('RequireTls');
  });

  it('that cannot be reached is passed over for the next of the list', async () => {
    const far = await sink();
    const { server, token } = await sender(`smtp://127.0.0.1:9,smtp://127.0.0.1:${far.port}`);
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    expect(far.messages).toHaveLength(1);
  });

  it.each([
    ['says that this server is listed', '554 5.7.1 no access'],
    ['has no time', '421 4.3.2 not now'],
  ])('that %s in place of its greeting is tried again soon, at the time that is told', async (_, banner) => {
    const far = await startScriptedMx({ banner: { do: 'last', reply: banner } });
    scope.defer(() => far.close());
    const server = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${far.port}` } });
    const token = await addDomain(server, 'example.com');
    await server.send({}, { token });
    const { path, relay } = await until('the path is closed', async () => {
      const { Items, Relays } = (await server.call('GET', '/queue/paths')).json;
      return Items[0]?.State === 'open' ? { path: Items[0], relay: Relays[0] } : null;
    });
    expect(path).toMatchObject({ WaitsFor: 'breaker', Reason: expect.stringContaining(banner) });
    // The first wait of a relay, and a tenth.
    expect(Date.parse(path.WaitsUntil) - Date.now()).toBeLessThanOrEqual(33_000);
    const told = await until('it is told', async () =>
      (await server.call('GET', '/attention')).json.Items?.find(
        ({ Kind }: { Kind: string }) => Kind === 'relay',
      ),
    );
    expect([told.Until, relay.Until]).toEqual([path.WaitsUntil, path.WaitsUntil]);
  });

  it('that is down for a while loses nothing: the mail goes when it is back', async () => {
    const first = await sink();
    const { port } = first;
    await first.close();
    const { server, token } = await sender(`smtp://127.0.0.1:${port}`);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await server.send({ Subject: `${i}` }, { token }));
    await until('the first one has tried', async () => {
      const { json } = await server.call('GET', '/events?Event=deferred', { token });
      return json.TotalRecords > 0;
    });
    const back = await sink({ port });
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(back.messages).toHaveLength(5);
  });
});

describe('what waits', () => {
  it('is sent by the next start of the server', async () => {
    const far = await sink();
    const first = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${far.port}`, roles: 'http' },
    });
    const token = await addDomain(first, 'example.com');
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push(await first.send({ Subject: `${i}` }, { token }));
    await first.stop();
    expect(far.counts.connections).toBe(0);
    const second = await startInstance(scope, {
      folder: first.folder,
      settings: { route: `smtp://127.0.0.1:${far.port}` },
    });
    for (const id of ids) expect((await second.settled(id)).Status).toBe('Delivered');
    expect(far.messages).toHaveLength(10);
  });

  it('is held while its domain is gone, and never sent unsigned', async () => {
    const far = await sink();
    const settings = { route: `smtp://127.0.0.1:${far.port}`, retry: '200ms' };
    const first = await startInstance(scope, { settings: { ...settings, roles: 'http' } });
    const token = await addDomain(first, 'example.com');
    const id = await first.send({}, { token });
    await first.call('DELETE', '/domains/example.com');
    await first.stop();
    const second = await startInstance(scope, { folder: first.folder, settings });
    const row = await until('it is held', async () => {
      const { json } = await second.call('GET', `/email/${id}`);
      return json.Recipients[0].Status === 'Held' ? json.Recipients[0] : null;
    });
    expect(row.WaitReason).toMatch(/domain|sign|example\.com/i);
    expect(far.counts.messages).toBe(0);
  });
});
