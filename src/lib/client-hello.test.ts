import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { onHello } from './client-hello.ts';
import { nextTurn } from './turns.ts';

const record = (...octets: number[]) => [22, 3, 1, octets.length >> 8, octets.length & 255, ...octets];
/** A message of six octets. */
const MESSAGE = [1, 0, 0, 2, 3, 3];

it.each([
  ['the message', record(...MESSAGE)],
  [
    'one of several records',
    [...record(...MESSAGE.slice(0, 2)), ...record(), ...record(...MESSAGE.slice(2))],
  ],
  ['one in no record of a handshake', [...record(1, 0), 21]],
  ['one that is too long', [...record(1, 255, 255, 255), ...record(...Array(16_370).fill(0))]],
  ['anything else', [65]],
])('waits for %s, in pieces, and puts it back', async (_, octets) => {
  const socket = new Duplex({ read: () => undefined });
  const first: number[] = [];
  onHello(socket, (octet) => first.push(octet));
  for (const at of octets.length < 100 ? octets.keys() : [0, octets.length - 1]) {
    expect(first).toEqual([]);
    socket.push(Buffer.from(octets.length < 100 || at > 0 ? [octets[at] ?? 0] : octets.slice(0, -1)));
    await nextTurn();
  }
  expect(first).toEqual([octets[0]]);
  expect([...(socket.read() as Buffer)]).toEqual(octets);
});

it('destroys a connection that ends before', async () => {
  const socket = new Duplex({ read: () => undefined });
  onHello(socket, () => expect.unreachable());
  socket.push(Buffer.of(22, 3));
  socket.push(null);
  await expect.poll(() => socket.destroyed).toBe(true);
});

it('looks at each octet once, also where records are empty and octets come alone', async () => {
  const socket = new Duplex({ read: () => undefined });
  onHello(socket, () => expect.unreachable());
  const octets = Array.from({ length: 2800 }, () => record()).flat();
  socket.push(Buffer.from([...record(1, 255, 255, 255), ...octets]));
  await nextTurn();
  const before = process.cpuUsage().user;
  for (const octet of octets.slice(0, 2300)) {
    socket.push(Buffer.of(octet));
    await nextTurn();
  }
  expect(process.cpuUsage().user - before).toBeLessThan(120_000);
});
