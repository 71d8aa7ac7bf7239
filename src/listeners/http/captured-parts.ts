/**
 * The parts of a captured message that are handed out one by one: a file, and the page that shows its HTML. Given a whole
 * message (RFC 5322 bytes), which is somebody's. The page is meant for a browser, so it is made harmless three times: the
 * answer's policy lets nothing run or load, the page repeats that policy for whoever shows it from a string, and what
 * connects before any policy is asked (measured: an `iframe` does) is no such element any more.
 */
import PostalMime from 'postal-mime';

/** A part as a file. */
export interface CapturedFile {
  /** Safe as a file name on any system. */
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** What the page may do: show itself, with pictures that it brings along. */
export const PAGE_POLICY =
  "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const OPTIONS = { maxNestingDepth: 20, attachmentEncoding: 'arraybuffer' } as const;
/** Pictures are repeated wherever they are named, up to so many characters in all; beyond that they stay out. */
const MAX_PICTURE_CHARS = 48 * 1024 * 1024;
const MAX_FILENAME_CHARS = 150;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

/** The file at that place of `Attachments`, from 0; null where there is none. */
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

/** The message as a page: its HTML with the pictures it brought, or its text; null where it cannot be read. */
export async function readCapturedPage(bytes: Uint8Array): Promise<string | null> {
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
    html === '' ? `<pre style="white-space: pre-wrap">${escaped(mail.text ?? '')}</pre>` : html,
    pictures,
  );
}

/** A page that loads nothing: see the head of this file. */
export function pageOf(html: string, pictures: ReadonlyMap<string, string>): string {
  let left = MAX_PICTURE_CHARS;
  const shown = html
    .replace(/cid:([^"'\s)<>]{1,512})/gi, (whole, id: string) => {
      const picture = pictures.get(id) ?? pictures.get(decoded(id));
      if (picture === undefined || picture.length > left) return whole;
      left -= picture.length;
      return picture;
    })
    // Whatever a browser could take for one of these elements has these very characters, wherever they stand.
    .replace(
      /<(\/?)(link|meta|base|i?frame|frameset|object|embed|portal|fencedframe)(?![a-z0-9-])/gi,
      '<$1x-$2',
    );
  const policy = PAGE_POLICY.replace('sandbox; ', '');
  return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="referrer" content="no-referrer">\n${shown}`;
}

/** Without paths, control and direction characters, or a dot in front. */
export function safeFilename(name: string, place: number): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const clean = last
    .normalize('NFC')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/[<>:"|?*;%]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  const short = [...clean].slice(-MAX_FILENAME_CHARS).join('');
  return short === '' ? `attachment-${place}` : short;
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

function decoded(id: string): string {
  try {
    return decodeURIComponent(id.replaceAll('&amp;', '&'));
  } catch {
    return id;
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
