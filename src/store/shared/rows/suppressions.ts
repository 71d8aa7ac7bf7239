/** Suppressed addresses, as rows. */

import type { Suppression } from '../../../model/suppression.ts';
import { suppressionReasonCode } from '../codes.ts';
import { record } from '../record.ts';
import { idOf, type StoredId } from '../stored.ts';

export const SUPPRESSION = record<Omit<Suppression, 'domain' | 'source'>>(
  {
    id: 'plain',
    address: 'plain',
    reason: suppressionReasonCode,
    note: 'plain',
    createdAt: 'plain',
    expiresAt: 'plain',
  },
  's.',
);

export const SUPPRESSION_COLUMNS = `${SUPPRESSION.columns}, n.text AS domain, s.message_id, s.reply, s.rule`;

export interface SuppressionRow {
  domain: string;
  message_id: StoredId | null;
  reply: string | null;
  rule: string | null;
}

export function toSuppression(row: SuppressionRow): Suppression {
  const { domain, message_id: messageId, reply, rule } = row;
  return {
    ...SUPPRESSION.value(row),
    domain,
    source:
      rule === null
        ? null
        : { messageId: messageId === null ? '' : idOf(messageId), reply: reply ?? '', rule },
  };
}
