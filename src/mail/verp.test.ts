import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createReturnPathTokens } from './verp.ts';

const SECRET = Buffer.alloc(32, 7);
const tokens = createReturnPathTokens([{ id: 3, secret: SECRET }]);
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const deliveryIds = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(100),
  fc.bigInt({ min: BigInt(Number.MAX_SAFE_INTEGER) + 1n, max: (1n << 60n) - 1n }),
);
const purposes = fc.constantFrom('b' as const, 'g' as const, 'u' as const);

/** The digits as the page describes them: big-endian, five bits at a time. */
function base32(value: bigint, count: number): string {
  let text = '';
  for (let i = 0; i < count; i++) text = ALPHABET[Number((value >> BigInt(5 * i)) & 31n)] + text;
  return text;
}

describe('return-path tokens', () => {
  it('have the documented shape, bit for bit', () => {
    const id = base32((1n << 64n) | (3n << 60n) | 123_456_789n, 14);
    const mac = createHmac('sha256', SECRET).update(`b${id}`).digest().subarray(0, 10);
    expect(tokens.make('b', 123_456_789)).toBe(`b-${id}-${base32(BigInt(`0x${mac.toString('hex')}`), 16)}`);
    expect(tokens.make('b', 123_456_789)).toHaveLength(33);
  });

  it('carry the HMAC of RFC 2104 for secrets of any length', () => {
    for (const length of [16, 63, 64, 65, 200]) {
      const secret = Buffer.alloc(length, length);
      const token = createReturnPathTokens([{ id: 0, secret }]).ref(1);
      const mac = createHmac('sha256', secret)
        .update(`r${token.slice(0, 14)}`)
        .digest()
        .subarray(0, 10);
      expect(token.slice(15)).toBe(base32(BigInt(`0x${mac.toString('hex')}`), 16));
    }
  });

  it('come back with purpose, id and key, however the case was folded', () => {
    fc.assert(
      fc.property(
        purposes,
        deliveryIds,
        fc.constantFrom('lower', 'upper', 'mixed', 'quoted'),
        (purpose, id, how) => {
          const made = tokens.make(purpose, id);
          const text =
            how === 'upper'
              ? made.toUpperCase()
              : how === 'mixed'
                ? [...made].map((c, i) => (i % 2 ? c.toUpperCase() : c)).join('')
                : how === 'quoted'
                  ? `"${made}"`
                  : made;
          expect(tokens.parse(text)).toEqual({ ok: true, purpose, id });
        },
      ),
    );
  });

  it('are refused once any character is another', () => {
    fc.assert(
      fc.property(
        purposes,
        deliveryIds,
        fc.nat(32),
        fc.constantFrom(...ALPHABET, '-', 'i', 'l', 'o'),
        (p, id, at, c) => {
          const made = tokens.make(p, id);
          fc.pre(made[at] !== c);
          expect(tokens.parse(made.slice(0, at) + c + made.slice(at + 1)).ok).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are bound to their purpose', () => {
    const made = tokens.make('b', 5);
    expect(tokens.parse(`u${made.slice(1)}`)).toEqual({ ok: false, reason: 'forged' });
    expect(tokens.parseRef(made.slice(2))).toEqual({ ok: false, reason: 'forged' });
    expect(tokens.parse(`b-${tokens.ref(5)}`)).toEqual({ ok: false, reason: 'forged' });
  });

  it('are read with the older key too, while the newer one makes them', () => {
    const newer = { id: 4, secret: Buffer.alloc(32, 8) };
    const both = createReturnPathTokens([newer, { id: 3, secret: SECRET }]);
    expect(both.parse(tokens.make('b', 9))).toEqual({ ok: true, purpose: 'b', id: 9 });
    expect(both.parse(both.make('b', 9))).toEqual({ ok: true, purpose: 'b', id: 9 });
    expect(tokens.parse(both.make('b', 9))).toEqual({ ok: false, reason: 'unknown-key' });
    const reused = createReturnPathTokens([{ id: 3, secret: Buffer.alloc(32, 9) }]);
    expect(reused.parse(tokens.make('b', 9))).toEqual({ ok: false, reason: 'forged' });
  });

  it('of another version or other addresses are told apart', () => {
    const made = tokens.make('b', 5);
    expect(tokens.parse(`b-z${made.slice(3)}`)).toEqual({ ok: false, reason: 'unknown-version' });
    for (const other of [
      '',
      'b',
      'b-',
      'fbl',
      'postmaster',
      `${made}x`,
      made.slice(1),
      `x${made.slice(1)}`,
      '"',
      '""',
    ]) {
      expect(tokens.parse(other)).toEqual({ ok: false, reason: 'not-a-token' });
    }
  });

  it('survive any text without throwing', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ minLength: 33, maxLength: 33 }), fc.string({ unit: 'binary' })),
        (text) => {
          expect(tokens.parse(text).ok).toBe(false);
          expect(tokens.parseRef(text).ok).toBe(false);
        },
      ),
    );
    expect(tokens.parse('b'.repeat(10_000_000)).ok).toBe(false);
    expect(tokens.parseRef(' '.repeat(10_000_000)).ok).toBe(false);
  });

  it('make references that are read back with blanks around them', () => {
    fc.assert(
      fc.property(deliveryIds, (id) => {
        expect(tokens.parseRef(` ${tokens.ref(id).toUpperCase()}\r\n`)).toEqual({ ok: true, id });
      }),
    );
  });

  it('of two secrets that share an id are told apart, and made with the first', () => {
    const older = createReturnPathTokens([{ id: 3, secret: Buffer.alloc(32, 9) }]);
    const both = createReturnPathTokens([
      { id: 3, secret: SECRET },
      { id: 3, secret: Buffer.alloc(32, 9) },
    ]);
    expect(both.make('b', 5)).toBe(tokens.make('b', 5));
    for (const maker of [tokens, older]) {
      expect(both.parse(maker.make('b', 5))).toEqual({ ok: true, purpose: 'b', id: 5 });
    }
    expect(tokens.parse(older.make('b', 5))).toEqual({ ok: false, reason: 'forged' });
  });

  it('refuse ids and keys out of range', () => {
    for (const id of [-1, 0.5, Number.NaN, 2 ** 53, -1n, 1n << 60n]) {
      expect(() => tokens.make('b', id)).toThrow(RangeError);
    }
    expect(tokens.parse(tokens.make('b', (1n << 60n) - 1n))).toMatchObject({
      ok: true,
      id: (1n << 60n) - 1n,
    });
    for (const keys of [
      [],
      [{ id: 16, secret: SECRET }],
      [{ id: -1, secret: SECRET }],
      [{ id: 1, secret: Buffer.alloc(8) }],
    ]) {
      expect(() => createReturnPathTokens(keys)).toThrow(RangeError);
    }
  });
});
