import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { SCOPES, type Scope } from '../../model/token.ts';
import { grantOf, mayMint } from './may-mint.ts';
import { callerDomains, mayActOn, pickDomain, requireScope } from './rights.ts';

function caller(scopes: readonly Scope[], domains: readonly string[], sandbox = false): Caller {
  return { tokenId: 't', owner: 'o', domains, scopes: new Set(scopes), sandbox, rateLimit: null };
}

function problemOf(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('what a caller may do', () => {
  it('passes a held scope, and every scope for an admin', () => {
    requireScope(caller(['email:send'], ['a.test']), 'email:send');
    for (const scope of SCOPES) requireScope(caller(['admin'], ['*']), scope);
  });

  it('names the missing scope in a 403 with code 34', () => {
    const error = problemOf(() => requireScope(caller(['email:send'], ['a.test']), 'webhooks:read'));
    expect(error.status).toBe(403);
    expect(error.problems[0].name).toBe('scope-missing');
    expect(error.scope).toBe('webhooks:read');
  });

  it('takes the named domain, else the only one', () => {
    expect(pickDomain(caller([], ['a.test']), undefined)).toBe('a.test');
    expect(pickDomain(caller([], ['a.test', 'b.test']), 'B.Test')).toBe('b.test');
    expect(pickDomain(caller(['admin'], ['*']), 'anything.test')).toBe('anything.test');
    expect(problemOf(() => pickDomain(caller([], ['a.test']), 'b.test')).problems[0].name).toBe('not-found');
    expect(problemOf(() => pickDomain(caller([], ['*']), 'not a domain')).problems[0].name).toBe('not-found');
    for (const domains of [['a.test', 'b.test'], ['*'], []]) {
      const error = problemOf(() => pickDomain(caller([], domains), undefined));
      expect(error.problems[0].name).toBe('domain-ambiguous');
    }
  });

  it('restricts queries to its domains, an admin not at all', () => {
    expect(callerDomains(caller([], ['a.test']))).toEqual(['a.test']);
    expect(callerDomains(caller(['admin'], ['*']))).toBeUndefined();
    expect(mayActOn(caller([], ['a.test']), 'sub.a.test')).toBe(false);
  });
});

describe('minting', () => {
  const scopesArb = fc.subarray([...SCOPES]);
  const domainsArb = fc.subarray(['a.test', 'b.test', 'c.test', '*']);

  it('never gives away more than the caller holds', () => {
    fc.assert(
      fc.property(
        scopesArb,
        domainsArb,
        scopesArb,
        domainsArb,
        fc.boolean(),
        (mine, own, wanted, domains, sandbox) => {
          const who = caller(mine, own, sandbox);
          const verdict = mayMint(who, { scopes: wanted, domains, sandbox: false });
          if (verdict.kind === 'refused') return;
          const isAdmin = mine.includes('admin');
          expect(isAdmin || mine.includes('tokens:write')).toBe(true);
          expect(isAdmin || wanted.every((scope) => mine.includes(scope))).toBe(true);
          expect(own.includes('*') || domains.every((domain) => own.includes(domain))).toBe(true);
          if (domains.includes('*')) expect(wanted).toContain('admin');
          expect(sandbox).toBe(false);
        },
      ),
    );
  });

  it('allows a subset and says which part was too much', () => {
    const who = caller(['tokens:write', 'email:send'], ['a.test']);
    const want = { scopes: ['email:send'] as Scope[], domains: ['a.test'], sandbox: false };
    expect(mayMint(who, want)).toEqual({ kind: 'allowed' });
    expect(mayMint(who, { ...want, scopes: ['admin'] })).toMatchObject({ problem: { field: '/Scopes' } });
    expect(mayMint(who, { ...want, domains: ['b.test'] })).toMatchObject({ problem: { field: '/Domains' } });
    expect(mayMint(who, { ...want, domains: ['*'] })).toMatchObject({ problem: { field: '/Domains' } });
    expect(mayMint(caller(['email:send'], ['a.test']), want)).toMatchObject({ kind: 'refused' });
  });
});

describe('the limits of what a caller makes', () => {
  const NOW = 1_790_000_000_000;
  const HOUR = 3_600_000;
  const limited: Caller = {
    ...caller(['tokens:write'], ['a.test']),
    rateLimit: 5,
    bounds: { expiresAt: NOW + HOUR, ipAllowList: ['192.0.2.0/24', '2001:db8::/32'], rateShares: [] },
  };
  const ask = (wish: Parameters<typeof grantOf>[1], by = limited) =>
    grantOf(by, wish, { now: NOW, usualMs: 24 * HOUR });
  const fieldOf = (wish: Parameters<typeof grantOf>[1]) => {
    const verdict = ask(wish);
    return verdict.kind === 'refused' ? verdict.problem.field : verdict.kind;
  };

  it('are its own where nothing is said, and its maker is kept', () => {
    expect(ask({})).toEqual({
      kind: 'granted',
      grant: {
        createdBy: 't',
        ipAllowList: ['192.0.2.0/24', '2001:db8::/32'],
        rateLimit: 5,
        expiresAt: NOW + HOUR,
        rateShares: [{ key: 'o', perSecond: 5 }],
      },
    });
  });

  it('may be narrower, never wider', () => {
    expect(fieldOf({ ipAllowList: ['192.0.2.7', '2001:db8:1::/48'], rateLimit: 1, expiresAt: NOW + 1 })).toBe(
      'granted',
    );
    for (const ipAllowList of [
      [],
      ['0.0.0.0/0'],
      ['192.0.0.0/16'],
      ['192.0.2.1', '198.51.100.1'],
      ['::/0'],
      ['nonsense'],
    ]) {
      expect(fieldOf({ ipAllowList })).toBe('/IPAllowList');
    }
    expect(fieldOf({ rateLimit: 5.1 })).toBe('/RateLimit');
    expect(fieldOf({ expiresAt: null })).toBe('/ExpiresIn');
    expect(fieldOf({ expiresAt: NOW + HOUR + 1 })).toBe('/ExpiresIn');
  });

  it('are none for what an administrator without any makes', () => {
    const operator = caller(['admin'], ['*']);
    expect(ask({ expiresAt: null }, operator)).toMatchObject({
      grant: { ipAllowList: [], rateLimit: null, expiresAt: null, rateShares: [] },
    });
    expect(ask({}, operator)).toMatchObject({ grant: { expiresAt: NOW + 24 * HOUR } });
  });

  it('go down a line of tokens, which has an end', () => {
    let maker = limited;
    for (let depth = 1; depth <= 8; depth += 1) {
      const verdict = ask({}, maker);
      if (verdict.kind === 'refused') throw new Error(`refused at ${depth}`);
      expect(verdict.grant.rateShares).toHaveLength(depth);
      maker = { ...maker, tokenId: `${depth}`, owner: `${depth}`, bounds: verdict.grant };
    }
    expect(ask({}, maker).kind).toBe('refused');
  });
});
