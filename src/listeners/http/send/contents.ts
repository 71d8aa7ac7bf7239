/**
 * Subject, ContentType, HTMLContent and PlainContent.
 * ContentType says which content is authoritative. With HTML, PlainContent has three meanings: absent = a text part
 * is made later from the HTML, '' = no text part, text = the alternative. With Text, PlainContent is the body, and
 * HTMLContent is turned into text where PlainContent is absent.
 */
import type { SubmittedBody } from '../../../model/submission.ts';
import type { ProblemList } from '../body/problem-list.ts';
import { exceedsOctets, hasControl, isLongerThan } from '../body/text-rules.ts';
import type { EmailLimits } from './limits.ts';
import type { Reading } from './reading.ts';

const CONTENT_TYPES = new Map<string, 'html' | 'text'>([
  ['html', 'html'],
  ['text/html', 'html'],
  ['text', 'text'],
  ['plain', 'text'],
  ['text/plain', 'text'],
]);

/** The subject, or null where it is refused. Line breaks are refused, not folded: they would start a header. */
export function readSubject(value: unknown, { limits, problems }: Reading): string | null {
  if (value === undefined) return refuse('subject-required');
  if (typeof value !== 'string') return refuse('wrong-type', 'Subject must be a string');
  if (isLongerThan(value, limits.maxSubjectChars)) {
    return refuse('subject-too-long', `Subject may have at most ${limits.maxSubjectChars} characters`);
  }
  if (hasControl(value, false)) return refuse('subject-control-char');
  const subject = value.trim();
  return subject === '' ? refuse('subject-required') : subject.toWellFormed();

  function refuse(
    name: 'subject-required' | 'wrong-type' | 'subject-too-long' | 'subject-control-char',
    message?: string,
  ): null {
    problems.add(name, '/Subject', message);
    return null;
  }
}

/** The body as it was meant, or null where something about it is refused. */
export function readBody(
  contentType: unknown,
  { limits, problems }: Reading,
  htmlContent: unknown,
  plainContent: unknown,
): SubmittedBody | null {
  const kind = readContentType(contentType, problems);
  const html = readContent(htmlContent, 'HTMLContent', 'html-too-large', limits, problems);
  const plain = readContent(plainContent, 'PlainContent', 'plain-too-large', limits, problems);
  const hasHtml = html !== undefined && html !== '';
  if (kind === 'text') {
    if (html === null || plain === null) return null;
    if (plain !== undefined && plain !== '') return { kind: 'text', text: plain };
    if (hasHtml) return { kind: 'text-of-html', html };
    problems.add('plain-content-required', '/PlainContent');
    return null;
  }
  // Without a known ContentType the body is still required: a request without anything shows every mistake at once.
  if (!hasHtml && html !== null && (kind === 'html' || plain === undefined)) {
    const message = kind === null ? 'HTMLContent or PlainContent is required' : undefined;
    problems.add('html-content-required', '/HTMLContent', message);
  }
  if (kind === null || html === null || !hasHtml || plain === null) return null;
  return { kind: 'html', html, text: plain === '' ? null : plain };
}

function readContentType(value: unknown, problems: ProblemList): 'html' | 'text' | null {
  if (value === undefined || value === '') {
    problems.add('content-type-required', '/ContentType', 'ContentType is required: HTML or Text');
    return null;
  }
  if (typeof value !== 'string') {
    problems.add('wrong-type', '/ContentType', 'ContentType must be a string');
    return null;
  }
  const kind = value.length > 32 ? undefined : CONTENT_TYPES.get(value.trim().toLowerCase());
  if (kind === undefined) {
    problems.add('content-type-unknown', '/ContentType');
    return null;
  }
  return kind;
}

/** undefined = absent, null = refused. */
function readContent(
  value: unknown,
  field: 'HTMLContent' | 'PlainContent',
  tooLarge: 'html-too-large' | 'plain-too-large',
  limits: EmailLimits,
  problems: ProblemList,
): string | null | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') {
    problems.add('wrong-type', `/${field}`, `${field} must be a string`);
    return null;
  }
  if (exceedsOctets(value, limits.maxContentBytes)) {
    problems.add(tooLarge, `/${field}`, `${field} may have at most ${limits.maxContentBytes} octets`);
    return null;
  }
  return value.toWellFormed();
}
