/** Tokens of personal links: what they are bound to, and that nothing else passes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPersonalTokens, type PersonalBinding } from './personal-token.ts';

const OLD = { id: 2, secret: new Uint8Array(32).fill(1) };
const NEW = { id: 2, secret: new Uint8Array(32).fill(2) };
const tokens = createPersonalTokens([NEW, OLD]);
const binding: fc.Arbitrary<PersonalBinding> = fc.record({
  purpose: fc.constantFrom('o' as const, 'c' as const, 'u' as const),
  host: fc.constantFrom('', 'track.example.com', 'track.example.org'),
  digest: fc.constantFrom('', 'aaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbb'),
});
const id = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const link = fc.integer({ min: 0, max: 1023 });

describe('a personal token', () => {
  it('is read back as it was made, in any case, always 32 characters', () => {
    fc.assert(
      fc.property(binding, id, link, (bound, deliveryId, number) => {
        const token = tokens.make(bound, deliveryId, number);
        expect(token).toMatch(/^[0-9a-z]{32}$/);
        expect(tokens.parse(bound, token.toUpperCase())).toEqual({ deliveryId, link: number });
        expect(tokens.make(bound, deliveryId, number)).toBe(token);
      }),
    );
  });

  it('fits nothing but its binding', () => {
    fc.assert(
      fc.property(binding, binding, id, link, (bound, other, deliveryId, number) => {
        fc.pre(JSON.stringify(bound) !== JSON.stringify(other));
        expect(tokens.parse(other, tokens.make(bound, deliveryId, number))).toBeNull();
      }),
    );
  });

  it('is worth nothing with one character changed', () => {
    const bound: PersonalBinding = { purpose: 'c', host: '', digest: 'x' };
    const token = tokens.make(bound, 12345, 7);
    for (let i = 0; i < token.length; i++) {
      const digit = token[i] === '5' ? '6' : '5';
      expect(tokens.parse(bound, token.slice(0, i) + digit + token.slice(i + 1))).toBeNull();
    }
  });

  it('is never made of anything that somebody sends', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 32, maxLength: 32 })),
        (text) => {
          expect(tokens.parse({ purpose: 'u', host: '', digest: '' }, text)).toBeNull();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of the key before is still read, of a key that is gone it is not', () => {
    const bound: PersonalBinding = { purpose: 'u', host: 'h', digest: '' };
    const before = createPersonalTokens([OLD]).make(bound, 1, 0);
    expect(tokens.parse(bound, before)).toEqual({ deliveryId: 1, link: 0 });
    expect(createPersonalTokens([NEW]).parse(bound, before)).toBeNull();
  });

  it('is not made for what does not fit', () => {
    const bound: PersonalBinding = { purpose: 'o', host: '', digest: '' };
    for (const [delivery, number] of [
      [-1, 0],
      [1.5, 0],
      [2 ** 53, 0],
      [1, -1],
      [1, 1024],
    ] as const) {
      expect(() => tokens.make(bound, delivery, number)).toThrow(RangeError);
    }
    expect(() => createPersonalTokens([])).toThrow(RangeError);
    expect(() => createPersonalTokens([{ id: 16, secret: new Uint8Array(32) }])).toThrow(RangeError);
    expect(() => createPersonalTokens([{ id: 1, secret: new Uint8Array(8) }])).toThrow(RangeError);
  });
});
