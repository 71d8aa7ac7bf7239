/**
 * What a caller may grant when it creates a token or an SMTP credential: at most its own rights. Without this rule, any
 * token that may create tokens would have an administrator's rights, and one with limits could remove them by creating
 * another. Returns the rights and limits of the new one, or the problem for the listener to throw.
 */
import type { Problem } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { type Bounds, NO_BOUNDS } from '../../model/token.ts';
import { type MintRequest, sooner } from './access.ts';
import { isWithin } from './ip-allow-list.ts';
import { mayActOn } from './rights.ts';

export type MintVerdict = { kind: 'allowed' } | { kind: 'refused'; problem: Problem };

/**
 * Whether `caller` may create that token: scopes and domains must be a subset of its own (`admin` includes every scope,
 * '*' every domain), only an administrator may grant '*', and a sandbox token may only create sandbox tokens.
 */
export function mayMint(
  caller: Caller,
  request: Pick<MintRequest, 'domains' | 'scopes' | 'sandbox'>,
): MintVerdict {
  const isAdmin = caller.scopes.has('admin');
  if (!isAdmin && !caller.scopes.has('tokens:write')) {
    return refused('scope-missing', 'The token lacks the scope tokens:write');
  }
  const scope = isAdmin ? undefined : request.scopes.find((wanted) => !caller.scopes.has(wanted));
  if (scope !== undefined) {
    return refused('scope-missing', `A token cannot give the scope ${scope}, which it lacks`, '/Scopes');
  }
  if (request.domains.includes('*') && !request.scopes.includes('admin')) {
    return refused(
      'from-domain-not-allowed',
      'Name the domains in Domains: only a token with the scope admin has all of them ("*")',
      '/Domains',
    );
  }
  if (request.domains.some((domain) => !mayActOn(caller, domain))) {
    return refused('from-domain-not-allowed', 'A token cannot give a domain that it lacks', '/Domains');
  }
  if (caller.sandbox && !request.sandbox) {
    return refused('scope-missing', 'A sandbox token can only make sandbox tokens', '/Sandbox');
  }
  return { kind: 'allowed' };
}

/** The requested limits; absent ones are the caller's own. */
export interface LimitWish {
  ipAllowList?: readonly string[] | undefined;
  rateLimit?: number | undefined;
  /** Time, null = never. Absent: the caller's expiry, but at most `usualMs` from now. */
  expiresAt?: number | null | undefined;
}

/** The limits of the new token or credential. */
export interface Grant extends Bounds {
  createdBy: string;
  /** Absent: no person makes it. */
  inSession?: string | undefined;
  rateLimit: number | null;
}

/** How many creators' rates a token's sends count towards; a longer chain of creators is refused. */
const MAX_SHARES = 8;

/**
 * The limits of what `caller` creates: its own, or narrower ones. A request for more is refused and not reduced,
 * because somebody who asks for ten years and gets one hour would notice too late.
 */
export function grantOf(
  caller: Caller,
  wish: LimitWish,
  { now, usualMs }: { now: number; usualMs: number | null },
): { kind: 'granted'; grant: Grant } | { kind: 'refused'; problem: Problem } {
  const bounds = caller.bounds ?? NO_BOUNDS;
  const ipAllowList = wish.ipAllowList ?? bounds.ipAllowList;
  if (!isWithin(ipAllowList, bounds.ipAllowList)) {
    const from = bounds.ipAllowList.join(', ');
    return refused(
      'invalid-parameter',
      `This token may be used from ${from} only: give ranges within`,
      '/IPAllowList',
    );
  }
  const rateLimit = wish.rateLimit ?? caller.rateLimit;
  if (caller.rateLimit !== null && (rateLimit === null || rateLimit > caller.rateLimit)) {
    return refused(
      'invalid-parameter',
      `This token sends at most ${caller.rateLimit} a second`,
      '/RateLimit',
    );
  }
  const usual = usualMs === null ? null : now + usualMs;
  const expiresAt = wish.expiresAt === undefined ? sooner(usual, bounds.expiresAt) : wish.expiresAt;
  if (bounds.expiresAt !== null && (expiresAt === null || expiresAt > bounds.expiresAt)) {
    const end = new Date(bounds.expiresAt).toISOString();
    return refused(
      'invalid-parameter',
      `This token ends at ${end}: what it makes ends by then`,
      '/ExpiresIn',
    );
  }
  // The operator's own rate does not count: all tokens created for others would share it.
  const rateShares = caller.domains.includes('*')
    ? bounds.rateShares
    : [...bounds.rateShares, { key: caller.owner, perSecond: caller.rateLimit }];
  if (rateShares.length > MAX_SHARES) {
    return refused('invalid-parameter', `A line of tokens that make each other has at most ${MAX_SHARES}`);
  }
  return {
    kind: 'granted',
    grant: { ...makerOf(caller), ipAllowList, rateLimit, expiresAt, rateShares },
  };
}

/** Who makes something, as it is stored with it and checked in the same transaction. */
export function makerOf({ tokenId, session }: Caller): Pick<Grant, 'createdBy' | 'inSession'> {
  return { createdBy: tokenId, inSession: session };
}

function refused(
  name: Problem['name'],
  message: string,
  field?: string,
): { kind: 'refused'; problem: Problem } {
  return { kind: 'refused', problem: field === undefined ? { name, message } : { name, message, field } };
}
