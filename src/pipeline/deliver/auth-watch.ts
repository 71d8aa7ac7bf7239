/**
 * Tells who listens when a receiver's reply was about the authentication of the sender domain. Wraps the rules of
 * settlement, through which every outcome passes once; it changes none of them.
 */
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { SettlementRules } from './settlement.ts';

/** `authFailed`: called for each such outcome outside the sandbox. */
export function watchAuthentication(
  rules: SettlementRules,
  authFailed: (delivery: ClaimedDelivery) => void,
): SettlementRules {
  return {
    ...rules,
    settle(delivery, outcome, blockedUntil) {
      const verdict = 'verdict' in outcome ? outcome.verdict : null;
      if (verdict?.category === 'auth_failed' && delivery.sandbox === null) authFailed(delivery);
      return rules.settle(delivery, outcome, blockedUntil);
    },
  };
}
