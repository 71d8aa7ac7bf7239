/**
 * Whether a caller may send from a domain, and as which registered domain: the domain itself, or one above it that allows
 * sub-domains. Acceptance asks for every message, so it is answered from the cache.
 */
import type { Clock } from '../../lib/clock.ts';
import type { DomainSettings } from '../../model/domain.ts';
import { effectiveQuota, NO_QUOTA, type QuotaLimits } from '../../model/quota.ts';
import type { Caller } from '../../model/submission.ts';
import type { DomainCache } from './domain-cache.ts';
import { maySend } from './domain-status.ts';

export type SenderFor = (
  caller: Caller,
  fromDomain: string,
) => Promise<
  | { kind: 'domain'; name: string; quota: QuotaLimits | null; settings?: DomainSettings }
  | { kind: 'not-allowed' }
  | { kind: 'unknown' }
  | { kind: 'not-verified'; name: string }
>;

/** `quota`: of domains without their own. */
export function createSenderFor(
  { cache, clock }: { cache: DomainCache; clock: Clock },
  options: { anyDomain: boolean; quota: QuotaLimits },
): SenderFor {
  const { known, lookUp } = cache;
  const { quota } = options;
  return senderFor;

  async function senderFor(caller: Caller, fromDomain: string) {
    const all = caller.domains.includes('*');
    // Whole labels only: the domain itself, then each parent that allows sub-domains.
    for (let name = fromDomain; name !== ''; name = parentOf(name)) {
      if (!all && !caller.domains.includes(name)) continue;
      const { domain } = known(name) ?? (await lookUp(name));
      if (domain === null) {
        if (!all && name === fromDomain && !options.anyDomain) return { kind: 'not-verified', name } as const;
        continue;
      }
      if (name !== fromDomain && !domain.settings.subdomains) continue;
      if (!all && (await isUnderOther(caller, fromDomain, name))) return { kind: 'not-allowed' } as const;
      if (maySend(domain, clock.now()) || options.anyDomain) {
        return {
          kind: 'domain',
          name,
          quota: effectiveQuota(domain.settings.quota, quota),
          settings: domain.settings,
        } as const;
      }
      return { kind: 'not-verified', name } as const;
    }
    if (options.anyDomain && (all || caller.domains.includes(fromDomain))) {
      return { kind: 'domain', name: fromDomain, quota: effectiveQuota(NO_QUOTA, quota) } as const;
    }
    return { kind: all ? 'unknown' : 'not-allowed' } as const;
  }

  /**
   * Whether a domain between the two is registered separately: its mail is for its own tokens. One that is not verified
   * does not count, or adding it could stop the parent's mail.
   */
  async function isUnderOther(caller: Caller, from: string, parent: string): Promise<boolean> {
    for (let name = from; name !== parent; name = parentOf(name)) {
      if (caller.domains.includes(name)) continue;
      const { domain } = known(name) ?? (await lookUp(name));
      if (domain !== null && domain.status !== 'Pending') return true;
    }
    return false;
  }
}

/** `a.b.example.com` → `b.example.com`; '' for two labels and fewer. */
function parentOf(name: string): string {
  const parent = name.slice(name.indexOf('.') + 1);
  return parent !== name && parent.includes('.') ? parent : '';
}
