/**
 * What a captured message looks like to a person: contents, headers, attachments, links and one-time codes, read back
 * from the very bytes that would have been sent. The bytes are ours, but what stands in them is somebody's: depth and
 * counts are bounded, and nothing here is ever rendered.
 */
import PostalMime from 'postal-mime';
import type { CaptureDetail } from './contract/answers/sandbox.ts';

const MAX_LINKS = 200;
const MAX_CODES = 20;
const MAX_HEADERS = 500;
/** Text beyond this is not searched for links and codes. */
const MAX_SEARCHED_CHARS = 1_000_000;

export type CapturedContents = Pick<
  CaptureDetail,
  'HTMLContent' | 'PlainContent' | 'Headers' | 'Attachments' | 'Links' | 'Codes' | 'ParseError'
>;

const UNREADABLE: CapturedContents = {
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
    Links: findLinks(html, text),
    ParseError: null,
    Codes: findCodes(text === '' ? html.replace(/<[^<>]{0,10000}>/g, ' ') : text),
  };
}

/** http(s) targets of href attributes, else addresses in the text; distinct, in order. */
export function findLinks(html: string, text: string): string[] {
  const links = new Set<string>();
  const from = html === '' ? text : html;
  const pattern =
    html === ''
      ? /(https?:\/\/[^\s<>"']{1,2048})/gi
      : /href\s{0,8}=\s{0,8}["'](https?:[^"'<>\s]{1,2048})["']/gi;
  for (const match of from.slice(0, MAX_SEARCHED_CHARS).matchAll(pattern)) {
    links.add((match[1] ?? '').replaceAll('&amp;', '&'));
    if (links.size >= MAX_LINKS) break;
  }
  return [...links];
}

/** Runs of 4 to 8 digits that stand alone: what a test of a login mail looks for. */
export function findCodes(text: string): string[] {
  const codes = new Set<string>();
  for (const match of text.slice(0, MAX_SEARCHED_CHARS).matchAll(/(?<![\w.,/#:+-])\d{4,8}(?![\w/:-])/g)) {
    codes.add(match[0]);
    if (codes.size >= MAX_CODES) break;
  }
  return [...codes];
}
