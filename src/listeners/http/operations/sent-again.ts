/**
 * Shared by the release of captured mail and the resending of a message: stored mail is sent to one recipient as a
 * new message, with its own events and links. A caller that may do this could also send the same mail to anybody, and
 * read it.
 */
import { z } from 'zod';
import { parseAddress } from '../../../mail/address.ts';
import type { SubmittedRecipient } from '../../../model/submission.ts';
import type { Acceptance } from '../../../pipeline/accept/acceptance.ts';
import type { Captured } from '../../../pipeline/accept/release.ts';
import { requireScope } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import type { MessageView } from '../../../store/topics/messages.ts';
import type { Answer } from '../answer-schemas.ts';
import { type Idempotency, replayedAnswer, withKey } from '../idempotency.ts';
import { type ApiAnswer, type ApiRequest, invalidParameter, json, refuse } from '../route.ts';

export const sentAgain = z.object({ MessageID: z.uuid() }).meta({ id: 'Released' });

export type SentAgainAnswer = Answer<typeof sentAgain>;

/** Members that both operations have. */
export const SENT_AGAIN = {
  method: 'POST',
  scope: 'email:send',
  limitedTokens: true,
  answer: sentAgain,
  headers: { Location: 'Address of the message' },
  idempotent: true,
  errors: [
    'not-releasable',
    'content-expired',
    'from-domain-not-allowed',
    'domain-not-verified',
    'all-recipients-suppressed',
    'quota-exceeded',
    'message-too-large',
  ],
  countsAsSend: true,
} as const;

/** Accepts what `wanted` finds, once for an Idempotency-Key. `operation`: its method and path. */
export function sendAgain(
  deps: { acceptance: Pick<Acceptance, 'release'>; idempotency: Idempotency },
  request: ApiRequest,
  operation: string,
  wanted: () => Promise<{ captured: Captured; recipient: SubmittedRecipient }>,
): Promise<ApiAnswer> {
  return withKey(deps.idempotency, request, operation, async (key) => {
    // A caller that may send but not read could read mail by sending it to itself.
    requireScope(request.caller, 'email:read');
    const given = { caller: request.caller, idempotency: key, ...(await wanted()) };
    const result = await deps.acceptance.release(given);
    if (result.kind === 'replay') return replayedAnswer(result.status, result.body);
    const answer: SentAgainAnswer = { MessageID: result.messageId };
    return json(answer, 200, { location: `/api/v1/email/${result.messageId}` });
  });
}

/** The one it goes to. Throws AppError invalid-parameter. */
export function onlyRecipient(given: string): SubmittedRecipient {
  const parsed = parseAddress(given);
  if (!parsed.ok) throw invalidParameter('To must be one address, local@domain', 'To');
  const { text: address, domain } = parsed.address;
  return { name: '', address, domain, kind: 'To' };
}

/** A message with its contents. Throws AppError content-expired. */
export async function storedMail(
  store: Pick<Store, 'releaseFacts' | 'readContent' | 'readTokenSlots'>,
  message: MessageView | null,
): Promise<Omit<Captured, 'captureId'>> {
  if (message === null) throw refuse('content-expired');
  const messageSeq = message.seq;
  const [facts, content, places] = await Promise.all([
    store.releaseFacts({ messageSeq }),
    store.readContent({ messageSeq }),
    store.readTokenSlots({ messageSeq }),
  ]);
  if (facts === null || content === null) throw refuse('content-expired');
  return { message, facts, content, places };
}
