/**
 * POST /email: body → submission → acceptance → `{MessageID}`.
 * The order of refusals is part of the interface: media type, JSON, idempotency, all field errors together, then what
 * acceptance itself refuses. 200 is given only after acceptance has committed. Large bodies are read and composed in
 * a worker; the answer is the same.
 */

import { z } from 'zod';
import type { AcceptRequest, AcceptResult } from '../../../pipeline/accept/acceptance.ts';
import type { Answer } from '../answer-schemas.ts';
import { messageId } from '../answer-schemas.ts';
import { requireJson } from '../body/json-media-type.ts';
import { prefersStrict } from '../body/prefer.ts';
import type { ApiParts } from '../deps.ts';
import { replayedAnswer } from '../idempotency.ts';
import { rawOperation } from '../operation.ts';
import { type ApiAnswer, type ApiRequest, type ApiRoute, BASE, json } from '../route.ts';
import { forgetTexts, type ParsedBody, parseBody, type ReadEmail } from './email-reader.ts';
import { EMAIL_ERRORS, EMAIL_EXAMPLE } from './fields.ts';
import { asHeader } from './unknown-members.ts';

const emailAnswer = z.strictObject({ MessageID: messageId }).meta({ id: 'EmailAnswer' });

const NOTHING = new Uint8Array(0);
/** Lists ignored members of the request, with what was probably meant. */
const IGNORED = 'x-postrider-ignored';

export function sendEmailOperation({ acceptance, withKey, reader, email }: ApiParts): ApiRoute {
  return rawOperation('POST /email', {
    id: 'sendEmail',
    scope: 'email:send',
    summary: 'Send a message',
    description:
      'Accepts a message: `{MessageID}`. 200 means checked and on disk, not delivered. Takes `Idempotency-Key`',
    body: { schema: email, example: EMAIL_EXAMPLE },
    answer: emailAnswer,
    headers: {
      Location: 'Address of the message',
      'X-Postrider-Ignored':
        'Members of the request that are not known, each with the one that was probably meant',
    },
    idempotent: true,
    errors: EMAIL_ERRORS,
    takesLargeBody: true,
    countsAsSend: true,
    handle: ({ request }) => handle(request),
  });

  function handle(request: ApiRequest): Promise<ApiAnswer> {
    requireJson(request.header('content-type'));
    // An invalid JSON body is refused before the key is checked; a large one is parsed once, in the worker.
    const parsed = reader.isLarge(request.body) ? null : parseBody(request.body);
    return withKey(request, 'POST /email', (key) => send(request, parsed, key));
  }

  async function send(
    request: ApiRequest,
    parsed: ParsedBody | null,
    key: AcceptRequest['idempotency'],
  ): Promise<ApiAnswer> {
    const { result, ignored } = await accept(request, parsed, key);
    if (result.kind === 'replay') return replayedAnswer(result.status, result.body);
    const answer: Answer<typeof emailAnswer> = { MessageID: result.messageId };
    return json(answer, {
      location: `${BASE}/email/${result.messageId}`,
      ...(ignored.length === 0 ? {} : { [IGNORED]: asHeader(ignored) }),
    });
  }

  /**
   * Not `async`: its frame would keep the read message in memory until the commit, and every garbage collection would
   * copy it or count it.
   */
  function accept(
    request: ApiRequest,
    parsed: ParsedBody | null,
    key: AcceptRequest['idempotency'],
  ): Promise<{ result: AcceptResult } & Pick<ReadEmail, 'ignored'>> {
    const { caller } = request;
    const wish = { strict: prefersStrict(request.header('prefer')) };
    const read =
      parsed === null ? reader.readLarge(caller, request.body, wish) : reader.read(caller, parsed, wish);
    request.body = NOTHING;
    return read.then((email) => {
      if (parsed !== null) forgetTexts(parsed);
      const { ignored } = email;
      return acceptance
        .accept({ caller, idempotency: key, ...email })
        .then((result) => ({ result, ignored }));
    });
  }
}
