/**
 * POST /sandbox/messages/{ID}/release: really sends captured mail, as a new message with its own events and links.
 * Takes a capture of the caller and maybe another recipient; the capture shows the release. `To` may be any address:
 * whoever may release may also send that mail to anybody, and read it. Mail that would only be captured again is
 * refused, so that nobody waits for it.
 */

import { z } from 'zod';
import { isUuid } from '../../../lib/ids.ts';
import { readJsonBody } from '../body/json-request.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { rawOperation } from '../operation.ts';
import { type ApiRequest, type ApiRoute, refuse } from '../route.ts';
import { ownDomains } from '../tenancy.ts';
import { onlyRecipient, SENT_AGAIN, sendAgain, storedMail } from './sent-again.ts';

const RELEASE = z.object({
  To: z.string().max(320).optional().describe('Address to send it to; left out: the captured recipient'),
});

/** The one operation. */
export function sandboxReleaseOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  const { store } = deps;
  return rawOperation({
    ...SENT_AGAIN,
    id: 'releaseCapture',
    path: '/sandbox/messages/:id/release',
    summary: 'Send captured mail for real',
    description:
      '`{To?}`: sends a captured copy to its recipient or another address, as a new message with its own events and links: `{MessageID}`. The copy says `ReleasedAt`, `ReleasedAs`. Suppressions, quotas and verification hold as for any message. 409 where it would only be captured again: the route of the server is `sandbox`, the token is a sandbox token, the recipient is a magic one. Takes `Idempotency-Key`. Needs `email:read` besides, because whoever sends it to themselves reads it',
    body: { schema: RELEASE, example: { To: 'me@example.net' }, mayBeEmpty: true },
    handle: ({ params, request }) => {
      const id = params.id.toLowerCase();
      return sendAgain(deps, request, `POST /sandbox/messages/${id}/release`, () => wanted(request, id));
    },
  });

  async function wanted(request: ApiRequest, id: string) {
    const body = readJsonBody(request, RELEASE, { mayBeEmpty: true });
    const own = ownDomains(request.caller);
    const capture = isUuid(id) ? await store.getCapture({ id, ...own }) : null;
    if (capture === null) throw refuse('not-found');
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
