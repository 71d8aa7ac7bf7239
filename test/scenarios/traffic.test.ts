/** Which way mail goes and from where, keeping it back, and the operator's files: through the whole program. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder, until } from './harness.ts';

const scope = fileScope();

async function sink() {
  const started = await startSmtpSink();
  scope.defer(() => started.close());
  return started;
}

/** An instance whose data folder holds these files. */
async function start(files: Record<string, unknown>, settings: Record<string, string> = {}) {
  const folder = await temporaryFolder(scope);
  for (const [name, content] of Object.entries(files)) put(folder, name, content);
  const server = await startInstance(scope, { folder, settings: { retry: '200ms', ...settings } });
  return { server, folder, token: await addDomain(server, 'example.com') };
}

function put(folder: string, name: string, content: unknown): void {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content, null, 1));
}

/** A port of loopback where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const delivered = async (server: Instance, token: string, more: Record<string, unknown> = {}) =>
  (await server.settled(await server.send(more, { token }))).Recipients[0];

describe('routes', () => {
  it('send each mail the way of the first rule that fits', async () => {
    const [bulk, corp] = [await sink(), await sink()];
    const { server, token } = await start({
      'postrider.json': {
        routes: [
          { senderDomain: 'example.com', priority: 'bulk', route: `smtp://127.0.0.1:${bulk.port}` },
          { recipientDomain: '*.corp.example', route: `smtp://127.0.0.1:${corp.port}` },
        ],
      },
    });
    const to = (email: string) => ({ To: [{ email }] });
    await delivered(server, token, { ...to('a@x.corp.example'), Priority: 'bulk' });
    await delivered(server, token, to('b@x.corp.example'));
    expect(await delivered(server, token, to('c@corp.example'))).toMatchObject({ Route: 'sandbox' });
    expect(bulk.messages.map(({ rcpts }) => rcpts[0])).toEqual(['a@x.corp.example']);
    expect(corp.messages.map(({ rcpts }) => rcpts[0])).toEqual(['b@x.corp.example']);
  });

  it('that are closed are told each with the mail that waits for it, whoever else writes to the same domains', async () => {
    const names = ['one.example', 'two.example', 'three.example'];
    const ports = await Promise.all(names.map(closedPort));
    const { server } = await start({
      'postrider.json': {
        routes: names.map((senderDomain, n) => ({ senderDomain, route: `smtp://127.0.0.1:${ports[n]}` })),
      },
    });
    const to = ['a@x.test', 'b@y.test', 'c@y.test', 'd@z.test'];
    for (const [n, name] of names.entries()) {
      const token = await addDomain(server, name);
      const To = to.slice(0, n + 2).map((email) => ({ email }));
      await server.send({ From: { email: `me@${name}` }, To }, { token });
    }
    // What is on its way or being stored counts a moment later.
    await expect
      .poll(
        async () => {
          const { Items = [] } = (await server.call('GET', '/attention')).json;
          const relays = Items.filter(({ Kind }: { Kind: string }) => Kind === 'relay');
          return Object.fromEntries(
            relays.map(({ Subject, Waiting }: { Subject: string; Waiting: number }) => [Subject, Waiting]),
          );
        },
        { timeout: 30_000 },
      )
      .toEqual(Object.fromEntries(ports.map((port, n) => [`127.0.0.1:${port}`, n + 2])));
  });

  it('with a mistake keep the server from starting', async () => {
    const routes = [{ route: 'pool:none' }];
    await expect(start({ 'postrider.json': { routes } })).rejects.toThrow(
      'routes[0].route: no source is in the pool',
    );
  });
});

describe('sources', () => {
  it('are the addresses that connections come from, under their own EHLO names', async () => {
    const seen: { from: string | undefined; ehlo: string }[] = [];
    const far = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 far.example ESMTP\r\n');
      socket.on('data', (chunk) => {
        const line = chunk.toString();
        if (/^EHLO/.test(line)) seen.push({ from: socket.remoteAddress, ehlo: line.trim() });
        const inData = /^(MAIL|RCPT)/m.test(line) && /^DATA/m.test(line);
        if (/^EHLO/.test(line)) socket.write('250 far.example\r\n');
        else if (/^DATA/.test(line) || inData) socket.write('354 go on\r\n');
        else if (/^QUIT/.test(line)) socket.end('221 bye\r\n');
        else if (/^(MAIL|RCPT)/.test(line) || /\r\n\.\r\n$/.test(line)) socket.write('250 ok\r\n');
      });
    });
    await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
    scope.defer(async () => void far.close());
    const address = far.address();
    const dns = await createFakeDns({ 'one.example': { A: ['127.0.0.1'] } });
    scope.defer(() => dns.close());
    const { server, token } = await start(
      { 'postrider.json': { sources: [{ id: 'a', address: '127.0.0.9', ehlo: 'out.example.com' }] } },
      {
        route: 'mx',
        dns: dns.text,
        'mx-port': String(typeof address === 'object' && address !== null ? address.port : 0),
        'allow-networks': '127.0.0.0/8',
      },
    );
    expect(await delivered(server, token, { To: [{ email: 'r@one.example' }] })).toMatchObject({
      Status: 'Delivered',
    });
    expect(seen).toEqual([{ from: '127.0.0.9', ehlo: 'EHLO out.example.com' }]);
    const items = (await server.call('GET', '/config')).json.Items as { Key: string; Value: string }[];
    expect(items.find(({ Key }) => Key === 'sources[0]')?.Value).toBe(
      'a 127.0.0.9, ehlo out.example.com, pool default',
    );
  });
});

describe('a relay that does not answer', () => {
  it('is passed over at once for the next of its list, and remembered', async () => {
    const far = await sink();
    const dead = await closedPort();
    const { server, token } = await start(
      {},
      { route: `smtp://127.0.0.1:${dead},smtp://127.0.0.1:${far.port}` },
    );
    expect(await delivered(server, token)).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    const { Relays } = (await server.call('GET', '/queue/paths')).json;
    expect(Relays).toMatchObject([
      { Relay: `127.0.0.1:${dead}`, Failures: 1, Why: expect.stringContaining('connect') },
    ]);
  });
});

describe('a domain without a path', () => {
  it('is shown with its limits, and with a note where the DNS does not tell its provider', async () => {
    const dns = await createFakeDns({ 'one.example': { A: ['127.0.0.1'] } });
    scope.defer(() => dns.close());
    dns.fault('lost.example', { kind: 'servfail' });
    const { server } = await start({}, { dns: dns.text });
    const noteOf = async (name: string) => (await server.call('GET', `/queue/paths/${name}`)).json.Note;
    expect(await noteOf('one.example')).toMatch(/mail to it would begin with these limits$/);
    expect(await noteOf('lost.example')).toMatch(/these limits, or with those of its provider, which is not/);
  });
});

describe('a site that refuses connections', () => {
  it('shows why it waits by any name, and is left alone after a restart too where it named a time', async () => {
    const far = await startScriptedMx({ banner: '421 4.3.2 Try again in 20 minutes' });
    const dns = await createFakeDns({ 'one.example': { A: ['127.0.0.1'] } });
    scope.defer(() => Promise.all([far.close(), dns.close()]));
    const settings = {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(far.port),
      'allow-networks': '127.0.0.0/8',
      retry: '1h',
    };
    const { server, folder, token } = await start({}, settings);
    const id = await server.send({ To: [{ email: 'r@one.example' }] }, { token });
    const path = async (instance: Instance) =>
      (await instance.call('GET', '/queue/paths/one.example')).json.Paths[0] ?? null;
    const blocked = await until('the path is blocked', async () => {
      const found = await path(server);
      return found?.State === 'open' ? found : null;
    });
    expect(blocked.Reason).toContain('421 4.3.2 Try again in 20 minutes');
    expect(blocked.Limits).toContainEqual(expect.objectContaining({ Name: 'connections', From: 'data' }));
    expect(Date.parse(blocked.WaitsUntil)).toBeGreaterThan(Date.now() + 50 * 60_000);
    await server.stop();
    const connections = far.connections.length;
    const again = await startInstance(scope, { folder, settings });
    await again.send({ To: [{ email: 's@one.example' }] }, { token });
    const after = await until('the path is known', () => path(again));
    expect(after).toMatchObject({ State: 'open', WaitsUntil: blocked.WaitsUntil });
    expect(far.connections).toHaveLength(connections);
    expect(await again.statusOf(id)).not.toBe('Delivered');
  });
});

describe('held mail', () => {
  it('waits with its reason over a restart, and goes when it is released', async () => {
    const far = await sink();
    const settings = { route: `smtp://127.0.0.1:${far.port}`, retry: '200ms' };
    const first = await start({}, settings);
    const hold = { SenderDomain: 'example.com', Reason: 'wrong price' };
    expect((await first.server.call('POST', '/queue/hold', { body: hold })).status).toBe(201);
    const id = await first.server.send({ Priority: 'critical' }, { token: first.token });
    await first.server.stop();
    const server = await startInstance(scope, { folder: first.folder, settings });
    const row = (await server.call('GET', `/email/${id}`)).json.Recipients[0];
    expect(row).toMatchObject({ Status: 'Held', WaitReason: 'held: wrong price', Attempts: 0 });
    expect(far.messages).toEqual([]);
    expect((await server.call('POST', '/queue/release', { body: { All: true } })).json).toEqual({
      Released: 1,
    });
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect(far.messages).toHaveLength(1);
    const shown = (await server.call('GET', `/email/${id}/events`, { token: first.token })).json.Items;
    expect(shown.map(({ Event }: { Event: string }) => Event)).toEqual([
      ...['accepted', 'held', 'released', 'delivered'],
    ]);
    // The message came under a hold that stood already.
    expect(shown[1]).toMatchObject({ At: shown[0].At, Recipient: null, Reason: 'wrong price' });
    expect(shown[2]).toMatchObject({ Reason: 'released: wrong price', NextAttemptAt: null });
  });

  it('name domains as mail has them, and nothing that is no domain', async () => {
    const { server } = await start({}, { route: 'sandbox' });
    const hold = (more: object) => server.call('POST', '/queue/hold', { body: { Reason: 'x', ...more } });
    const made = await hold({ SenderDomain: 'Bücher.Example', RecipientDomain: 'two.test' });
    expect(made.json).toMatchObject({ SenderDomain: 'xn--bcher-kva.example', RecipientDomain: 'two.test' });
    for (const name of ['SenderDomain', 'RecipientDomain']) {
      const refused = await hold({ [name]: 'news example.com' });
      expect([refused.status, refused.json.Errors[0].Message]).toEqual([
        422,
        `${name} must be a domain name such as example.com`,
      ]);
    }
  });

  it('are told in the timeline of each message that waited for them, and of no other', async () => {
    const far = await sink();
    const { server, token } = await start({}, { route: `smtp://127.0.0.1:${far.port}` });
    const hold = async (more: object) => {
      const body = { SenderDomain: 'example.com', ...more };
      const { status, json } = await server.call('POST', '/queue/hold', { body });
      expect(status).toBe(201);
      return json.HoldID as string;
    };
    const told = async (id: string) => {
      const found: Record<string, string>[] = [];
      for (let after = ''; ; ) {
        const page = (await server.call('GET', `/email/${id}/events?Limit=1${after}`, { token })).json;
        found.push(...page.Items);
        if (page.NextCursor === null) break;
        after = `&After=${page.NextCursor}`;
      }
      return found.filter(({ Event }) => /held|released/.test(Event ?? ''));
    };
    const before = await server.send({ To: [{ email: 'a@one.test' }] }, { token });
    await server.settled(before);
    const first = await hold({ Reason: 'one' });
    const both = await server.send({ To: [{ email: 'a@one.test' }, { email: 'b@two.test' }] }, { token });
    const other = await server.send({ To: [{ email: 'c@three.test' }] }, { token });
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const second = await hold({ RecipientDomain: 'two.test', Reason: 'two', Until: end });
    expect((await told(both)).map(({ Event, Reason }) => [Event, Reason])).toEqual([
      ['held', 'one'],
      ['held', 'mail to two.test: two'],
    ]);
    for (const HoldID of [first, second]) await server.call('POST', '/queue/release', { body: { HoldID } });
    for (const id of [both, other]) expect((await server.settled(id)).Status).toBe('Delivered');
    const entries = await told(both);
    expect(entries.map(({ Event }) => Event).sort()).toEqual(['held', 'held', 'released', 'released']);
    expect(new Set(entries.map(({ EventID }) => EventID)).size).toBe(4);
    expect(entries.find(({ Reason }) => Reason === 'mail to two.test: two')?.NextAttemptAt).toBe(end);
    expect((await told(other)).map(({ Event }) => Event)).toEqual(['held', 'released']);
    expect(await told(before)).toEqual([]);
  });
});

describe('the operator’s files', () => {
  it('with a mistake keep the server from starting, by line and fix', async () => {
    const bad = '[\n{"id": "google",\n "limits": {"connections": "many"}}]';
    await expect(start({ 'shaping.json': bad })).rejects.toThrow(
      /shaping\.json: line 3: row "google" connections "many": use a whole number from 1 to 1000/,
    );
    await expect(start({ 'reply-rules.json': [{ id: 'x' }] })).rejects.toThrow(
      /reply-rules\.json: line 2: rule 1/,
    );
  });

  it('are read again on SIGHUP; a mistake then changes nothing and is logged', async () => {
    const { server, folder } = await start({
      'shaping.json': [{ id: 'google', limits: { connections: 3 } }],
    });
    const connections = async () => {
      const { Limits } = (await server.call('GET', '/queue/paths/google')).json;
      return (Limits as { Name: string }[]).find(({ Name }) => Name === 'connections');
    };
    expect(await connections()).toMatchObject({ Value: 3, From: 'user', Detail: 'google' });
    put(folder, 'shaping.json', [{ id: 'google', limits: { connections: 2 } }]);
    await server.server.reload();
    expect(await connections()).toMatchObject({ Value: 2 });
    put(folder, 'shaping.json', [{ id: 'google', limit: {} }]);
    await server.server.reload();
    expect(await connections()).toMatchObject({ Value: 2 });
    const said = await until('the mistake is logged', async () =>
      server.logText().includes('unknown key \\"limit\\"') ? 'yes' : null,
    );
    expect(said).toBe('yes');
  });
});
