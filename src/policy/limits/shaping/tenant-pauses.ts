/**
 * Mail of one sender domain that may not go to one site or provider for a time, while everybody else's does: the
 * overrides of scope `tenant@site` and `domain@provider` that say `suspended`. Given where a recipient
 * goes; answers from memory, at once where there is no such override at all.
 */
import { domainKey, type Override, type Overrides, tenantKey } from './types.ts';

export interface TenantPauses {
  /** What keeps this sender domain's mail from the place, or null. `provider` null: the site belongs to none. */
  of(senderDomain: string, place: { site: string; provider: string | null }): TenantPause | null;
  /** Whether anything of the kind is in force: without it nobody needs to know the place. */
  any(): boolean;
}

export interface TenantPause {
  until: number;
  /** For people, as everything that waits shows it. */
  reason: string;
}

export function createTenantPauses(overrides: Pick<Overrides, 'suspended' | 'any'>): TenantPauses {
  const any = (): boolean => overrides.any('tenant@site') || overrides.any('domain@provider');
  return {
    any,
    of(senderDomain, { site, provider }) {
      if (!any()) return null;
      const found = [
        { override: overrides.suspended('tenant@site', tenantKey(senderDomain, site)), place: site },
        provider === null
          ? null
          : {
              override: overrides.suspended('domain@provider', domainKey(senderDomain, provider)),
              place: provider,
            },
      ].flatMap((one) => (one === null || one.override === null ? [] : [reasonOf(one.override, one.place)]));
      return found.sort((a, b) => b.until - a.until)[0] ?? null;
    },
  };

  function reasonOf({ until, why, key }: Override, place: string): TenantPause {
    const sender = key.slice(0, key.lastIndexOf('@'));
    const reason = `mail from ${sender} to ${place} is paused until ${new Date(until).toISOString()}: ${why}`;
    return { until, reason: reason.slice(0, 512) };
  }
}
