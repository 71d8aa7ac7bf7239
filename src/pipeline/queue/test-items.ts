/** Rows in memory for tests: an ordinary delivery with every field open to change. */
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { ReadyItem } from './ready-item.ts';

export function testItem(delivery: Partial<ClaimedDelivery> = {}, item: Partial<ReadyItem> = {}): ReadyItem {
  const id = delivery.id ?? 1;
  return {
    content: null,
    site: 'a',
    heldBytes: 10,
    redispatched: 0,
    underWay: false,
    ...item,
    delivery: {
      id,
      epoch: 1,
      queueId: 1,
      messageSeq: id,
      messageId: `m${id}` as MessageId,
      senderDomain: 'example.com',
      from: 'sender@example.com',
      lane: 'normal',
      address: `r${id}@example.net`,
      recipientDomain: 'example.net',
      kind: 'To',
      attempts: 0,
      createdAt: 0,
      expiresAt: 3_600_000,
      size: 1_024,
      bodyOffset: 0,
      needsSmtpUtf8: false,
      eightBit: false,
      sandbox: null,
      mayBeDuplicate: false,
      firstDeferredAt: null,
      lastDeferredEventAt: null,
      lastReply: null,
      lastCategory: null,
      ...delivery,
    },
  };
}
