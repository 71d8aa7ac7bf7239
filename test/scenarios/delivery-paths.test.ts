/**
 * Paths: domains of one provider share its connections, a path that refuses is asked again by one message and costs
 * nobody an attempt, urgent mail passes the bulk, and everything that waits says why.
 */
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type Script, type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import {
  addDomain,
  fileScope,
  type Instance,
  type InstanceOptions,
  startInstance,
  temporaryFolder,
  until,
} from './harness.ts';
import { readMail } from './signed-mail.ts';

const scope = fileScope();
let dns: FakeDns;
let port = 0;
let hosts = 0;

async function farEnd(script: Script | readonly Script[]): Promise<ScriptedMx & { address: string }> {
  hosts += 1;
  const address = `127.3.0.${hosts}`;
  const mx = await startScriptedMx(script, { host: address, port });
  port = mx.port;
  scope.defer(() => mx.close());
  return { ...mx, address };
}

const messagesOf = (mx: ScriptedMx) => mx.connections.flatMap((connection) => connection.messages);
const pathsOf = async (server: Instance) => (await server.call('GET', '/queue/paths')).json.Items;

async function start(
  settings: Record<string, string> = {},
  own: Pick<InstanceOptions, 'folder' | 'openFiles'> = {},
): Promise<{ server: Instance; token: string }> {
  const server = await startInstance(scope, {
    ...own,
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(port),
      'allow-networks': '127.0.0.0/8',
      ...settings,
    },
  });
  return { server, token: await addDomain(server, 'example.com') };
}

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

/** A far end that counts its connections, and how many there are at most at an instant. */
async function counting(address: string): Promise<{ readonly most: number; readonly all: number }> {
  const counts = { most: 0, all: 0 };
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    counts.all += 1;
    counts.most = Math.max(counts.most, sockets.size);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.write('220 mx.google.com ready\r\n');
    let data = false;
    socket.on('data', (bytes) => {
      for (const line of bytes.toString('latin1').split('\r\n').slice(0, -1)) {
        if (data && line !== '.') continue;
        if (data) {
          data = false;
          setTimeout(() => socket.write('250 2.0.0 kept\r\n'), 30);
        } else if (line.startsWith('DATA')) {
          data = true;
          socket.write('354 go\r\n');
        } else if (line.startsWith('QUIT')) {
          sockets.delete(socket);
          socket.end('221 bye\r\n');
        } else socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => listener.listen(port, address, resolve));
  scope.defer(async () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return counts;
}

describe('fifty domains of one provider', () => {
  it('share its connections, which never are more than it allows, and its limits', async () => {
    await farEnd({});
    const counts = await counting('127.3.1.1');
    dns.set('mx1.google.com', { A: ['127.3.1.1'] });
    for (let n = 0; n < 50; n++) dns.set(`d${n}.test`, { MX: ['mx1.google.com'] });
    // The far end speaks no TLS, which the shipped row of this provider demands.
    const { server, token } = await start();
    await server.stop();
    await writeFile(
      `${server.folder}/shaping.json`,
      JSON.stringify([{ id: 'google', limits: { tls: 'opportunistic' } }]),
    );
    const again = await startInstance(scope, {
      folder: server.folder,
      settings: {
        route: 'mx',
        dns: dns.text,
        'mx-port': String(port),
        'allow-networks': '127.0.0.0/8',
      },
    });
    const to = Array.from({ length: 50 }, (_, n) => ({ email: `r@d${n}.test` }));
    const id = await again.send({ To: to }, { token });
    const facts = await again.settled(id);
    expect(facts.Status).toBe('Delivered');
    expect(counts.most).toBeGreaterThanOrEqual(2);
    expect(counts.most).toBeLessThanOrEqual(5);
    const paths = await pathsOf(again);
    expect(paths).toHaveLength(1);
    expect(paths[0]).toMatchObject({ Site: 'google', Provider: 'google' });
    expect(paths[0].Domains.length).toBeGreaterThan(10);
  });
});

describe('fifty domains with a host name each for one address', () => {
  it('share ten connections to it, and all get their mail', async () => {
    const counts = await counting('127.3.1.9');
    const to = Array.from({ length: 50 }, (_, n) => {
      dns.set(`shop${n}.test`, { MX: [`mail.shop${n}.test`] });
      dns.set(`mail.shop${n}.test`, { A: ['127.3.1.9'] });
      return { email: `r@shop${n}.test` };
    });
    const { server, token } = await start();
    const ids = await Promise.all([1, 2, 3].map(() => server.send({ To: to }, { token })));
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
    expect(counts.most).toBe(10);
  });
});

describe('the sites of a process that may open few files', () => {
  it('share its connections: unused ones are closed for others, and no site is blamed', async () => {
    await farEnd({});
    const counts = await counting('127.3.1.2');
    for (let n = 0; n < 40; n++) {
      dns.set(`mx.s${n}.test`, { A: ['127.3.1.2'] });
      dns.set(`s${n}.test`, { MX: [`mx.s${n}.test`] });
    }
    const folder = await temporaryFolder(scope);
    // None ends by itself.
    await writeFile(
      join(folder, 'shaping.json'),
      JSON.stringify([{ id: 'small', limits: { idleMs: 600_000 } }]),
    );
    const { server, token } = await start({}, { folder, openFiles: 128 + 12 });
    const to = Array.from({ length: 40 }, (_, n) => ({ email: `r@s${n}.test` }));
    const facts = await server.settled(await server.send({ To: to }, { token }));
    expect(facts.Status).toBe('Delivered');
    expect(facts.Recipients.map(({ Attempts }) => Attempts)).toEqual(to.map(() => 1));
    expect(counts.most).toBeGreaterThanOrEqual(3);
    expect(counts.most).toBeLessThanOrEqual(6);
    // None was closed before the message that it was opened for.
    expect(counts.all).toBe(40);
    const states = (await pathsOf(server)).map((path: { State: string }) => path.State);
    expect(new Set(states)).toEqual(new Set(['closed']));
  });

  it('keep a connection for which they have mail, however many others wait', async () => {
    await farEnd({});
    const counts = await counting('127.3.1.3');
    for (const name of ['much', 'one', 'two', 'three']) {
      dns.set(`mx.${name}.test`, { A: ['127.3.1.3'] });
      dns.set(`${name}.test`, { MX: [`mx.${name}.test`] });
    }
    const { server, token } = await start({}, { openFiles: 128 + 4 });
    const domains = [...Array.from({ length: 16 }, () => 'much'), 'one', 'two', 'three'];
    const to = domains.map((name, n) => ({ email: `r${n}@${name}.test` }));
    const facts = await server.settled(await server.send({ To: to }, { token }));
    expect(facts.Status).toBe('Delivered');
    // Two for the site with much mail at most.
    expect(counts.all).toBeLessThanOrEqual(5);
  });
});

describe('a path that refuses', () => {
  it('closes, says so on everything that waits, charges nobody, and asks with one message', async () => {
    const mx = await farEnd([{ banner: { do: 'last', reply: '421 4.3.2 not now' } }, {}]);
    dns.set('shut.test', { MX: ['mx.shut.test'] });
    dns.set('mx.shut.test', { A: [mx.address] });
    const { server, token } = await start({ retry: '1500ms' });
    const ids: string[] = [];
    for (let n = 0; n < 10; n++)
      ids.push(await server.send({ To: [{ email: `r${n}@shut.test` }] }, { token }));
    const path = await until('the path is closed', async () => {
      const [found] = await pathsOf(server);
      return found?.State === 'open' ? found : null;
    });
    expect(path).toMatchObject({
      WaitsFor: 'breaker',
      Reason: expect.stringMatching(/^mx\.shut\.test takes no mail until .*421/),
    });
    for (const id of ids) await server.settled(id);
    for (const id of ids) {
      const [recipient] = (await server.settled(id)).Recipients;
      expect(recipient).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    }
    // One connection was refused, and the first to follow carried the probe.
    expect(mx.connections.length).toBeLessThanOrEqual(4);
  });

  it('is not closed by a few messages that the far end cannot bear, but by five', async () => {
    const mx = await farEnd({ data: { do: 'last', reply: '421 4.3.0 crashed on you' } });
    dns.set('fragile.test', { MX: ['mx.fragile.test'] });
    dns.set('mx.fragile.test', { A: [mx.address] });
    const { server, token } = await start({ retry: '300s' });
    const stateOf = async () => (await pathsOf(server))[0].State;
    for (let n = 1; n <= 5; n++) {
      const id = await server.send({ To: [{ email: `r${n}@fragile.test` }] }, { token });
      await until('it is deferred', async () => (await server.statusOf(id)) === 'Deferred');
      expect((await server.call('GET', `/email/${id}`)).json.Recipients[0].Attempts).toBe(1);
      if (n < 5) expect(await stateOf()).toBe('closed');
    }
    expect(await stateOf()).toBe('open');
  });

  it('is not closed by a 421 that says what is wrong with the message, which is deferred for that', async () => {
    const why = '421 4.7.1 Greylisted, please come back in five minutes';
    const mx = await farEnd({ rcpt: { do: 'last', reply: why } });
    dns.set('grey.test', { MX: ['mx.grey.test'] });
    dns.set('mx.grey.test', { A: [mx.address] });
    const { server, token } = await start({ retry: '300s' });
    for (let n = 1; n <= 6; n++) {
      const id = await server.send({ To: [{ email: `r${n}@grey.test` }] }, { token });
      await until('it is deferred', async () => (await server.statusOf(id)) === 'Deferred');
      expect((await server.call('GET', `/email/${id}`)).json.Recipients[0].Attempts).toBe(1);
    }
    expect((await pathsOf(server))[0].State).toBe('closed');
  });
});

describe('what a reply teaches', () => {
  it('is kept as an override with its reason, and the message goes another way at once', async () => {
    const mx = await farEnd([
      {
        mail: [
          '250 ok',
          '250 ok',
          '421 4.7.0 Max message per connection reached, closing transmission channel',
        ],
      },
      {},
    ]);
    dns.set('few.test', { MX: ['mx.few.test'] });
    dns.set('mx.few.test', { A: [mx.address] });
    const { server, token } = await start({ 'max-connections': '1' });
    for (let n = 0; n < 3; n++) {
      const id = await server.send({ To: [{ email: `r${n}@few.test` }] }, { token });
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    }
    expect(messagesOf(mx)).toHaveLength(3);
  });

  it('halves the rate of a path that asks for less', async () => {
    const mx = await farEnd({ rcpt: ['450 4.7.1 rate limit exceeded, slow down', '250 ok'] });
    dns.set('slow.test', { MX: ['mx.slow.test'] });
    dns.set('mx.slow.test', { A: [mx.address] });
    const { server, token } = await start({ retry: '300ms' });
    const id = await server.send({ To: [{ email: 'r@slow.test' }] }, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    const items = (await server.call('GET', '/overrides')).json.Items;
    expect(items).toHaveLength(1);
    expect(JSON.stringify(items[0])).toContain('50');
    expect(JSON.stringify(items[0])).toContain('rate limit exceeded');
  });
});

describe('lanes and tenants on one path', () => {
  it('let a receipt of one sender pass the bulk of another within a few messages', async () => {
    // The far end takes one message at a time, when it is told to.
    const steps = Array.from({ length: 40 }, () => Promise.withResolvers<void>());
    const waits = steps.map(({ promise }) => ({ do: 'wait', until: promise, next: '250 ok' }) as const);
    const mx = await farEnd({ dot: [...waits, '250 ok'] });
    dns.set('busy.test', { MX: ['mx.busy.test'] });
    dns.set('mx.busy.test', { A: [mx.address] });
    const { server, token } = await start({ 'max-connections': '1' });
    const other = await addDomain(server, 'shop.example');
    for (let n = 0; n < 150; n++) {
      await server.send(
        { Priority: 'bulk', Subject: `bulk ${n}`, To: [{ email: `r${n}@busy.test` }] },
        { token },
      );
    }
    const subjectsThere = () => messagesOf(mx).map((bytes) => readMail(bytes).header('subject')[0]);
    await until('a bulk message is there', async () => subjectsThere().length > 0);
    const receipt = await server.send(
      { From: { email: 'a@shop.example' }, Subject: 'receipt', To: [{ email: 'me@busy.test' }] },
      { token: other },
    );
    for (const [i, { resolve }] of steps.entries()) {
      resolve();
      if (subjectsThere().includes('receipt')) continue;
      await until('the next message is there', async () => subjectsThere().length > i + 1);
    }
    await server.settled(receipt);
    const subjects = subjectsThere();
    expect(subjects.indexOf('receipt')).toBeGreaterThan(0);
    expect(subjects.indexOf('receipt')).toBeLessThan(12);
  });
});
