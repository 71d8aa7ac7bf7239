/**
 * Sends a captured or accepted message as a new message with the same composed content, so that delivery signs it and gives
 * it its own tokens. Takes what is stored of it; returns a message for one recipient that is not accepted yet. It gets its own
 * Message-ID if the captured one was ours; its Date is unchanged.
 */

import { asBuffer } from '../../lib/as-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import { domainOfAddress } from '../../mail/address-text.ts';
import type { Mailbox, MessageId } from '../../model/message.ts';
import type { TokenSlots } from '../../model/personal.ts';
import { type Caller, type KeptFields, keptFields, type SubmittedRecipient } from '../../model/submission.ts';
import type { NewMessage, NewRecipient } from '../../store/topics/acceptance.ts';
import type { ReleaseFacts } from '../../store/topics/captures.ts';
import type { MessageView } from '../../store/topics/messages.ts';
import { LANE_MAX_AGE } from '../queue/retry-schedule.ts';

/** A message as stored. */
export interface Captured {
  /** The capture that is released; null = an accepted message is sent again. */
  captureId: string | null;
  message: Pick<MessageView, 'id' | 'domain' | 'lists'> & Omit<KeptFields, 'sendAt'>;
  facts: ReleaseFacts;
  /** Read for this release alone: the new message takes it over, and changes its id. */
  content: Uint8Array;
  places: TokenSlots | null;
}

/** A captured message that is to be sent. */
export interface ReleaseRequest {
  caller: Caller;
  captured: Captured;
  /** Its only recipient. */
  recipient: SubmittedRecipient;
  idempotency: { operation: string; key: string; fingerprint: Uint8Array } | null;
}

/** The domain of its From. */
export function fromDomainOf({ message }: Captured): string {
  const { address } = message.lists.from;
  return domainOfAddress(address);
}

/** The new message, for the sender domain found for it. */
export function releasedMessage(
  request: Omit<ReleaseRequest, 'idempotency'> & { domain: string },
  { clock, random, maxAgeMs }: { clock: Clock; random: Random; maxAgeMs: number | null },
): NewMessage & { recipients: NewRecipient[] } {
  const { caller, captured, domain } = request;
  const { message, facts, places } = captured;
  const now = clock.now();
  const id = uuidv7(clock, random) as MessageId;
  const recipient: NewRecipient = {
    address: request.recipient.address,
    domain: request.recipient.domain,
    kind: request.recipient.kind,
    state: 'queued',
    dueAt: now,
    waitReason: null,
    sandbox: null,
    events: [{ id: uuidv7(clock, random), kind: 'accepted', at: now, detail: null }],
  };
  const to: Mailbox = { name: '', address: recipient.address };
  return {
    id,
    domain,
    tokenId: caller.tokenId,
    ...keptFields({ ...message, sendAt: null }),
    lists: { from: message.lists.from, to: [to], cc: [], bcc: [], replyTo: message.lists.replyTo },
    sandbox: false,
    keepContent: facts.keepContent,
    content: withOwnId(captured.content, facts.bodyOffset, message.id, id),
    ...(places === null ? {} : { places }),
    bodyOffset: facts.bodyOffset,
    needsSmtpUtf8: facts.needsSmtpUtf8,
    eightBit: facts.eightBit,
    createdAt: now,
    expiresAt: now + (maxAgeMs ?? LANE_MAX_AGE[message.lane]),
    expiryGiven: false,
    dateOffset: facts.dateOffset,
    recipients: [recipient],
    ...(captured.captureId === null ? {} : { releases: captured.captureId }),
  };
}

/** All ids have the same length, so all offsets stay valid, and it is written over the other. */
function withOwnId(content: Uint8Array, bodyOffset: number, old: MessageId, own: MessageId): Uint8Array {
  const header = asBuffer(content, 0, bodyOffset);
  const at = header.indexOf(`<${old}@`);
  if (at >= 0) header.write(own, at + 1, 'latin1');
  return content;
}
