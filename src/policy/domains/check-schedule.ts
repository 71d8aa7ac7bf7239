/**
 * When a sender domain is looked up again without anybody asking: soon and often while its records
 * are being published, then ever more rarely; once a day when all is well; often again while it fails. Pure. Each
 * domain has its own share of jitter, so that a thousand added at once are not checked at once for ever.
 */
import type { Domain } from '../../model/domain.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** As often as once a minute for so long, and this fraction of its age later on. */
const EAGER_MS = 15 * MINUTE_MS;
const FAILING_EVERY_MS = 15 * MINUTE_MS;
/** Whoever has not published anything for so long is looked up once a day. */
const ABANDONED_MS = 30 * DAY_MS;
const JITTER = 0.1;

/** When the next check is due, epoch milliseconds; null = never by itself (an operator's word, a suspension). */
export function nextCheckAt(
  domain: Pick<Domain, 'id' | 'status' | 'verifiedBy' | 'createdAt' | 'lastCheckedAt'>,
): number | null {
  const waitMs = waitOf(domain);
  if (waitMs === null) return null;
  const share = ((domain.id * 7919) % 1000) / 1000;
  return (domain.lastCheckedAt ?? domain.createdAt) + Math.round(waitMs * (1 - JITTER * share));
}

function waitOf(
  domain: Pick<Domain, 'status' | 'verifiedBy' | 'createdAt' | 'lastCheckedAt'>,
): number | null {
  // The operator's word needs no DNS, and one that was never looked up may not be in it at all.
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
