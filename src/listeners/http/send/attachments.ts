/**
 * Attachments: base64 content, media type, file name, disposition and content id.
 * Given the parsed value, it leaves decoded files whose names are plain data: no path, no controls. The alphabet of
 * the content is checked in one search before it is decoded, because the decoder skips what it does not know.
 */
import { z } from 'zod';
import { isJsonObject } from '../../../lib/json-object.ts';
import { isInvitation, OCTET_STREAM, parseMediaType, typeFromFilename } from '../../../mail/content-type.ts';
import type { SubmittedAttachment } from '../../../model/submission.ts';
import { propertyTable } from '../body/json-properties.ts';
import type { ProblemList } from '../body/problem-list.ts';
import { hasControl, isLongerThan } from '../body/text-rules.ts';
import { type Reading, readMembers } from './reading.ts';

const MAX_FILENAME_CHARS = 255;
const MAX_GIVEN_FILENAME = 4096;
const CONTENT_ID = /^[A-Za-z0-9._\-+@=$]{1,128}$/;
const NOT_BASE64 = /[^A-Za-z0-9+/\-_]/;

/** An attachment as the document has it; its members are read in this order. */
export const attachmentSchema = z
  .object({
    Content: z.string().min(1).describe('Base64, without a `data:` prefix'),
    Type: z.string().optional().describe('Media type; from the file name where left out'),
    Filename: z
      .string()
      .min(1)
      .describe(`1 to ${MAX_FILENAME_CHARS} characters; a path before it is dropped`),
    Disposition: z
      .enum(['attachment', 'inline'])
      .optional()
      .describe(
        '`inline`: shown by the HTML; a file of the type `text/calendar; method=REQUEST` is then an invitation that mail programs show with its buttons',
      ),
    ContentId: z
      .union([z.int(), z.string()])
      .optional()
      .describe('What `cid:` in the HTML names; required for inline files, except invitations'),
  })
  .meta({ id: 'EmailAttachment' });
const ATTACHMENT = propertyTable(Object.keys(attachmentSchema.shape));

/** Decoded attachments in the order given. */
export function readAttachments(value: unknown, reading: Reading): SubmittedAttachment[] {
  const { limits, problems } = reading;
  const attachments: SubmittedAttachment[] = [];
  if (!Array.isArray(value)) {
    problems.add(
      'wrong-type',
      '/Attachments',
      'Attachments must be an array of objects with Content and Filename',
    );
    return attachments;
  }
  if (value.length > limits.maxAttachments) {
    problems.add(
      'attachments-count',
      '/Attachments',
      `At most ${limits.maxAttachments} attachments are allowed`,
    );
    return attachments;
  }
  const inlineIds = new Set<string>();
  for (let i = 0; i < value.length; i++) {
    const item: unknown = value[i];
    const pointer = `/Attachments/${i}`;
    if (!isJsonObject(item)) {
      problems.add(
        'wrong-type',
        pointer,
        'Each item of Attachments must be an object with Content and Filename',
      );
      continue;
    }
    const attachment = readAttachment(item, pointer, reading);
    if (attachment === null) continue;
    if (attachment.disposition === 'inline' && attachment.contentId !== null) {
      if (inlineIds.has(attachment.contentId)) problems.add('content-id-duplicate', `${pointer}/ContentId`);
      inlineIds.add(attachment.contentId);
    }
    attachments.push(attachment);
  }
  return attachments;
}

/** Whether some ContentId is a number too large to have kept its digits when it was parsed. */
export function hasUnsafeContentId(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.slice(0, 1000).some((item: unknown) => {
    if (!isJsonObject(item)) return false;
    return Object.values(item).some((v) => typeof v === 'number' && !Number.isSafeInteger(v));
  });
}

/**
 * The JSON text with every long integer ContentId put in quotes, so that its digits survive parsing. A quote inside
 * a JSON string is always escaped, so the pattern cannot match inside one.
 */
export function quoteLongContentIds(json: string): string {
  return json.replace(
    /("contentid"[ \t\r\n]{0,64}:[ \t\r\n]{0,64})(-?[0-9]{16,128})(?![0-9.eE])/gi,
    '$1"$2"',
  );
}

function readAttachment(
  object: Readonly<Record<string, unknown>>,
  pointer: string,
  reading: Reading,
): SubmittedAttachment | null {
  const { problems } = reading;
  const before = problems.items.length;
  const [content, type, filename, disposition, contentId] = readMembers(object, ATTACHMENT, pointer, reading);
  // The names of other providers.
  const others = new Set(Object.keys(object).map((member) => member.toLowerCase()));
  if (content === undefined && (others.has('path') || others.has('url'))) {
    problems.add(
      'content-missing',
      `${pointer}/Content`,
      'Content is required: the bytes in base64. A path or URL is not fetched',
    );
    return null;
  }
  const bytes = readBase64(content, `${pointer}/Content`, problems);
  if (filename === undefined && others.has('name')) {
    problems.add('filename-invalid', `${pointer}/Filename`, 'Filename is required; "name" is not known here');
    return null;
  }
  const name = readFilename(filename, `${pointer}/Filename`, reading);
  const mediaType = readType(type, name ?? '', `${pointer}/Type`, problems);
  const shown = readDisposition(disposition, `${pointer}/Disposition`, problems);
  const id = readContentId(contentId, `${pointer}/ContentId`, problems);
  const needsId = shown === 'inline' && !isInvitation(mediaType ?? '', shown);
  if (needsId && id === null && problems.items.length === before) {
    problems.add('inline-needs-content-id', `${pointer}/ContentId`);
  }
  if (bytes === null || name === null || mediaType === null || shown === null || id === undefined)
    return null;
  return { content: bytes, type: mediaType, filename: name, disposition: shown, contentId: id };
}

function readBase64(value: unknown, pointer: string, problems: ProblemList): Uint8Array | null {
  if (value === undefined || value === '') {
    problems.add('content-missing', pointer);
    return null;
  }
  if (typeof value !== 'string') {
    problems.add('content-not-base64', pointer);
    return null;
  }
  const bytes = decodeBase64(value);
  if (bytes === null) {
    problems.add(
      'content-not-base64',
      pointer,
      value.startsWith('data:') ? 'Content must be base64 without a data: prefix' : undefined,
    );
    return null;
  }
  if (bytes.length === 0) {
    problems.add('content-missing', pointer, 'Content is empty');
    return null;
  }
  return bytes;
}

/**
 * Base64 in the standard or the URL-safe alphabet (RFC 4648 §4–5), padding optional, blanks and line breaks skipped.
 * Null where any other character stands in it or its length is impossible.
 */
export function decodeBase64(text: string): Uint8Array | null {
  let clean = text;
  let end = endOfData(clean);
  const odd = text.search(NOT_BASE64);
  if (odd >= 0 && odd < end) {
    clean = text.replace(/[ \r\n]+/g, '');
    end = endOfData(clean);
    const stillOdd = clean.search(NOT_BASE64);
    if (stillOdd >= 0 && stillOdd < end) return null;
  }
  const padding = clean.length - end;
  if (padding > 2 || end % 4 === 1 || (padding > 0 && clean.length % 4 !== 0)) return null;
  const bytes = Buffer.from(clean, 'base64');
  return bytes.length === Math.floor((end * 3) / 4) ? bytes : null;
}

/** Where the padding at the very end starts. */
function endOfData(text: string): number {
  let end = text.length;
  while (end > 0 && text.length - end <= 2 && text.charCodeAt(end - 1) === 61) end--;
  return end;
}

function readFilename(
  value: unknown,
  pointer: string,
  { blockedExtensions: blocked, problems }: Reading,
): string | null {
  if (typeof value !== 'string' || value === '') {
    problems.add('filename-invalid', pointer, value === undefined ? 'Filename is required' : undefined);
    return null;
  }
  if (value.length > MAX_GIVEN_FILENAME || hasControl(value, true)) {
    problems.add('filename-invalid', pointer);
    return null;
  }
  const name = value.slice(Math.max(value.lastIndexOf('/'), value.lastIndexOf('\\')) + 1).trim();
  if (name === '' || name === '.' || name === '..' || isLongerThan(name, MAX_FILENAME_CHARS)) {
    problems.add('filename-invalid', pointer);
    return null;
  }
  if (blocked.size > 0) {
    // Windows drops dots and blanks at the end of a name, so `a.exe.` runs like `a.exe`.
    const bare = name.replace(/[. ]{1,255}$/, '');
    const dot = bare.lastIndexOf('.');
    if (dot >= 0 && blocked.has(bare.slice(dot + 1).toLowerCase())) {
      problems.add('type-blocked', pointer, `Files named *${bare.slice(dot)} are not allowed here`);
      return null;
    }
  }
  return name.toWellFormed();
}

/** `message/*` and `multipart/*` would make a reader parse the content as mail: sent as plain octets. */
function readType(value: unknown, filename: string, pointer: string, problems: ProblemList): string | null {
  if (value === undefined || value === '') return safeType(typeFromFilename(filename));
  const text = typeof value === 'string' ? value.trim() : '';
  const parsed = text === '' ? null : parseMediaType(text);
  if (parsed === null) {
    problems.add('media-type-invalid', pointer);
    return null;
  }
  return safeType(parsed.type) === parsed.type ? text : OCTET_STREAM;
}

function safeType(type: string): string {
  return type.startsWith('message/') || type.startsWith('multipart/') ? OCTET_STREAM : type;
}

function readDisposition(
  value: unknown,
  pointer: string,
  problems: ProblemList,
): 'attachment' | 'inline' | null {
  if (value === undefined || value === '') return 'attachment';
  const word = typeof value === 'string' && value.length <= 32 ? value.trim().toLowerCase() : '';
  if (word === 'attachment' || word === 'inline') return word;
  problems.add('disposition-unknown', pointer);
  return null;
}

/** null = none given; undefined = refused. */
function readContentId(value: unknown, pointer: string, problems: ProblemList): string | null | undefined {
  if (value === undefined || value === '') return null;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value).toString();
  if (typeof value === 'string' && value.length <= 256) {
    const text = value.trim();
    const id = text.startsWith('<') && text.endsWith('>') ? text.slice(1, -1) : text;
    if (id === '') return null;
    if (CONTENT_ID.test(id)) return id;
  }
  problems.add('content-id-invalid', pointer);
  return undefined;
}
