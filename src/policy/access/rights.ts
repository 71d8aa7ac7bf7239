/**
 * What a caller may do: scopes and sender domains. Pure questions about the `Caller` that authentication found; those
 * that begin with `require` throw AppError `scope-missing` with what is lacking.
 */
import { AppError } from '../../lib/errors.ts';
import { toALabelDomain } from '../../mail/address.ts';
import type { Caller } from '../../model/submission.ts';
import type { Scope } from '../../model/token.ts';

/** Whether the caller holds `scope` or `admin`, which implies every other. */
export function hasScope({ scopes }: Caller, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has('admin');
}

/** Throws AppError `scope-missing` unless the caller has it. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  const message =
    caller.session === undefined
      ? `The token lacks the scope ${scope}`
      : scope === 'admin'
        ? 'Only operators may do this'
        : `Your rights do not include ${scope}: ask an operator for them`;
  throw new AppError('scope-missing', { message, scope });
}

/** A name for all tokens derived from one another: the owner of the first one that was not created by the operator. */
export function lineOf({ owner, bounds }: Caller): string {
  return bounds?.rateShares[0]?.key ?? owner;
}

/**
 * The names under which a caller's part of what all use is counted: the line of its tokens, and its domains. A tenant may have
 * several lines, of tokens and people that the operator made, and several domains.
 */
export function sharersOf(caller: Caller): readonly string[] {
  let names = sharers.get(caller);
  if (names === undefined) {
    names = [`line ${lineOf(caller)}`, ...(callerDomains(caller) ?? []).map((name) => `domain ${name}`)];
    sharers.set(caller, names);
  }
  return names;
}

/** Each request asks for them, and a caller is known for many requests. */
const sharers = new WeakMap<Caller, readonly string[]>();

/** Throws AppError `scope-missing` unless the caller's token is for all domains. */
export function requireAllDomains(caller: Caller): void {
  if (callerDomains(caller) === undefined) return;
  throw new AppError('scope-missing', {
    message:
      caller.session === undefined
        ? 'This is for admin tokens of all domains'
        : 'This is for people with rights on all domains: ask an operator for it',
  });
}

/** Whether `domain` (lower-case A-label) belongs to the caller. */
export function mayActOn(caller: Caller, domain: string): boolean {
  return caller.domains.includes('*') || caller.domains.includes(domain);
}

/** The domains to restrict a query to; undefined = no restriction. */
export function callerDomains(caller: Caller): readonly string[] | undefined {
  return caller.domains.includes('*') ? undefined : caller.domains;
}

/**
 * The one domain an operation is about, as lower-case A-label: the given one, otherwise the only one of the token.
 * Throws AppError `not-found` for a domain that is not the caller's (whether it exists is not disclosed), and
 * `domain-ambiguous` if none is given and the token does not have exactly one.
 */
export function pickDomain(caller: Caller, given: string | undefined): string {
  if (given !== undefined && given !== '') {
    // One label is accepted too: mail from localhost is captured in development.
    const domain = toALabelDomain(given.trim(), 1);
    if (domain === null) {
      throw new AppError('not-found', {
        field: '/Domain',
        message: 'Domain must be a name such as example.com',
      });
    }
    if (!mayActOn(caller, domain))
      throw new AppError('not-found', { field: '/Domain', message: notOf(caller) });
    return domain;
  }
  const [only, ...others] = caller.domains;
  if (only === undefined || only === '*' || others.length > 0) {
    throw new AppError('domain-ambiguous', { field: '/Domain' });
  }
  return only;
}

/** Names what the token may use, as people often take the token of another domain, and nothing of what was asked for. */
function notOf({ domains: [only, ...others], session }: Caller): string {
  if (session !== undefined) return 'Your rights do not include that domain: ask an operator for it';
  return only === undefined || others.length > 0
    ? 'Domain must be one of those of this token, which GET /api/v1/me lists'
    : `This token is only for ${only}`;
}
