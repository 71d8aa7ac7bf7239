/**
 * What a token may give away: at most what it holds itself. Without this rule any token that may write tokens would
 * be an admin token. Given the caller and the request as parsed; leaves nothing; the listener throws the problem.
 */
import type { Problem } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { type MintRequest, mayActOn } from './access.ts';

export type MintVerdict = { kind: 'allowed' } | { kind: 'refused'; problem: Problem };

/**
 * Whether `caller` may make that token: scopes and domains a subset of its own (`admin` implies every scope, '*'
 * every domain), '*' only by and for an admin, and out of a sandbox token only sandbox tokens.
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
    return refused('from-domain-not-allowed', '"*" is for admin tokens only', '/Domains');
  }
  if (request.domains.some((domain) => !mayActOn(caller, domain))) {
    return refused('from-domain-not-allowed', 'A token cannot give a domain that it lacks', '/Domains');
  }
  if (caller.sandbox && !request.sandbox) {
    return refused('scope-missing', 'A sandbox token can only make sandbox tokens', '/Sandbox');
  }
  return { kind: 'allowed' };
}

function refused(name: Problem['name'], message: string, field?: string): MintVerdict {
  return { kind: 'refused', problem: field === undefined ? { name, message } : { name, message, field } };
}
