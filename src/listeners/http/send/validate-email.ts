/**
 * POST /email/validate: everything POST /email checks, from the fields to the quota, and nothing stored.
 * Given the same body, leaves `{Valid, Size, Recipients, Warnings}` or the same refusal; warnings say what would be
 * taken but is likely not meant.
 */

import { z } from 'zod';
import type { Submission } from '../../../model/submission.ts';
import type { Checked } from '../../../pipeline/accept/acceptance.ts';
import { count } from '../answer-schemas.ts';
import { requireJson } from '../body/json-media-type.ts';
import { prefersStrict } from '../body/prefer.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import type { ApiRequest, ApiRoute } from '../route.ts';
import { parseBody } from './email-reader.ts';
import { EMAIL_ERRORS, EMAIL_EXAMPLE } from './fields.ts';
import { type EmailWarning, warning } from './review.ts';

const validateAnswer = z
  .object({
    Valid: z.literal(true),
    Size: count.describe('Octets of the composed message'),
    Recipients: count,
    Warnings: z.array(warning),
  })
  .meta({ id: 'ValidateAnswer' });

/** Above this many hosts refuse a message, whatever we take. */
const LARGE_MESSAGE_BYTES = 10 * 1024 * 1024;
const UNSUBSCRIBE = 'list-unsubscribe';
const ONE_CLICK = 'list-unsubscribe-post';

export function validateEmailOperation(deps: ApiParts): ApiRoute {
  const { acceptance, reader, domains } = deps;
  return operation('POST /email/validate', {
    id: 'validateEmail',
    scope: 'email:send',
    summary: 'Check a message without sending it',
    description:
      'Checks a request as `POST /email` does, up to the quota, and stores nothing: `{Valid, Size, Recipients, Warnings}`. A warning, `{Name, Message, Field?}`, says what would be accepted but is probably a mistake',
    body: { schema: deps.email, example: EMAIL_EXAMPLE },
    answer: validateAnswer,
    errors: EMAIL_ERRORS,
    takesLargeBody: true,
    read: readMessage,
    handle: async ({ caller, body: email }) => {
      const checked = await acceptance.check({ caller, ...email });
      return {
        Valid: true as const,
        Size: checked.size,
        Recipients: email.submission.recipients.length,
        Warnings: [
          ...email.review,
          ...email.warnings.map((Message) => ({ Name: 'template', Message })),
          ...warnings(email.submission, checked),
          ...(await domainWarnings(checked.domain)),
        ],
      };
    },
  });

  function readMessage(request: ApiRequest) {
    requireJson(request.header('content-type'));
    const { caller } = request;
    const wish = { strict: prefersStrict(request.header('prefer')), review: true };
    return reader.isLarge(request.body)
      ? reader.readLarge(caller, request.body, wish)
      : reader.read(caller, parseBody(request.body), wish);
  }

  async function domainWarnings(name: string): Promise<EmailWarning[]> {
    const domain = await domains.get(name);
    if (domain?.status !== 'Failing') return [];
    const text = `${name} fails its DNS check and may send for two days from when that began; run: postrider domain verify ${name}`;
    return [{ Name: 'domain-failing', Message: text }];
  }
}

function warnings(submission: Submission, checked: Checked): EmailWarning[] {
  const found: EmailWarning[] = checked.suppressed.map(({ address, reason }) => ({
    Name: 'recipient-suppressed',
    Message: `${address} is on the suppression list and would get nothing: ${reason}`,
  }));
  found.push(...unsubscribeWarnings(submission, checked.unsubscribe));
  if (checked.size > LARGE_MESSAGE_BYTES) {
    const Message = `The message has ${checked.size} octets: many hosts refuse more than 10 MiB`;
    found.push({ Name: 'large-message', Message });
  }
  if (checked.simulated > 0) {
    const Message = `${checked.simulated} of the recipients would get it in the sandbox only`;
    found.push({ Name: 'sandbox', Message });
  }
  return found;
}

/** What becomes of a wish for the unsubscribe header, where that is not what was said (personalChoice decides). */
function unsubscribeWarnings({ lane, headers, personal }: Submission, offered: boolean): EmailWarning[] {
  const own = (wanted: string) => headers.some(([name]) => name.toLowerCase() === wanted);
  const wish = personal?.listUnsubscribe ?? null;
  if (own(UNSUBSCRIBE)) {
    if (lane !== 'bulk' || own(ONE_CLICK)) return [];
    const Message =
      'List-Unsubscribe of your own without List-Unsubscribe-Post is not one-click: the large receivers ask for that';
    return [{ Name: 'unsubscribe-not-one-click', Message, Field: '/Headers' }];
  }
  if (wish === true && lane === 'critical') {
    const Message = 'Critical mail never has the unsubscribe header: ListUnsubscribe changes nothing';
    return [{ Name: 'unsubscribe-missing', Message, Field: '/ListUnsubscribe' }];
  }
  if ((wish === true || lane === 'bulk') && !offered) {
    const Message =
      'This server has no address that readers can reach, so it leaves out the unsubscribe header: its operator must set public-url, or the domain a TrackingHost';
    return [{ Name: 'unsubscribe-missing', Message }];
  }
  if (wish === false && offered) {
    const Message = 'Bulk mail always has the unsubscribe header: ListUnsubscribe changes nothing';
    return [{ Name: 'unsubscribe-kept', Message, Field: '/ListUnsubscribe' }];
  }
  return [];
}
