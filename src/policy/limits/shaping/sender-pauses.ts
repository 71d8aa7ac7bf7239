/**
 * Mail of one sender domain that is paused at one site or provider while that of others is sent: the overrides of scope
 * `tenant@site` and `domain@provider` with `suspended`. Answers come from memory, without any work if there is no such
 * override.
 */
import { domainKey, type Override, type Overrides, senderKey } from './types.ts';

export interface SenderPauses {
  /** The pause of this sender domain at the destination, or null. `provider` null: the site belongs to none. */
  of(senderDomain: string, place: { site: string; provider: string | null }): SenderPause | null;
  /** Whether any such pause is in force; if not, the destination need not be known. */
  any(): boolean;
}

export interface SenderPause {
  until: number;
  /** For people, as shown for waiting mail. */
  reason: string;
}

export function createSenderPauses(overrides: Pick<Overrides, 'suspended' | 'any'>): SenderPauses {
  const any = (): boolean => overrides.any('tenant@site') || overrides.any('domain@provider');
  return {
    any,
    of(senderDomain, { site, provider }) {
      if (!any()) return null;
      const found = [
        { override: overrides.suspended('tenant@site', senderKey(senderDomain, site)), place: site },
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

  function reasonOf({ until, why, key }: Override, place: string): SenderPause {
    const sender = key.slice(0, key.lastIndexOf('@'));
    const reason = `mail from ${sender} to ${place} is paused until ${new Date(until).toISOString()}: ${why}`;
    return { until, reason: reason.slice(0, 512) };
  }
}
