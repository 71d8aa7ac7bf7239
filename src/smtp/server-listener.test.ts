/** Places of a listener that strangers fill: who must log in and does not makes room. */
import { createSecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { openLineClient } from '../../test/fakes/smtp-line-client.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/log.ts';
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

function listener(maxConnections: number, maxConnectionsPerAddress: number) {
  return createSmtpPorts(
    {
      clock: systemClock,
      log: silentLogger,
      certificates: {
        current: async () => createSecureContext(),
        reload: async () => {},
        problem: async () => null,
      },
      terms: () => ({
        handler,
        auth: { required: true, plainText: true },
        limits: SERVER_LIMITS,
        startTls: false,
      }),
      peerKey: (ip) => ip,
    },
    {
      ports: [{ host: '127.0.0.1', port: 0, implicitTls: false }],
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
