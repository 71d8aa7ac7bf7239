/** Rows in memory for tests: an ordinary delivery, claimed and not tried yet, with every field open to change. */
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { Gate } from './gate.ts';
import type { ReadyItem } from './ready-item.ts';

/** Nothing has to wait. */
export const OPEN_GATE: Gate = { site: () => null, mail: () => null, urgent() {} };

/** A claimed recipient of example.net, of a message made at 0 that expires after an hour. */
export function testDelivery(more: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  const id = more.id ?? 1;
  return {
    id,
    epoch: 1,
    queueId: 1,
    messageSeq: id,
    messageId: `m${id}` as MessageId,
    senderDomain: 'example.com',
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
    ...more,
  };
}

/** The same as an item of the window, for site `a`, without its content. */
export function testItem(delivery: Partial<ClaimedDelivery> = {}, item: Partial<ReadyItem> = {}): ReadyItem {
  return {
    content: null,
    site: 'a',
    heldBytes: 10,
    redispatched: 0,
    fresh: false,
    underWay: null,
    leaving: false,
    withdrawn: false,
    checked: -1,
    ...item,
    delivery: testDelivery(delivery),
  };
}
