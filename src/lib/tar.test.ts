import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readTarHeader, TAR_END, tarHeader, tarPadding } from './tar.ts';

it('reads what it wrote, sizes beyond 8 GiB too', () => {
  const name = fc.stringMatching(/^[a-z0-9.-]{1,100}$/);
  fc.assert(
    fc.property(name, fc.maxSafeNat(), fc.nat(), (text, size, at) => {
      const entry = { name: text, size };
      const block = tarHeader(entry, at * 1000);
      expect(readTarHeader(block)).toEqual(entry);
      block[200] = 1;
      expect(readTarHeader(block)).toBeNull();
    }),
  );
  expect([0, 1, 511, 512, 513].map(tarPadding)).toEqual([0, 511, 1, 0, 511]);
});

it('sees no file in anything else', () => {
  expect(readTarHeader(TAR_END.subarray(0, 512))).toBeNull();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (octets) => readTarHeader(Buffer.from(octets)) === null),
  );
});
