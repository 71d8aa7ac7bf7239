/** Mail quotas at acceptance: the refusal when one is used up, and whether a message would fit. */
import { AppError } from '../../lib/errors.ts';
import { perPeriod, QUOTA_PERIODS, type QuotaLimits } from '../../model/quota.ts';
import type { Store } from '../../store/store.ts';
import type { CommitResult, NewMessage } from '../../store/topics/acceptance.ts';
import { chargedRecipients } from './commit-messages.ts';

type QuotaRefusal = Omit<Extract<CommitResult, { kind: 'quota-exceeded' }>, 'kind'>;

/** The error of a message that a quota refuses. Waiting for the end of its window helps, unless the message alone has too many. */
export function quotaExceeded(
  { domain, period, max, left, resetAt }: QuotaRefusal,
  message: NewMessage,
): AppError {
  const count = chargedRecipients(message);
  const allowed = `${domain} may send to ${max} ${max === 1 ? 'recipient' : 'recipients'} ${perPeriod(period)}`;
  if (max > 0 && count > max) {
    const text = `${allowed}, and this message has ${count}; send it to fewer at once`;
    return new AppError('recipients-total', { message: text });
  }
  const seconds = Math.max(1, (resetAt - message.createdAt) / 1000);
  return new AppError('quota-exceeded', {
    message: `${allowed}; ${left} are left until ${new Date(resetAt).toISOString()}`,
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
  const { domain, createdAt } = message;
  const count = chargedRecipients(message);
  const [uses = []] = await store.quotaUses({ domains: [domain], now: createdAt });
  for (const { period } of QUOTA_PERIODS) {
    const max = limits[period];
    const use = uses.find((each) => each.period === period);
    if (max === null || use === undefined || use.used + count <= max) continue;
    const left = Math.max(0, max - use.used);
    throw quotaExceeded({ domain, period, max, left, resetAt: use.resetAt }, message);
  }
}
