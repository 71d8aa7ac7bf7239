/** Reading bodies that were compressed: what they become counts for the budget while it grows. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type ByteShare, createByteBudget } from '../../../lib/byte-budget.ts';
import { systemClock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { readBody } from './body-reader.ts';

const MB = 1024 * 1024;

function zipped(bytes: Uint8Array): IncomingMessage {
  const stream = new PassThrough();
  stream.end(bytes);
  return Object.assign(stream, { headers: { 'content-encoding': 'gzip' } }) as unknown as IncomingMessage;
}

const read = (bytes: Uint8Array, share: ByteShare, maxBytes = 64 * MB) =>
  readBody(zipped(bytes), { maxBytes, withinMs: 10_000, clock: systemClock, share });

it('inflates no more of a body than there is room for', async () => {
  const bomb = gzipSync(new Uint8Array(64 * MB));
  const budget = createByteBudget(4 * MB);
  budget.open(['other']).take(1);
  let taken = 0;
  const own = budget.open(['me']);
  const counted: ByteShare = {
    take(bytes) {
      expect(bytes).toBeLessThan(MB);
      const fits = own.take(bytes);
      if (fits) taken += bytes;
      return fits;
    },
    end: () => own.end(),
  };
  budget.open(['me']).take(1);
  await expect(read(bomb, counted)).rejects.toMatchObject({ problems: [{ name: 'unavailable' }] });
  expect(taken).toBeGreaterThan(bomb.length);
  expect(taken).toBeLessThanOrEqual(2 * MB);
});

it('gives the whole of one that fits, and says of the others what is wrong', async () => {
  const text = Buffer.from('all of it, '.repeat(100_000));
  const share = () => createByteBudget(64 * MB).open(['me']);
  expect(Buffer.compare(await read(gzipSync(text), share()), text)).toBe(0);
  expect(await read(gzipSync(''), share())).toHaveLength(0);
  const refusals: [Uint8Array, number, string][] = [
    [gzipSync(text), 1000, 'body-too-large'],
    [gzipSync(text).subarray(0, 100), MB * 2, 'content-encoding'],
    [Buffer.from('no gzip'), MB, 'content-encoding'],
  ];
  for (const [bytes, maxBytes, name] of refusals)
    await expect(read(bytes, share(), maxBytes), name).rejects.toMatchObject({ problems: [{ name }] });
  await expect(read(gzipSync(text), share(), 1000)).rejects.toThrow('may have at most 1000 octets');
});

it('takes all of a body that came with its headers, also where one read gives a part of it', async () => {
  const parts = [Buffer.from('{"a":'), Buffer.from('1}'), null];
  const stream = { complete: true, headers: {}, read: () => parts.shift() } as unknown as IncomingMessage;
  const share = createByteBudget(MB).open(['me']);
  const body = await readBody(stream, { maxBytes: 7, withinMs: 1, clock: systemClock, share });
  expect(Buffer.from(body).toString()).toBe('{"a":1}');
});

it('gives back what a body took that was refused, whether its request ends or not', async () => {
  const budget = createByteBudget(MB);
  const share = budget.open(['me']);
  share.take(MB);
  await expect(read(Buffer.from('no gzip'), share)).rejects.toThrow(AppError);
  expect(budget.open(['other']).take(MB)).toBe(true);
});

it('holds a body that comes octet by octet in about its own size', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const stream = new PassThrough();
  const request = Object.assign(stream, { headers: {} }) as unknown as IncomingMessage;
  const share = createByteBudget(MB).open(['me']);
  const body = readBody(request, { maxBytes: MB, withinMs: 60_000, clock: systemClock, share });
  const before = held();
  const OCTETS = 200_000;
  for (let n = 0; n < OCTETS; n++) stream.write(Buffer.of(n));
  expect(held() - before).toBeLessThan(10 * OCTETS);
  stream.end();
  expect(await body).toHaveLength(OCTETS);
});
