import { expect, it } from 'vitest';
import type { Token } from '../../../../src/client/api-types.ts';
import { countBelow, standingOf, treeOf } from './token-tree.ts';

const token = (TokenID: string, CreatedBy: string | null, more: Partial<Token> = {}): Token => ({
  ...{ TokenID, Name: TokenID, Domains: ['example.com'], Scopes: [], Sandbox: false, IPAllowList: [] },
  ...{ RateLimit: null, CreatedBy, CreatedAt: '2026-01-01T00:00:00.000Z', ExpiresAt: null },
  ...{ LastUsedAt: null, LastUsedIP: null, RevokedAt: null, ReplacedBy: null },
  ...more,
});

const shown = (tokens: readonly Token[]) => treeOf(tokens).map((row) => `${row.depth} ${row.token.TokenID}`);

it('stands each token below the one that made it, in the given order otherwise', () => {
  const tokens = [token('d', 'b'), token('c', 'a'), token('b', 'a'), token('a', 'gone'), token('e', null)];
  expect(shown(tokens)).toEqual(['0 a', '1 c', '1 b', '2 d', '0 e']);
  expect(countBelow(tokens, 'a')).toBe(3);
  expect(countBelow(tokens, 'd')).toBe(0);
});

it('shows a long line of makers without walking off the page', () => {
  const tokens = Array.from({ length: 9 }, (_, n) => token(`${n}`, n === 0 ? null : `${n - 1}`));
  expect(treeOf(tokens).map(({ depth }) => depth)).toEqual([0, 1, 2, 3, 4, 4, 4, 4, 4]);
});

it('tells a revoked token from one that came to its end', () => {
  const now = Date.parse('2026-06-01T00:00:00Z');
  expect(standingOf(token('a', null), now)).toBe('live');
  expect(standingOf(token('a', null, { ExpiresAt: '2026-06-01T00:00:00.000Z' }), now)).toBe('ended');
  expect(standingOf(token('a', null, { RevokedAt: '2026-05-01T00:00:00.000Z' }), now)).toBe('revoked');
});
