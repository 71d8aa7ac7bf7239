/**
 * Messages as acceptance stores them, for measurements that fill a store without accepting anything: what no figure
 * depends on is said once here, what one measures is given by it.
 */
import { systemClock } from '../src/lib/clock.ts';
import { uuidv7 } from '../src/lib/ids.ts';
import { createSystemRandom } from '../src/lib/random.ts';
import type { MessageId } from '../src/model/message.ts';
import { keptFields, SUBMISSION_DEFAULTS } from '../src/model/submission.ts';
import type { NewMessage, NewRecipient } from '../src/store/topics/acceptance.ts';

const HOUR_MS = 3_600_000;
const HEADER_BYTES = 400;

/** Chance for a whole measurement: ids, contents. */
export const random = createSystemRandom();

/** A new UUID of version 7. */
export const newId = (): string => uuidv7(systemClock, random);

/** A recipient with its accepted event, from the store's point of view just taken. */
export function storedRecipient(
  given: Pick<NewRecipient, 'address' | 'domain' | 'kind' | 'state' | 'dueAt' | 'waitReason'>,
): NewRecipient {
  return {
    ...given,
    sandbox: null,
    events: [{ id: newId(), kind: 'accepted', at: systemClock.now(), detail: null }],
  };
}

/** A newsletter from example.com of now, to be tried for three days; `more` says what is otherwise. */
export function storedMessage(
  content: Uint8Array,
  recipients: readonly NewRecipient[],
  more: Partial<Pick<NewMessage, 'domain' | 'tokenId' | 'lists' | 'subject'>> = {},
): NewMessage {
  const domain = more.domain ?? 'example.com';
  const now = systemClock.now();
  return {
    id: newId() as MessageId,
    domain,
    tokenId: 'bench',
    ...keptFields({ ...SUBMISSION_DEFAULTS, subject: 'Newsletter' }),
    lists: { from: { name: '', address: `news@${domain}` }, to: [], cc: [], bcc: [], replyTo: [] },
    sandbox: false,
    content,
    bodyOffset: HEADER_BYTES,
    needsSmtpUtf8: false,
    eightBit: false,
    createdAt: now,
    expiryGiven: false,
    dateOffset: null,
    expiresAt: now + 72 * HOUR_MS,
    recipients,
    ...more,
  };
}
