/**
 * POST /sandbox/messages/{ID}/release: really sends captured mail, as a new message with its own events and links.
 * Takes a capture of the caller and maybe another recipient; the capture shows the release. `To` may be any address:
 * whoever may release may also send that mail to anybody, and read it. Mail that would only be captured again is
 * refused, so that nobody waits for it.
 */

import { z } from 'zod';
import { isUuid } from '../../../lib/ids.ts';
import { parseAddress } from '../../../mail/address.ts';
import type { Acceptance } from '../../../pipeline/accept/accept.ts';
import { requireScope } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { Answer } from '../answer-schemas.ts';
import { readJsonBody } from '../body/json-request.ts';
import type { HttpDeps } from '../deps.ts';
import { type Idempotency, replayedAnswer, withKey } from '../idempotency.ts';
import { rawOperation } from '../operation.ts';
import { type ApiRequest, type ApiRoute, invalidParameter, json, refuse } from '../route.ts';
import { ownDomains } from '../tenancy.ts';

const released = z.object({ MessageID: z.uuid() }).meta({ id: 'Released' });

export type ReleasedAnswer = Answer<typeof released>;

const RELEASE = z.object({
  To: z.string().max(320).optional().describe('Address to send it to; left out: the captured recipient'),
});

/** The one operation. */
export function sandboxReleaseOperation(
  deps: {
    store: Store;
    acceptance: Acceptance;
    idempotency: Idempotency;
    leadsOut: HttpDeps['leadsOut'];
  },
  options: { simulatorDomain: string },
): ApiRoute {
  const { store, acceptance } = deps;
  return rawOperation({
    id: 'releaseCapture',
    method: 'POST',
    path: '/sandbox/messages/:id/release',
    scope: 'email:send',
    limitedTokens: true,
    summary: 'Send captured mail for real',
    description:
      '`{To?}`: sends a captured copy to its recipient or another address, as a new message with its own events and links: `{MessageID}`. The copy says `ReleasedAt`, `ReleasedAs`. Suppressions, quotas and verification hold as for any message. 409 where it would only be captured again: the route of the server is `sandbox`, the token is a sandbox token, the recipient is a magic one. Takes `Idempotency-Key`. Needs `email:read` besides, because whoever sends it to themselves reads it',
    body: { schema: RELEASE, example: { To: 'me@example.net' }, mayBeEmpty: true },
    answer: released,
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
    handle: ({ params, request }) => {
      const id = params.id.toLowerCase();
      return withKey(deps.idempotency, request, `POST /sandbox/messages/${id}/release`, async (key) => {
        const result = await acceptance.release({
          caller: request.caller,
          idempotency: key,
          ...(await wanted(request, id)),
        });
        if (result.kind === 'replay') return replayedAnswer(result.status, result.body);
        const answer: ReleasedAnswer = { MessageID: result.messageId };
        return json(answer, 200, { location: `/api/v1/email/${result.messageId}` });
      });
    },
  });

  async function wanted(request: ApiRequest, id: string) {
    // A caller that may send but not read could read mail by sending it to itself.
    requireScope(request.caller, 'email:read');
    const body = readJsonBody(request, RELEASE, { mayBeEmpty: true });
    const own = ownDomains(request.caller);
    const capture = isUuid(id) ? await store.getCapture({ id, ...own }) : null;
    if (capture === null) throw refuse('not-found');
    const parsed = parseAddress(body.To ?? capture.envelopeTo);
    if (!parsed.ok) throw invalidParameter('To must be one address, local@domain', 'To');
    const { text: address, domain } = parsed.address;
    if (request.caller.sandbox) {
      throw refuse('not-releasable', 'Everything this token sends stays in the sandbox; use another token');
    }
    if (domain === options.simulatorDomain) {
      throw refuse(
        'not-releasable',
        `Nothing leaves for ${options.simulatorDomain}; name another address in To`,
      );
    }
    const message = await store.getMessage({ id: capture.messageId, ...own });
    const facts = await store.releaseFacts({ messageSeq: capture.messageSeq });
    if (message === null || facts === null) throw refuse('content-expired');
    const { domain: senderDomain, lane, tags } = message;
    if (!deps.leadsOut({ senderDomain, recipientDomain: domain, lane, tags })) {
      throw refuse(
        'not-releasable',
        `Mail to ${domain} stays in the sandbox of this server (route=sandbox): set route to mx or a relay, and verify ${message.domain}`,
      );
    }
    const [content, places] = await Promise.all([
      store.readContent({ messageSeq: capture.messageSeq }),
      store.readPlaces({ messageSeq: capture.messageSeq }),
    ]);
    if (content === null) throw refuse('content-expired');
    return {
      captured: { captureId: capture.id, message, facts, content, places },
      recipient: { name: '', address, domain, kind: 'To' as const },
    };
  }
}
