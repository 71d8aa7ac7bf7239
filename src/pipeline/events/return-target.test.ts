import { expect, it } from 'vitest';
import { returnTarget } from './return-target.ts';

const tokens = (id: number | bigint, purpose: 'b' | 'g' | 'u') => ({
  parse: () => ({ ok: true as const, id, purpose, keyId: 1 }),
});

it('a token names a delivery, a message or a wish to unsubscribe', () => {
  expect(returnTarget('x', tokens(7, 'b'))).toEqual({ kind: 'delivery', deliveryId: 7 });
  expect(returnTarget('x', tokens(7, 'g'))).toEqual({ kind: 'message', messageSeq: 7 });
  expect(returnTarget('x', tokens(7, 'u'))).toEqual({ kind: 'unsubscribe', deliveryId: 7 });
});

it('a number that no database gives is no target', () => {
  expect(returnTarget('x', tokens(2n ** 60n, 'b'))).toBeNull();
});
