/**
 * When a sender domain is checked again automatically: soon and often while its records are being published, then less
 * and less often; once a day when everything is correct; often while it fails. Each domain has its own jitter, so that
 * a thousand domains added together are not always checked together.
 */
import type { Domain } from '../../model/domain.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Once a minute for this time, and later after this fraction of its age. */
const EAGER_MS = 15 * MINUTE_MS;
const FAILING_EVERY_MS = 15 * MINUTE_MS;
/** A domain without correct records for this long is checked once a day. */
const ABANDONED_MS = 30 * DAY_MS;
const JITTER = 0.1;

/**
 * When the next check is due, in epoch milliseconds; null = no automatic check (declared by the operator, or
 * suspended). A time in the future was stored while the clock was ahead: then it is due at once.
 */
export function nextCheckAt(
  domain: Pick<Domain, 'id' | 'status' | 'verifiedBy' | 'createdAt' | 'lastCheckedAt'>,
  now: number,
): number | null {
  const waitMs = waitOf(domain);
  if (waitMs === null) return null;
  const since = domain.lastCheckedAt ?? domain.createdAt;
  if (since > now) return now;
  const share = ((domain.id * 7919) % 1000) / 1000;
  return since + Math.round(waitMs * (1 - JITTER * share));
}

function waitOf(
  domain: Pick<Domain, 'status' | 'verifiedBy' | 'createdAt' | 'lastCheckedAt'>,
): number | null {
  // A domain declared by the operator needs no DNS, and may not exist there at all.
  if (domain.verifiedBy === 'operator') return null;
  switch (domain.status) {
    case 'Suspended':
      return null;
    case 'Verified':
      return DAY_MS;
    case 'Failing':
      return FAILING_EVERY_MS;
    case 'Pending': {
      const ageMs = (domain.lastCheckedAt ?? domain.createdAt) - domain.createdAt;
      if (ageMs > ABANDONED_MS) return DAY_MS;
      return Math.min(HOUR_MS, Math.max(MINUTE_MS, (ageMs / EAGER_MS) * MINUTE_MS));
    }
  }
}
