/**
 * The body of POST /email → a `Submission`, or every problem in it. Hand-written, one pass, no schema
 * library: this runs for each message and takes a few microseconds. Given raw bytes from anyone; it leaves checked
 * and normalised values, and never throws for what a client sent. Fields are read in documented order, so problems
 * come out in that order; the sender domain, sizes and suppressions are acceptance's to judge, not this file's.
 */
import { ERRORS, type Problem } from '../../../lib/errors.ts';
import type { Submission } from '../../../model/submission.ts';
import { textFromHtml } from '../../../pipeline/compose/text-from-html.ts';
import { bodyText, jsonProblem, parseJsonObject } from '../body/json-body.ts';
import { type JsonObject, propertyTable, readProperties } from '../body/json-properties.ts';
import { createProblemList, inFieldOrder, pointerSegment } from '../body/problem-list.ts';
import { readFrom, readRecipients, readReplyTo } from './addresses.ts';
import { hasUnsafeContentId, quoteLongContentIds, readAttachments } from './attachments.ts';
import { readContents, readSubject } from './contents.ts';
import {
  readKeepContent,
  readMetadataField,
  readPriority,
  readSandbox,
  readTimes,
} from './extension-fields.ts';
import type { EmailLimits } from './limits.ts';
import { readPersonalWish } from './personal-fields.ts';
import type { EmailWarning } from './review.ts';
import { contentWarnings, ignoredNames } from './review.ts';
import { readHeaders, readTags } from './tags-headers.ts';
import { applyTemplate, type FoundTemplate, TEMPLATE_FIELDS } from './template-fields.ts';
import { didYouMean, type UnknownMember, unknownMembers } from './unknown-members.ts';

export interface EmailReadOptions {
  /** Unknown properties are refused (`Prefer: handling=strict`, RFC 7240). */
  strict: boolean;
  /** What is likely not meant is looked for: the message is read a second time. */
  review?: boolean;
  /** File name extensions that are refused: lower-case, without the dot. */
  blockedExtensions: ReadonlySet<string>;
  /** What SendAt and ExpiresAt are measured against. */
  nowMs: number;
  /** The stored template that the request names, or null where there is none for this caller. */
  template?: FoundTemplate | null | undefined;
}

/** What was noticed of a message that is taken. */
export interface EmailRemarks {
  /** About its template. */
  warnings: readonly string[];
  /** Members that mean nothing here. */
  ignored: readonly UnknownMember[];
  /** What is likely not meant, where that was asked for. */
  review: readonly EmailWarning[];
}

export type EmailRead =
  | ({ ok: true; submission: Submission } & EmailRemarks)
  /** At least one, at most 25, in documented field order. */
  | { ok: false; problems: readonly [Problem, ...Problem[]] };

const FIELDS = propertyTable([
  'From',
  'To',
  'CC',
  'BCC',
  'ReplyTo',
  'Subject',
  'ContentType',
  'HTMLContent',
  'PlainContent',
  'Tags',
  'Headers',
  'Attachments',
  'Priority',
  'Sandbox',
  'SendAt',
  'ExpiresAt',
  'Metadata',
  'KeepContent',
  'Tracking',
  'ListUnsubscribe',
  ...TEMPLATE_FIELDS,
]);
const ATTACHMENTS = FIELDS.names.indexOf('Attachments');
const SLOTS = {
  from: FIELDS.names.indexOf('From'),
  subject: FIELDS.names.indexOf('Subject'),
  contentType: FIELDS.names.indexOf('ContentType'),
  html: FIELDS.names.indexOf('HTMLContent'),
  plain: FIELDS.names.indexOf('PlainContent'),
  template: FIELDS.names.indexOf(TEMPLATE_FIELDS[0]),
};

/** What is missing may be there under another name; what is not known may be near another one. */
function withHints(problems: readonly Problem[], unknown: readonly UnknownMember[]): readonly Problem[] {
  if (unknown.length === 0) return problems;
  const text = unknown.find(({ meant }) => meant === 'PlainContent');
  return problems.map((problem) => {
    const field = problem.field?.slice(1) ?? '';
    if (problem.name === 'unknown-property') {
      const known = unknown.find(({ name }) => pointerSegment(name) === field);
      return { ...problem, message: `${problem.message ?? ''}${didYouMean(known?.meant ?? '')}` };
    }
    if (!problem.name.endsWith('-required') && problem.name !== 'to-count') return problem;
    const said = problem.message ?? ERRORS[problem.name].text;
    const given = unknown.find(({ meant }) => meant === field);
    if (given !== undefined) return { ...problem, message: `${said}; "${given.name}" is not known here` };
    if (text === undefined || !['ContentType', 'HTMLContent'].includes(field)) return problem;
    return {
      ...problem,
      message: `${said}; "${text.name}" is not known here: a text goes into PlainContent, with ContentType "Text"`,
    };
  });
}

/** Reads one request. `body`: the raw, inflated bytes; they are not kept, attachments are decoded copies. */
export function readEmailRequest(
  body: Uint8Array,
  limits: EmailLimits,
  options: EmailReadOptions,
): EmailRead {
  const parsed = parseEmailBody(body);
  return parsed.ok ? readEmailObject(parsed.object, limits, options, parsed.withExactIds) : parsed;
}

/** The body as JSON, and the second reading that `readEmailObject` may ask for. */
export function parseEmailBody(
  body: Uint8Array,
):
  | { ok: true; object: JsonObject; withExactIds: () => JsonObject | null }
  | { ok: false; problems: readonly [Problem, ...Problem[]] } {
  const text = bodyText(body);
  if (text === null) {
    return { ok: false, problems: [{ name: 'json-malformed', message: 'The body is not valid UTF-8' }] };
  }
  const object = parseJsonObject(text);
  if (object === null)
    return { ok: false, problems: [{ name: 'json-malformed', message: jsonProblem(text) }] };
  return { ok: true, object, withExactIds: () => parseJsonObject(quoteLongContentIds(text)) };
}

/**
 * Reads one request that is parsed already. `withExactIds` gives the same object with long integer content ids as
 * text; it is asked only where such a number occurs (clients send 64-bit hashes).
 */
export function readEmailObject(
  object: JsonObject,
  limits: EmailLimits,
  options: EmailReadOptions,
  withExactIds: () => JsonObject | null = () => null,
): EmailRead {
  const { strict } = options;
  const problems = createProblemList();
  const late = createProblemList();
  const values = readProperties(object, FIELDS, strict, (name, segment, message) =>
    late.add(name, `/${segment}`, message),
  );
  if (hasUnsafeContentId(values[ATTACHMENTS])) {
    const exact = withExactIds();
    if (exact !== null) values[ATTACHMENTS] = readProperties(exact, FIELDS, false, () => {})[ATTACHMENTS];
  }
  const warnings = applyTemplate(values, SLOTS, options.template, problems);
  const [from, to, cc, bcc, replyTo, subject, contentType, html, plain, tags, headers, attachments] = values;
  const sender = readFrom(from, limits, strict, problems);
  const recipients = readRecipients({ to, cc, bcc }, limits, strict, problems);
  const replies = readReplyTo(replyTo, limits, strict, problems);
  const subjectText = readSubject(subject, limits, problems);
  const contents = readContents({ contentType, html, plain }, limits, problems);
  const tagList = readTags(tags, limits, problems);
  const headerList = readHeaders(headers, limits, problems);
  const files = readAttachments(attachments, limits, options, problems);
  const lane = readPriority(values[ATTACHMENTS + 1], problems);
  const sandbox = readSandbox(values[ATTACHMENTS + 2], strict, problems);
  const times = readTimes(values[ATTACHMENTS + 3], values[ATTACHMENTS + 4], options.nowMs, problems);
  const metadata = readMetadataField(values[ATTACHMENTS + 5], problems);
  const keepContent = readKeepContent(values[ATTACHMENTS + 6], problems);
  const tracking = values[ATTACHMENTS + 7];
  const listUnsubscribe = values[ATTACHMENTS + 8];
  const personal = readPersonalWish({ tracking, listUnsubscribe }, strict, problems);

  const found = [...problems.items, ...late.items];
  const [first, ...rest] =
    found.length === 0 ? [] : inFieldOrder(withHints(found, unknownMembers(object, FIELDS)), FIELDS.names);
  if (first !== undefined) return { ok: false, problems: [first, ...rest] };
  if (sender === null || subjectText === null || contents === null) {
    // Each reader adds a problem where it gives nothing back; reaching this would be a mistake of ours.
    return { ok: false, problems: [{ name: 'internal' }] };
  }
  const submission: Submission = {
    from: sender.mailbox,
    fromDomain: sender.domain,
    recipients,
    replyTo: replies,
    subject: subjectText,
    body: contents.kind === 'html-as-text' ? { kind: 'text', text: textFromHtml(contents.html) } : contents,
    tags: tagList,
    headers: headerList,
    attachments: files,
    metadata,
    sendAt: times.sendAt,
    expiresAt: times.expiresAt,
    lane,
    sandbox,
    ...(keepContent ? {} : { keepContent }),
    ...(personal === null ? {} : { personal }),
  };
  return {
    ok: true,
    submission,
    warnings,
    ignored: strict ? [] : unknownMembers(object, FIELDS),
    review: options.review === true ? review(submission) : [],
  };

  function review(taken: Submission): EmailWarning[] {
    const again = strict
      ? null
      : readEmailObject(object, limits, { ...options, strict: true, review: false }, withExactIds);
    return [...ignoredNames(again?.ok === false ? again.problems : []), ...contentWarnings(taken)];
  }
}
