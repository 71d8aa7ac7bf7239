/** Places and memory of a listener that some fill: who must log in and does not makes room, and nobody has all of it. */
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { openLineClient } from '../../test/fakes/smtp-line-client.ts';
import { createTestCa } from '../../test/fakes/test-certificates.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/log.ts';
import { nextTurn } from '../lib/turns.ts';
import { createVirtualClock } from '../lib/virtual-clock.ts';
import { createSmtpPorts } from './server-listener.ts';
import { SERVER_LIMITS, type ServerHandler } from './server-types.ts';

const handler: ServerHandler = {
  onAuth: async () => null,
  onMail: async () => null,
  onRcpt: async () => null,
  onMessage: async () => ({ code: 250, enhanced: '2.0.0', text: 'taken' }),
  onFailure: (error) => {
    throw error;
  },
};

function listener(
  maxConnections: number,
  maxConnectionsPerAddress: number,
  open: (() => ServerHandler) | null = null,
  {
    clock = systemClock,
    implicitTls = false,
    current = async () => createSecureContext(),
    accepted = () => {},
    ownerKey = (ip) => ip,
  }: {
    clock?: Clock;
    implicitTls?: boolean;
    current?(): Promise<SecureContext>;
    accepted?(ip: string): void;
    ownerKey?(ip: string): string;
  } = {},
) {
  return createSmtpPorts(
    {
      clock,
      log: silentLogger,
      certificates: {
        current,
        reload: async () => {},
        problem: async () => null,
      },
      terms: ({ ip }) => {
        accepted(ip);
        return {
          handler: open?.() ?? handler,
          auth: open === null ? { required: true, plainText: true } : null,
          limits: SERVER_LIMITS,
        };
      },
      peerKey: (ip) => ip,
      ownerKey,
    },
    {
      ports: [{ host: '127.0.0.1', port: 0, implicitTls }],
      hostname: 'test',
      maxConnections,
      maxConnectionsPerAddress,
      maxMemoryBytes: 1_000_000,
    },
  );
}

it('ends the oldest connection without a login for a new one where there is no place, and none that has logged in', async () => {
  const ports = listener(3, 100);
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const open = () => openLineClient(port);
  const user = await open();
  expect(await user.reply()).toMatch(/^220 /);
  await user.ask('EHLO user.test');
  expect(await user.ask(`AUTH PLAIN ${Buffer.from('\0me\0secret').toString('base64')}`)).toMatch(/^235 /);
  const strangers = [await open(), await open(), await open(), await open()];
  for (const one of strangers) expect(await one.reply()).toMatch(/^220 /);
  await strangers[0]?.closed();
  await strangers[1]?.closed();
  expect(await user.ask('NOOP')).toMatch(/^250 /);
  expect(await strangers[3]?.ask('NOOP')).toMatch(/^250 /);
  for (const one of [user, ...strangers]) one.close();
  await ports.stop(0);
});

it('lets nobody take the place of others who has as many as one address may have', async () => {
  const ports = listener(2, 2);
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const strangers = [await openLineClient(port), await openLineClient(port)];
  for (const one of strangers) expect(await one.reply()).toMatch(/^220 /);
  const more = await openLineClient(port);
  expect(await more.reply()).toMatch(/^421 4\.7\.0 Too many connections from your address/);
  for (const one of strangers) expect(await one.ask('NOOP')).toMatch(/^250 /);
  for (const one of [...strangers, more]) one.close();
  await ports.stop(0);
});

/** Nobody logs in; the local part of a sender is the owner, and messages of `slow` are never answered. */
function ownedBySender(): { open: () => ServerHandler; waiting: () => number } {
  let waiting = 0;
  const open = (): ServerHandler => {
    let owner: string | null = null;
    return {
      ...handler,
      owner: () => (owner === null ? null : [owner]),
      onMail: async ({ address }) => {
        owner = address?.local ?? null;
        return null;
      },
      onMessage: (envelope, message, facts) => {
        if (owner !== 'slow') return handler.onMessage(envelope, message, facts);
        waiting += 1;
        return new Promise(() => undefined);
      },
    };
  };
  return { open, waiting: () => waiting };
}

const HUNDRED_KB = { to: ['you@b.example'], data: `${'x'.repeat(98)}\r\n`.repeat(1000) };

it('leaves memory for the messages of others, whatever one owner sends', async () => {
  const { open, waiting } = ownedBySender();
  const ports = listener(20, 20, open);
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  let refused = 0;
  const clients = await Promise.all(Array.from({ length: 11 }, () => openLineClient(port)));
  for (const one of clients) {
    await one.reply();
    await one.ask('EHLO a.test');
  }
  const [other, ...slow] = clients;
  for (const one of slow) {
    void one.transact({ from: 'slow@a.example', ...HUNDRED_KB }).then((reply) => {
      if (reply.startsWith('452')) refused += 1;
    });
  }
  await expect.poll(() => waiting() + refused).toBe(slow.length);
  expect(await other?.transact({ from: 'other@b.example', ...HUNDRED_KB })).toMatch(/^250 /);
  for (const one of clients) one.close();
  await ports.stop(0);
});

it('ends the oldest connection of who has most for a new one where nobody has to log in', async () => {
  const ports = listener(3, 100, ownedBySender().open);
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const clientOf = async (owner: string) => {
    const one = await openLineClient(port);
    expect(await one.reply()).toMatch(/^220 /);
    await one.ask('EHLO a.test');
    expect(await one.ask(`MAIL FROM:<${owner}@a.example>`)).toMatch(/^250 /);
    return one;
  };
  const early = await clientOf('early');
  const many = [await clientOf('many'), await clientOf('many')];
  const late = await clientOf('late');
  await many[0]?.closed();
  for (const one of [early, many[1], late]) expect(await one?.ask('NOOP')).toMatch(/^250 /);
  for (const one of [early, ...many, late]) one.close();
  await ports.stop(0);
});

it('ends idle connections, and those whose message drips, before messages that are arriving, and for nobody who has just lost a place', async () => {
  const clock = createVirtualClock();
  let network = '';
  const ports = listener(2, 100, () => handler, { clock, ownerKey: () => network });
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const from = async (name: string) => {
    network = name;
    const one = await openLineClient(port);
    return { one, greeting: await one.reply() };
  };
  const { one: slow } = await from('slow');
  await slow.ask('EHLO slow.test');
  await slow.ask('MAIL FROM:<>');
  expect(await slow.ask('RCPT TO:<postmaster>')).toMatch(/^250 /);
  const { one: idle } = await from('idle');
  await clock.advance(2_000);
  const { one: next, greeting } = await from('next');
  expect(greeting).toMatch(/^220 /);
  await idle.closed();

  const again = await from('idle');
  expect(again.greeting).toMatch(/^421 4\.7\.0 Too many connections/);
  await clock.advance(30_000);
  const late = await from('idle');
  expect(late.greeting).toMatch(/^220 /);
  await next.closed();
  expect(await slow.ask('NOOP')).toMatch(/^250 /);
  for (const ask of ['EHLO late.test', 'MAIL FROM:<>', 'RCPT TO:<postmaster>', 'DATA'])
    await late.one.ask(ask);
  await slow.ask('DATA');
  // At the least rate this takes twelve seconds.
  slow.send(`${'x'.repeat(76)}\r\n`.repeat(80));
  late.one.send('Drips: ');
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  await clock.advance(10_000);
  expect((await from('last')).greeting).toMatch(/^220 /);
  expect(await slow.ask('.')).toMatch(/^250 /);
  await late.one.closed();
  for (const one of [slow, again.one, late.one]) one.close();
  await ports.stop(0);
});

it('names who begins with TLS where it may not, without it where it must, or with HTTP, but not who only connects', async () => {
  const refused: string[] = [];
  const open = (): ServerHandler => ({
    ...handler,
    onRefused: (command, { text }) => void refused.push(`${command}: ${text}`),
  });
  const clock = createVirtualClock();
  const both = [false, true].map((implicitTls) => listener(20, 20, open, { clock, implicitTls }));
  for (const ports of both) await ports.start();
  const [plain = 0, tls = 0] = both.flatMap((ports) => ports.addresses().map(({ port }) => port));

  for (const input of [Uint8Array.of(22, 3, 1, 0, 100, 1), 'POST /api/v1/email HTTP/1.1\r\n']) {
    const early = await openLineClient(plain);
    early.send(input);
    await early.closed();
  }
  expect(refused.splice(0)).toEqual([
    'connection: This port speaks plain SMTP first; TLS begins with STARTTLS',
    'connection: This port speaks SMTP; HTTP has another port',
  ]);
  for (const input of ['EHLO a.test\r\n', 'GET / HTTP/1.1\r\n\r\n']) {
    const one = await openLineClient(tls);
    one.send(input);
    await one.closed();
  }
  const handshakes = (many: number) => expect.poll(() => clock.pendingTimers()).toBe(2 * many);
  await handshakes(0);
  const looks = await openLineClient(tls);
  await handshakes(1);
  looks.close();
  await handshakes(0);
  const silent = await openLineClient(tls);
  await handshakes(1);
  await clock.advance(20_000);
  expect(await silent.reply()).toBe(
    '554 5.5.1 No TLS was spoken to a port that begins with it; for STARTTLS use the other port',
  );
  await silent.closed();
  await expect.poll(() => refused.length).toBe(3);
  expect(new Set(refused)).toEqual(
    new Set(['connection: No TLS was spoken to a port that begins with it; for STARTTLS use the other port']),
  );
  for (const ports of both) await ports.stop(0);
});

it('begins no handshake with a client that has left while the certificate was loaded', async () => {
  const clock = createVirtualClock();
  const loaded = Promise.withResolvers<void>();
  let asked = 0;
  const current = async () => {
    asked++;
    if (asked > 1) await loaded.promise;
    return createSecureContext();
  };
  const ports = listener(1, 1, () => handler, { clock, current });
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const client = connect(port, '127.0.0.1', () => client.write('STARTTLS\r\n')).resume();
  await expect.poll(() => asked).toBe(2);
  client.resetAndDestroy();
  await expect.poll(() => clock.pendingTimers()).toBe(0);
  loaded.resolve();
  await nextTurn();
  expect(clock.pendingTimers()).toBe(0);
  await ports.stop(0);
});

it('takes handshakes and input that come at once in turns of their addresses', async () => {
  let nowMs = 0;
  // With 5 each piece of work takes all of a turn; with 50 nothing begins.
  let stepMs = 50;
  const clock = { ...systemClock, monotonicMs: () => (nowMs += stepMs) };
  const context = createSecureContext(createTestCa().issue({ names: ['mail.test'] }));
  const accepted: string[] = [];
  const taken: string[] = [];
  const open = (): ServerHandler => {
    const ip = accepted.at(-1) ?? '';
    const onMail = async () => {
      taken.push(ip);
      return null;
    };
    return { ...handler, onMail };
  };
  const ports = listener(20, 20, open, {
    ...{ clock, current: async () => context, implicitTls: true },
    accepted: (ip) => void accepted.push(ip),
  });
  await ports.start();
  const [{ port } = { port: 0 }] = ports.addresses();
  const served: Socket[] = [];
  const serve = (message: unknown) => void served.push((message as { socket: Socket }).socket);
  diagnostics.subscribe('net.server.socket', serve);
  const sockets = [...Array(6).fill('127.0.0.1'), '127.0.0.2'].map((localAddress) =>
    connect({ port, host: '127.0.0.1', localAddress }),
  );
  // The kernel hands over in its own order, so nothing begins until all has come.
  await expect.poll(() => served).toHaveLength(7);
  const secure = sockets.map((socket) =>
    connectTls({ socket, rejectUnauthorized: false }).on('error', () => undefined),
  );
  await expect.poll(() => served.every(({ bytesRead }) => bytesRead > 0)).toBe(true);
  stepMs = 5;
  await expect.poll(() => accepted).toHaveLength(7);
  expect(accepted.indexOf('127.0.0.2')).toBeLessThan(4);

  stepMs = 50;
  const before = served.map(({ bytesRead }) => bytesRead);
  for (const one of secure) one.write('EHLO a.test\r\nMAIL FROM:<a@b.test>\r\n');
  await expect.poll(() => served.every(({ bytesRead }, i) => bytesRead > (before[i] ?? 0))).toBe(true);
  stepMs = 5;
  await expect.poll(() => taken).toHaveLength(7);
  expect(taken.indexOf('127.0.0.2')).toBeLessThan(4);
  diagnostics.unsubscribe('net.server.socket', serve);
  for (const one of secure) one.destroy();

  // Who leaves before its turn has come is not waited for.
  const [near, far] = duplexPair();
  connectTls({ socket: near }).on('error', () => undefined);
  const [hello] = await once(far, 'data');
  stepMs = 50;
  const leaving = connect(port, '127.0.0.1').resume().end(hello);
  await once(leaving, 'finish');
  for (let turns = 0; turns < 20; turns++) await nextTurn();
  stepMs = 5;
  await expect.poll(() => leaving.closed).toBe(true);
  await ports.stop(0);
});
