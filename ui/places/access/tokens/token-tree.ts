/** Tokens below the token that made them, as rows with a depth; and how each stands. Pure. */
import type { Token } from '../../../../src/client/api-types.ts';

export interface TokenRow {
  token: Token;
  /** 0: nothing that is shown made it. */
  depth: number;
}

/** Deeper ones are shown at this depth: a name needs room. */
const MAX_DEPTH = 4;

/** Each after what made it; in the given order otherwise. */
export function treeOf(tokens: readonly Token[]): readonly TokenRow[] {
  const ids = new Set(tokens.map(({ TokenID }) => TokenID));
  const children = Map.groupBy(tokens, ({ CreatedBy }) =>
    CreatedBy !== null && ids.has(CreatedBy) ? CreatedBy : null,
  );
  const rows: TokenRow[] = [];
  const open = (children.get(null) ?? []).map((token) => ({ token, depth: 0 })).reverse();
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    rows.push(row);
    const depth = Math.min(MAX_DEPTH, row.depth + 1);
    const below = children.get(row.token.TokenID) ?? [];
    for (const token of below.toReversed()) open.push({ token, depth });
  }
  return rows;
}

/** How many were made with it, and with those. */
export function countBelow(tokens: readonly Token[], id: string): number {
  let count = 0;
  const makers = [id];
  const seen = new Set(makers);
  for (let maker = makers.pop(); maker !== undefined; maker = makers.pop())
    for (const { TokenID, CreatedBy } of tokens) {
      if (CreatedBy !== maker || seen.has(TokenID)) continue;
      seen.add(TokenID);
      makers.push(TokenID);
      count += 1;
    }
  return count;
}

export type Standing = 'live' | 'ended' | 'revoked';

export function standingOf({ RevokedAt, ExpiresAt }: Token, nowMs: number): Standing {
  if (RevokedAt !== null) return 'revoked';
  return ExpiresAt !== null && Date.parse(ExpiresAt) <= nowMs ? 'ended' : 'live';
}
