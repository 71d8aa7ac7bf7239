/**
 * Parts of a captured message that are served separately: a file, and the page that shows its HTML. Takes a whole message
 * (RFC 5322 bytes), which is not trusted.
 */
import PostalMime from 'postal-mime';
import { escapeHtml } from '../../../lib/escape-html.ts';
import { pageOf } from './captured-page.ts';

/** A part as a file. */
export interface CapturedFile {
  /** Safe as a file name on any system. */
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

const OPTIONS = { maxNestingDepth: 20, attachmentEncoding: 'arraybuffer' } as const;
const MAX_FILENAME_CHARS = 150;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

/** The file with this index in `Attachments`, from 0; null if there is none. */
export async function readCapturedFile(bytes: Uint8Array, place: number): Promise<CapturedFile | null> {
  const mail = await PostalMime.parse(new Uint8Array(bytes), OPTIONS).catch(() => null);
  const file = mail?.attachments[place];
  if (file === undefined) return null;
  return {
    filename: safeFilename(file.filename ?? '', place),
    type: MEDIA_TYPE.test(file.mimeType) ? file.mimeType.toLowerCase() : 'application/octet-stream',
    content: contentOf(file.content),
  };
}

/** The message as a page: its HTML with its embedded pictures, or its text; null if it cannot be parsed. */
export async function readCapturedPage(bytes: Uint8Array, remoteImages = false): Promise<string | null> {
  const mail = await PostalMime.parse(new Uint8Array(bytes), OPTIONS).catch(() => null);
  if (mail === null) return null;
  const pictures = new Map<string, string>();
  for (const { contentId, mimeType, content } of mail.attachments) {
    const id = (contentId ?? '').replace(/^<|>$/g, '');
    if (id === '' || !/^image\/[a-z0-9.+-]{1,64}$/i.test(mimeType)) continue;
    pictures.set(
      id,
      `data:${mimeType.toLowerCase()};base64,${Buffer.from(contentOf(content)).toString('base64')}`,
    );
  }
  const html = mail.html ?? '';
  return pageOf(
    html === ''
      ? `<pre style="white-space: pre-wrap; overflow-wrap: anywhere">${escapeHtml(mail.text ?? '')}</pre>`
      : html,
    pictures,
    remoteImages,
  );
}

/** Without paths, control and direction characters, or a dot in front; the last 150 characters of it. */
export function safeFilename(name: string, place: number): string {
  const from = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1;
  const [start, end] = withoutDots(name, from, name.length);
  // Cut first: nothing below looks at more than a name can have.
  const clean = name
    .slice(Math.max(start, end - 4 * MAX_FILENAME_CHARS), end)
    .normalize('NFC')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/[<>:"|?*;%]/g, '_');
  const short = [...clean.slice(...withoutDots(clean, 0, clean.length))].slice(-MAX_FILENAME_CHARS).join('');
  return short === '' ? `attachment-${place}` : short;
}

/** Start and end of `text` without the dots and blanks around it. A loop, because a regular expression takes quadratic time. */
function withoutDots(text: string, from: number, to: number): [start: number, end: number] {
  const isDot = (at: number) => text[at] === '.' || (text[at] ?? '').trim() === '';
  let start = from;
  let end = to;
  while (end > start && isDot(end - 1)) end -= 1;
  while (start < end && isDot(start)) start += 1;
  return [start, end];
}

/** `Content-Disposition` of a download (RFC 6266), with the name in both spellings (RFC 8187). */
export function downloadAs(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*!]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function contentOf(content: ArrayBuffer | Uint8Array | string): Uint8Array<ArrayBuffer> {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  return content instanceof Uint8Array ? new Uint8Array(content) : new Uint8Array(content);
}
