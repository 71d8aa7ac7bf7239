/**
 * POST /email/validate (api.md §3): everything POST /email checks, from the fields to the quota, and nothing stored.
 * Given the same body, leaves `{Valid, Size, Recipients, Warnings}` or the same refusal; warnings say what would be
 * taken but is likely not meant.
 */

import type { z } from 'zod';
import { AppError, type Problem } from '../../../lib/errors.ts';
import type { Caller, Submission } from '../../../model/submission.ts';
import type { Acceptance, Checked } from '../../../pipeline/accept/accept.ts';
import type { DomainService } from '../../../policy/domains/domains.ts';
import type { EmailWarning, ValidateAnswer } from '../contract/answers/email.ts';
import { validateAnswer } from '../contract/schemas/email.ts';
import { EMAIL_ERRORS, EMAIL_EXAMPLE } from '../contract/schemas/email-request.ts';
import { type EmailReader, type ParsedBody, parseBody } from '../email-reader.ts';
import { requireJson } from '../json-media-type.ts';
import { prefersStrict } from '../prefer.ts';
import { type ApiRequest, type ApiRoute, json } from '../route.ts';

/** Above this a well-known webmail hides the rest of the HTML. */
const CLIPPED_HTML_BYTES = 102 * 1024;
/** Above this many hosts refuse a message, whatever we take. */
const LARGE_MESSAGE_BYTES = 10 * 1024 * 1024;
const UNSUBSCRIBE = 'list-unsubscribe';
const ONE_CLICK = 'list-unsubscribe-post';

/** The route. */
export function validateEmailRoute(deps: {
  acceptance: Acceptance;
  reader: EmailReader;
  domains: Pick<DomainService, 'get'>;
  /** Schema of the body. */
  email: z.ZodType;
}): ApiRoute {
  const { acceptance, reader, domains, email } = deps;
  return {
    method: 'POST',
    path: '/email/validate',
    scope: 'email:send',
    limitedTokens: true,
    contract: {
      id: 'validateEmail',
      summary: 'Check a message without sending it',
      description:
        'The same body and the same refusals, from the fields to the quota, and nothing stored: `{Valid, Size, Recipients, Warnings}`. A warning, `{Name, Message, Field?}`, says what would be taken but is likely not meant',
      body: { schema: email, example: EMAIL_EXAMPLE },
      answer: validateAnswer,
      errors: EMAIL_ERRORS,
    },
    takesLargeBody: true,
    handle,
  };

  async function handle(request: ApiRequest) {
    requireJson(request.header('content-type'));
    const { caller } = request;
    const strict = prefersStrict(request.header('prefer'));
    const parsed = reader.isLarge(request.body) ? null : parseBody(request.body);
    const email =
      parsed === null
        ? await reader.readLarge(caller, request.body, strict)
        : await reader.read(caller, parsed, strict);
    const checked = await acceptance.check({ caller, ...email });
    const answer: ValidateAnswer = {
      Valid: true,
      Size: checked.size,
      Recipients: email.submission.recipients.length,
      Warnings: [
        ...(parsed === null || strict ? [] : await ignoredNames(caller, parsed)),
        // A worker gives no contents back: what can be said of them is said of smaller requests only.
        ...(parsed === null ? [] : contentWarnings(email.submission)),
        ...email.warnings.map((Message) => ({ Name: 'template', Message })),
        ...warnings(email.submission, checked),
        ...(await domainWarnings(checked.domain)),
      ],
    };
    return json(answer);
  }

  /** Names that strict handling would refuse: often a mistyped one. */
  async function ignoredNames(caller: Caller, parsed: ParsedBody): Promise<EmailWarning[]> {
    try {
      await reader.read(caller, parsed, true);
      return [];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return error.problems.filter(({ name }) => name === 'unknown-property').map(ignoredName);
    }
  }

  async function domainWarnings(name: string): Promise<EmailWarning[]> {
    const domain = await domains.get(name);
    if (domain?.status !== 'Failing') return [];
    const text = `${name} fails its DNS check and may send for two days from when that began; run: postrider domain verify ${name}`;
    return [{ Name: 'domain-failing', Message: text }];
  }
}

function ignoredName({ field = '', message = '' }: Problem): EmailWarning {
  const hint = message.includes(';') ? message.slice(message.indexOf(';')) : '';
  const Message = `${field.slice(1)} is not known and would be ignored${hint}`;
  return { Name: 'unknown-property', Message, Field: field };
}

function contentWarnings({ body, attachments }: Submission): EmailWarning[] {
  const found: EmailWarning[] = [];
  if (body.kind !== 'html') return found;
  if (body.text === null) {
    const Message = 'The message has no text part: some readers show nothing, and filters mind it';
    found.push({ Name: 'no-text-part', Message, Field: '/PlainContent' });
  }
  found.push(...pictureWarnings(body.html, new Set(attachments.map(({ contentId }) => contentId ?? ''))));
  if (Buffer.byteLength(body.html) > CLIPPED_HTML_BYTES) {
    const Message = `HTMLContent has more than ${CLIPPED_HTML_BYTES} octets: webmail may show the beginning only`;
    found.push({ Name: 'html-clipped', Message, Field: '/HTMLContent' });
  }
  return found;
}

/** Pictures that no reader can show: `cid:` of a file that is not attached, addresses that lead on from nowhere. */
function pictureWarnings(html: string, attached: ReadonlySet<string>): EmailWarning[] {
  const missing = new Set<string>();
  const relative = new Set<string>();
  const sources =
    /\s(?:src|background)\s{0,4}=\s{0,4}(?:"([^"]{1,512})"|'([^']{1,512})'|([^\s"'>]{1,512}))/gi;
  for (const match of html.matchAll(sources)) {
    const source = (match[1] ?? match[2] ?? match[3] ?? '').trim();
    if (/^cid:/i.test(source)) {
      const id = source.slice(4);
      if (!attached.has(id) && !attached.has(unescaped(id))) missing.add(id);
    } else if (source !== '' && !/^[a-z][a-z0-9+.-]{0,31}:/i.test(source) && !source.includes('{{')) {
      relative.add(source);
    }
    if (missing.size + relative.size >= MAX_PICTURES) break;
  }
  const one = (Name: string, Message: string): EmailWarning => ({ Name, Message, Field: '/HTMLContent' });
  return [
    ...[...missing].map((id) =>
      one('cid-missing', `cid:${id} is shown, and no attachment has the ContentId "${id}"`),
    ),
    ...[...relative].map((source) =>
      one('relative-address', `"${source}" leads nowhere from a mail: write the whole address, https://…`),
    ),
  ];
}

const MAX_PICTURES = 10;

function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
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
  if (checked.played > 0) {
    const Message = `${checked.played} of the recipients would get it in the sandbox only`;
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
  if (wish === true && !offered) {
    const Message = 'Critical mail never has the unsubscribe header: ListUnsubscribe changes nothing';
    return [{ Name: 'unsubscribe-missing', Message, Field: '/ListUnsubscribe' }];
  }
  if (wish === false && offered) {
    const Message = 'Bulk mail always has the unsubscribe header: ListUnsubscribe changes nothing';
    return [{ Name: 'unsubscribe-kept', Message, Field: '/ListUnsubscribe' }];
  }
  return [];
}
