/** Mail quotas at acceptance: the refusal when one is used up, and whether a message would fit. */
import { AppError } from '../../lib/errors.ts';
import { perPeriod, QUOTA_PERIODS, type QuotaLimits } from '../../model/quota.ts';
import type { Store } from '../../store/store.ts';
import type { CommitResult, NewMessage } from '../../store/topics/acceptance.ts';
import { chargedRecipients } from './commit-messages.ts';

type QuotaRefusal = Omit<Extract<CommitResult, { kind: 'quota-exceeded' }>, 'kind'>;

/** The error of a quota that is used up; waiting helps until its window ends. */
export function quotaExceeded({ domain, period, max, left, resetAt }: QuotaRefusal, now: number): AppError {
  const seconds = Math.max(1, (resetAt - now) / 1000);
  return new AppError('quota-exceeded', {
    message: `${domain} may send to ${max} recipients ${perPeriod(period)}; ${left} are left until ${new Date(resetAt).toISOString()}`,
    retryAfterSeconds: seconds,
    limit: {
      name: period,
      quota: max,
      windowSeconds: (QUOTA_PERIODS.find((each) => each.period === period)?.ms ?? 0) / 1000,
      left,
      resetSeconds: Math.ceil(seconds),
    },
  });
}

/** Throws AppError quota-exceeded if the message would not fit; counts nothing. */
export async function requireQuota(
  store: Pick<Store, 'quotaUses'>,
  message: NewMessage,
  limits: QuotaLimits,
): Promise<void> {
  const { domain, createdAt: now } = message;
  const count = chargedRecipients(message);
  const [uses = []] = await store.quotaUses({ domains: [domain], now });
  for (const { period } of QUOTA_PERIODS) {
    const max = limits[period];
    const use = uses.find((each) => each.period === period);
    if (max === null || use === undefined || use.used + count <= max) continue;
    throw quotaExceeded(
      { domain, period, max, left: Math.max(0, max - use.used), resetAt: use.resetAt },
      now,
    );
  }
}
