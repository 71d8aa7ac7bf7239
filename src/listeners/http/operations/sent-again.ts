/**
 * POST /sandbox/messages/{ID}/release and POST /email/{MessageID}/resend: stored mail is sent to one recipient as a new
 * message, with events and links of its own. A caller that may do this could also send the same mail to anybody, and
 * read it. The capture shows its release; a message that is sent again stays as it is, whatever became of it.
 */
import { z } from 'zod';
import { isUuid } from '../../../lib/ids.ts';
import { parseAddress } from '../../../mail/address.ts';
import type { SubmittedRecipient } from '../../../model/submission.ts';
import type { Acceptance } from '../../../pipeline/accept/acceptance.ts';
import type { Captured } from '../../../pipeline/accept/release.ts';
import { requireScope } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import type { MessageView } from '../../../store/topics/messages.ts';
import type { Answer } from '../answer-schemas.ts';
import { readJsonBody } from '../body/json-request.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { replayedAnswer, type WithKey } from '../idempotency.ts';
import { rawOperation } from '../operation.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type ApiRoute,
  BASE,
  existing,
  invalidParameter,
  json,
  refuse,
} from '../route.ts';
import { ownDomains, ownMessage } from '../tenancy.ts';

const sentAgain = z.object({ MessageID: z.uuid() }).meta({ id: 'Released' });

/** Members that both operations have. */
const SENT_AGAIN = {
  scope: 'email:send',
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
function sendAgain(
  deps: { acceptance: Pick<Acceptance, 'release'>; withKey: WithKey },
  request: ApiRequest,
  operation: string,
  wanted: () => Promise<{ captured: Captured; recipient: SubmittedRecipient }>,
): Promise<ApiAnswer> {
  return deps.withKey(request, operation, async (key) => {
    // A caller that may send but not read could read mail by sending it to itself.
    requireScope(request.caller, 'email:read');
    const given = { caller: request.caller, idempotency: key, ...(await wanted()) };
    const result = await deps.acceptance.release(given);
    if (result.kind === 'replay') return replayedAnswer(result.status, result.body);
    const answer: Answer<typeof sentAgain> = { MessageID: result.messageId };
    return json(answer, { location: `${BASE}/email/${result.messageId}` });
  });
}

/** The one it goes to. Throws AppError invalid-parameter. */
function onlyRecipient(given: string): SubmittedRecipient {
  const parsed = parseAddress(given);
  if (!parsed.ok) throw invalidParameter('To must be one address, local@domain', 'To');
  const { text: address, domain } = parsed.address;
  return { name: '', address, domain, kind: 'To' };
}

/** A message with its contents. Throws AppError content-expired. */
async function storedMail(
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

const RELEASE = z.object({
  To: z.string().max(320).optional().describe('Address to send it to; left out: the captured recipient'),
});

export function sandboxReleaseOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  const { store } = deps;
  return rawOperation('POST /sandbox/messages/:id/release', {
    ...SENT_AGAIN,
    id: 'releaseCapture',
    summary: 'Send captured mail for real',
    description:
      '`{To?}`: sends a captured copy to its recipient or another address, as a new message with its own events and links: `{MessageID}`. The copy says `ReleasedAt`, `ReleasedAs`. Suppressions, quotas and verification apply as for any message. 409 if it would only be captured again: the route of the server is `sandbox`, the token is a sandbox token, or the recipient is at `simulator-domain`. Takes `Idempotency-Key`. Also needs `email:read`, because callers can send it to themselves and read it',
    body: { schema: RELEASE, example: { To: 'me@example.net' }, mayBeEmpty: true },
    handle: ({ params, request }) => {
      const id = params.id.toLowerCase();
      return sendAgain(deps, request, `POST /sandbox/messages/${id}/release`, () => wanted(request, id));
    },
  });

  async function wanted(request: ApiRequest, id: string) {
    const body = readJsonBody(request, RELEASE, { mayBeEmpty: true });
    const own = ownDomains(request.caller);
    const capture = existing(isUuid(id) && (await store.getCapture({ id, ...own })));
    const recipient = onlyRecipient(body.To ?? capture.envelopeTo);
    const { domain } = recipient;
    if (request.caller.sandbox) {
      throw refuse('not-releasable', 'Everything this token sends stays in the sandbox; use another token');
    }
    if (domain === options.simulatorDomain) {
      throw refuse(
        'not-releasable',
        `Nothing leaves for ${options.simulatorDomain}; name another address in To`,
      );
    }
    const mail = await storedMail(store, await store.getMessage({ id: capture.messageId, ...own }));
    const { domain: senderDomain, lane, tags } = mail.message;
    if (!deps.leadsOut({ senderDomain, recipientDomain: domain, lane, tags })) {
      throw refuse(
        'not-releasable',
        `Mail to ${domain} stays in the sandbox of this server (route=sandbox): set route to mx or a relay, and verify ${senderDomain}`,
      );
    }
    return { captured: { ...mail, captureId: capture.id }, recipient };
  }
}

const RESEND = z.object({
  To: z
    .string()
    .max(320)
    .optional()
    .describe('Address to send it to; may be left out where the message has one recipient'),
});

export function resendOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  return rawOperation('POST /email/:id/resend', {
    ...SENT_AGAIN,
    id: 'resendEmail',
    summary: 'Send a copy of a message',
    description:
      '`{To?}`: sends the composed message again, to its recipient or another address, as a new message with its own events and links: `{MessageID}`. Its `Date` is as it was. Suppressions, quotas and verification apply as for any message. 409 for mail of the sandbox, whose captured copy can be released. Takes `Idempotency-Key`. Also needs `email:read`, because callers can send it to themselves and read it',
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
