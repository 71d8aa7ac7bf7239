/** MTA-STS policies, as rows. */
import type { StoredMtaSts } from '../../topics/tls.ts';
import { record } from '../record.ts';

export const POLICY = record<Omit<StoredMtaSts, 'maxAgeSeconds'>>({
  domain: 'plain',
  policyId: 'plain',
  mode: 'plain',
  mx: {
    of: (hosts) => hosts.join(' '),
    word: (text: string) => (text === '' ? [] : text.split(' ')),
  },
  fetchedAt: 'plain',
  expiresAt: 'plain',
  renewAt: 'plain',
  renewFailures: 'plain',
});

export const POLICY_COLUMNS = `${POLICY.columns}, max_age`;

export function toPolicy(row: { max_age: number }): StoredMtaSts {
  return { ...POLICY.value(row), maxAgeSeconds: row.max_age };
}
