/**
 * POST /email/{MessageID}/resend: a copy of an accepted message to one recipient, as a new message with events and links of
 * its own. Given the caller's domains and perhaps another recipient; leaves an accepted message. The first one stays as
 * it is, whatever became of it.
 */
import { z } from 'zod';
import { readJsonBody } from '../body/json-request.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { rawOperation } from '../operation.ts';
import { type ApiRequest, type ApiRoute, invalidParameter, refuse } from '../route.ts';
import { ownMessage } from '../tenancy.ts';
import { onlyRecipient, SENT_AGAIN, sendAgain, storedMail } from './sent-again.ts';

const RESEND = z.object({
  To: z
    .string()
    .max(320)
    .optional()
    .describe('Address to send it to; may be left out where the message has one recipient'),
});

/** The one operation. */
export function resendOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  return rawOperation({
    ...SENT_AGAIN,
    id: 'resendEmail',
    path: '/email/:id/resend',
    summary: 'Send a copy of a message',
    description:
      '`{To?}`: sends what was composed once more, to its recipient or another address, as a new message with its own events and links: `{MessageID}`. Its `Date` is as it was. Suppressions, quotas and verification hold as for any message. 409 for mail of the sandbox, whose captured copy can be released. Takes `Idempotency-Key`. Needs `email:read` besides, because whoever sends it to themselves reads it',
    body: { schema: RESEND, example: { To: 'me@example.net' }, mayBeEmpty: true },
    handle: ({ params, request }) => {
      const id = params.id.toLowerCase();
      return sendAgain(deps, request, `POST /email/${id}/resend`, () => wanted(request, id));
    },
  });

  async function wanted(request: ApiRequest, id: string) {
    const body = readJsonBody(request, RESEND, { mayBeEmpty: true });
    const message = await ownMessage(deps.store, request.caller, id);
    const [first, ...others] = message.recipients;
    if (body.To === undefined && (first === undefined || others.length > 0)) {
      throw invalidParameter('To is required: the message does not have exactly one recipient', 'To');
    }
    const recipient = onlyRecipient(body.To ?? first?.address ?? '');
    if (message.sandbox || request.caller.sandbox || recipient.domain === options.simulatorDomain) {
      throw refuse('not-releasable', 'What is in the sandbox stays there; release its captured copy instead');
    }
    return { captured: { ...(await storedMail(deps.store, message)), captureId: null }, recipient };
  }
}
