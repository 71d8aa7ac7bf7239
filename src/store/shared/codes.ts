/**
 * The small integers that represent words in rows, in both directions. Numbers are never reused or renumbered, because
 * they are in every database. An unknown number means a damaged row or one of a newer version, and throws.
 */
import type { DeliveryState, RouteKind } from '../../model/delivery.ts';
import { EVENT_KINDS, type EventKind, eventKindOf } from '../../model/event.ts';
import type { Lane, RecipientKind, SandboxResult } from '../../model/message.ts';
import type { NoticeKind } from '../../model/notice.ts';
import type { SuppressionReason } from '../../model/suppression.ts';
import type { ReturnFact } from '../topics/returns.ts';
import type { CallLogEntry } from '../topics/webhooks.ts';

interface Code<Word extends string> {
  /** Number of a word. */
  of(word: Word): number;
  /** Word of a number; throws for an unknown one. */
  word(code: number): Word;
}

function code<Word extends string>(what: string, numbers: Readonly<Record<Word, number>>): Code<Word> {
  const words = new Map(Object.entries(numbers).map(([word, n]) => [n as number, word as Word]));
  return {
    of: (word) => numbers[word],
    word(n) {
      const word = words.get(n);
      if (word === undefined) throw new Error(`The database holds an unknown ${what}: ${n}`);
      return word;
    },
  };
}

/** `delivery.state`. The partial indexes name 0 (queued) and 1 (sending). */
export const stateCode = code<DeliveryState>('delivery state', {
  queued: 0,
  sending: 1,
  delivered: 2,
  bounced: 3,
  failed: 4,
  suppressed: 5,
  canceled: 6,
  rejected: 7,
});

/** `notice_due.kind`; together, as bits, `delivery.notify`. */
export const noticeKindCode = code<NoticeKind>('kind of notice', { success: 1, failure: 2, delay: 4 });

/** `webhook_call.state`. The partial indexes name 0 (pending) and 1 (sending). */
export const callStateCode = code<CallLogEntry['state']>('call state', {
  pending: 0,
  sending: 1,
  succeeded: 2,
  failed: 3,
});

/** `message.lane`, `dest_queue.lane`. */
export const laneCode = code<Lane>('lane', { critical: 1, normal: 2, bulk: 3 });

const SANDBOX_BIT = 4;

/** `dest_queue.lane`: the lane, and whether the sandbox simulates the queue's rows, because those wait for no site. */
export const queueLaneCode = {
  of: (lane: Lane, sandbox: boolean): number => laneCode.of(lane) + (sandbox ? SANDBOX_BIT : 0),
  word: (number: number): { lane: Lane; sandbox: boolean } => ({
    lane: laneCode.word(number & ~SANDBOX_BIT),
    sandbox: (number & SANDBOX_BIT) !== 0,
  }),
};

/** `delivery.kind`. */
export const recipientKindCode = code<RecipientKind>('recipient kind', { To: 1, CC: 2, BCC: 3 });

/** `delivery.route`. */
export const routeCode = code<RouteKind>('route', { mx: 1, relay: 2, sandbox: 3 });

/** `delivery.sandbox`. */
export const sandboxCode = code<SandboxResult>('sandbox result', {
  deliver: 1,
  bounce: 2,
  softbounce: 3,
  defer: 4,
  fail: 5,
  suppress: 6,
  complain: 7,
  open: 8,
  click: 9,
  unsubscribe: 10,
  ooto: 11,
});

/** `suppression.reason`, `suppression_evidence.reason`. */
export const suppressionReasonCode = code<SuppressionReason>('suppression reason', {
  Bounce: 1,
  Inactive: 2,
  SoftBounces: 3,
  Complaint: 4,
  Unsubscribe: 5,
  Manual: 6,
});

/** `return_fact.kind`. 4 was an unsubscribe by mail, which is not kept here any more. */
export const returnKindCode = code<ReturnFact['kind'] | 'shared-bounce'>('kind of return', {
  bounce: 1,
  complaint: 2,
  'not-spam': 3,
  note: 5,
  'shared-bounce': 6,
});

/** `event.kind`: the numbers are those of EVENT_KINDS. */
export const eventKindCode: Code<EventKind> = {
  of: (word) => EVENT_KINDS[word].id,
  word(n) {
    const kind = eventKindOf(n);
    if (kind === undefined) throw new Error(`The database holds an unknown event kind: ${n}`);
    return kind;
  },
};

/** A UUID in canonical text as the 16 bytes that are stored. Anything else throws. */
export function uuidBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex');
  if (bytes.length !== 16 || text.length !== 36) throw new TypeError(`Not a UUID: ${text.slice(0, 64)}`);
  return bytes;
}

/** `webhook.event`: tokens with commas between them. */
export const webhookEvents = {
  text: (events: readonly string[]) => events.join(','),
  list: (text: string): readonly string[] => text.split(','),
};
