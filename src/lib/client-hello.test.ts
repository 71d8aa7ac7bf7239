import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
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

it('looks at each octet once, also where records are empty and octets come alone', () => {
  const held = [...record(1, 255, 255, 255), ...Array.from({ length: 2800 }, () => record()).flat()];
  const pieces = [
    Buffer.from(held),
    ...Array.from({ length: 460 }, () => record().map((octet) => Buffer.of(octet))).flat(),
  ];
  const socket = Object.assign(new EventEmitter(), { read: () => pieces.shift() ?? null });
  onHello(socket as unknown as Duplex, () => expect.unreachable());
  const took = cpuMsOf(() => {
    while (pieces.length > 0) socket.emit('readable');
  });
  expect(took).toBeLessThan(100);
});
