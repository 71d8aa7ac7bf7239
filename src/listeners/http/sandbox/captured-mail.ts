/**
 * A captured message as a person reads it: content, headers, attachments, links and one-time codes, parsed from the
 * exact bytes that would have been sent. The content is not trusted: depth and counts are limited, and nothing is
 * rendered here.
 */
import PostalMime from 'postal-mime';
import { textFromHtml } from '../../../pipeline/compose/text-from-html.ts';
import type { CaptureDetail } from './captures.ts';
import { findCodes } from './find-codes.ts';
import { findLinks } from './find-links.ts';

const MAX_HEADERS = 500;
/** HTML beyond this is not searched for codes: a style sheet may stand before the first word. */
const MAX_SEARCHED_CHARS = 200_000;

export type CapturedContents = Pick<
  CaptureDetail,
  'HTMLContent' | 'PlainContent' | 'Headers' | 'Attachments' | 'Links' | 'Codes' | 'ParseError'
>;

export const UNREADABLE: CapturedContents = {
  HTMLContent: '',
  PlainContent: '',
  Headers: [],
  Attachments: [],
  Links: [],
  Codes: [],
  ParseError: 'The message is nested too deep or not readable as MIME; its raw bytes can be had.',
};

/** Reads a whole message (RFC 5322 bytes). What the parser refuses is said in `ParseError`, never thrown. */
export async function readCapturedMail(bytes: Uint8Array): Promise<CapturedContents> {
  const mail = await PostalMime.parse(new Uint8Array(bytes), {
    maxNestingDepth: 20,
    attachmentEncoding: 'arraybuffer',
  }).catch(() => null);
  if (mail === null) return UNREADABLE;
  const html = mail.html ?? '';
  const text = mail.text ?? '';
  const { codes, links } = codesAndLinks({ subject: mail.subject ?? '', text, html });
  return {
    HTMLContent: html,
    PlainContent: text,
    Headers: mail.headers
      .slice(0, MAX_HEADERS)
      .map(({ originalKey, value }) => ({ Name: originalKey, Value: value })),
    Attachments: mail.attachments.map((file) => ({
      Filename: file.filename ?? '',
      Type: file.mimeType,
      Disposition: file.disposition ?? 'attachment',
      ContentId: (file.contentId ?? '').replace(/^<|>$/g, ''),
      Size: typeof file.content === 'string' ? file.content.length : file.content.byteLength,
    })),
    Links: links,
    Codes: codes,
    ParseError: null,
  };
}

/** What a test of a sign-up looks for, best first: `find-codes.ts`, `find-links.ts`. */
export function codesAndLinks({ subject, text, html }: { subject: string; text: string; html: string }): {
  codes: string[];
  links: string[];
} {
  // The text part may be a stub; where it is the same mail, its codes are found twice and listed once.
  const visible = html === '' ? '' : textFromHtml(html.slice(0, MAX_SEARCHED_CHARS));
  return { codes: findCodes([text, visible], subject), links: findLinks(html, text) };
}
