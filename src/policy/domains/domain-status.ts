/**
 * The state of a sender domain, from the result of a check.
 *
 *   Pending ──verified──► Verified ──a check fails──► Failing ──verified──► Verified
 *
 * `Suspended` stays until a person changes it. If the operator declared the domain verified, or the DNS gave no answer,
 * a check changes nothing. A failing domain may send for two more days, because records disappear by mistake and are
 * restored.
 */
import type { Domain, DomainStatus } from '../../model/domain.ts';
import type { DomainCheck } from './doctor/check.ts';

const GRACE_MS = 2 * 24 * 3_600_000;

/** Whether mail of this domain may be sent: verified, or failing for less than the grace time. */
export function maySend(domain: Pick<Domain, 'status' | 'failingSince'>, now: number): boolean {
  if (domain.status === 'Verified') return true;
  return domain.status === 'Failing' && now < (heldFrom(domain) ?? Number.POSITIVE_INFINITY);
}

/** When a failing domain's mail will be held, or null if it does not fail. */
export function heldFrom({ status, failingSince }: Pick<Domain, 'status' | 'failingSince'>): number | null {
  return status !== 'Failing' || failingSince === null ? null : failingSince + GRACE_MS;
}

/** The status after a check. */
export function nextStatus(
  domain: Pick<Domain, 'status' | 'verifiedBy' | 'failingSince'>,
  result: { verified: boolean; temporary: boolean },
  now: number,
): { status: DomainStatus; verifiedBy: Domain['verifiedBy']; failingSince: number | null } {
  if (domain.status === 'Suspended') return keep(domain);
  if (result.verified) return { status: 'Verified', verifiedBy: 'dns', failingSince: null };
  // The operator's declaration and a DNS time-out change nothing.
  if (domain.verifiedBy === 'operator' || result.temporary || domain.status === 'Pending')
    return keep(domain);
  // A time in the future was stored while the clock was ahead: the grace time would not end.
  const failingSince = Math.min(domain.failingSince ?? now, now);
  return { status: 'Failing', verifiedBy: domain.verifiedBy, failingSince };
}

function keep(domain: Pick<Domain, 'status' | 'verifiedBy' | 'failingSince'>) {
  return { status: domain.status, verifiedBy: domain.verifiedBy, failingSince: domain.failingSince };
}

/** The result of the last check as the domain service stored it; null before the first. */
export function checksOf(domain: Pick<Domain, 'lastChecks'>): readonly DomainCheck[] | null {
  return domain.lastChecks === null ? null : (JSON.parse(domain.lastChecks) as DomainCheck[]);
}
