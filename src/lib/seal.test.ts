import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealer, SealError } from './seal.ts';

const older = { id: 'k1', secret: Buffer.alloc(32, 1) };
const newer = { id: 'k2', secret: Buffer.alloc(32, 2) };
const sealer = createSealer([older]);

function reasonOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof SealError ? error.reason : error;
  }
  return 'opened';
}

describe('createSealer', () => {
  it('opens what it sealed, for any bytes and purpose', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.string(), (plain, purpose) => {
        const sealed = sealer.seal(plain, purpose);
        expect(sealed.length).toBe(plain.length + 30 + 2);
        expect(Buffer.compare(sealer.open(sealed, purpose), plain)).toBe(0);
      }),
    );
  });

  it('refuses a value in which any bit was turned', () => {
    const plain = Buffer.from('a secret');
    fc.assert(
      fc.property(fc.nat(plain.length + 31), fc.integer({ min: 0, max: 7 }), (at, bit) => {
        const sealed = Uint8Array.from(sealer.seal(plain, 'dkim'));
        sealed[at] = (sealed[at] ?? 0) ^ (1 << bit);
        expect(reasonOf(() => sealer.open(sealed, 'dkim'))).toMatch(/^(malformed|unknown-key|refused)$/);
      }),
    );
  });

  it('refuses a value that was cut short, lengthened or is something else', () => {
    const sealed = sealer.seal(Buffer.from('a secret'), 'dkim');
    for (let length = 0; length < sealed.length; length++) {
      expect(reasonOf(() => sealer.open(sealed.subarray(0, length), 'dkim'))).not.toBe('opened');
    }
    expect(reasonOf(() => sealer.open(Buffer.concat([sealed, Buffer.of(0)]), 'dkim'))).toBe('refused');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expect(reasonOf(() => sealer.open(bytes, 'dkim'))).toMatch(/^(malformed|unknown-key|refused)$/);
      }),
    );
  });

  it('refuses another purpose and another secret under the same id', () => {
    const sealed = sealer.seal(Buffer.from('a secret'), 'dkim');
    expect(reasonOf(() => sealer.open(sealed, 'webhook'))).toBe('refused');
    const stranger = createSealer([{ id: 'k1', secret: Buffer.alloc(32, 9) }]);
    expect(reasonOf(() => stranger.open(sealed, 'dkim'))).toBe('refused');
    expect(reasonOf(() => createSealer([newer]).open(sealed, 'dkim'))).toBe('unknown-key');
  });

  it('seals with the first key and still opens what the one before sealed', () => {
    const both = createSealer([newer, older]);
    const old = sealer.seal(Buffer.from('x'), 'p');
    expect(Buffer.from(both.open(old, 'p')).toString()).toBe('x');
    expect(reasonOf(() => sealer.open(both.seal(Buffer.from('x'), 'p'), 'p'))).toBe('unknown-key');
  });

  it('never seals to the same bytes twice', () => {
    const seals = Array.from({ length: 100 }, () =>
      Buffer.from(sealer.seal(Buffer.of(1), 'p')).toString('hex'),
    );
    expect(new Set(seals).size).toBe(100);
  });

  it('derives the same key for the same use and another for any other', () => {
    const both = createSealer([newer, older]);
    expect(sealer.deriveKey('verp')).toEqual(createSealer([older]).deriveKey('verp'));
    expect(sealer.deriveKey('verp')).toHaveLength(32);
    expect(sealer.deriveKey('verp')).not.toEqual(sealer.deriveKey('link'));
    expect(sealer.deriveKey('verp')).not.toEqual(both.deriveKey('verp'));
    expect(both.deriveKeys('verp')).toEqual([
      { id: 'k2', key: both.deriveKey('verp') },
      { id: 'k1', key: sealer.deriveKey('verp') },
    ]);
  });

  it('keeps its secrets apart from the buffers it was given', () => {
    const secret = Buffer.alloc(32, 5);
    const own = createSealer([{ id: 'a', secret }]);
    const sealed = own.seal(Buffer.from('x'), 'p');
    secret.fill(0);
    expect(Buffer.from(own.open(sealed, 'p')).toString()).toBe('x');
  });

  it('refuses to start without usable keys', () => {
    for (const keys of [
      [],
      [{ id: '', secret: older.secret }],
      [{ id: 'a b', secret: older.secret }],
      [older, older],
      [{ id: 'a', secret: Buffer.alloc(15) }],
    ]) {
      expect(() => createSealer(keys)).toThrow(RangeError);
    }
  });
});
