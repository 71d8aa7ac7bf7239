/** What can be read from a captured message; runs on the main thread or in a worker. */
import { type CapturedContents, readCapturedMail, UNREADABLE } from './captured-mail.ts';
import { type CapturedFile, readCapturedFile, readCapturedPage } from './captured-parts.ts';
import { type SearchedText, searchedText } from './captured-text.ts';

/** What is asked of a message. */
export type CapturedWish =
  | { kind: 'contents'; of: 'capture' | 'email' }
  | { kind: 'search' }
  | { kind: 'file'; place: number }
  | { kind: 'page'; remoteImages: boolean };

export type CapturedAnswer =
  /** An object as JSON: contents of megabytes take long to write as JSON, too. */
  | { kind: 'contents'; json: Uint8Array }
  | { kind: 'search'; inside: SearchedText }
  | { kind: 'file'; file: CapturedFile | null }
  | { kind: 'page'; page: Uint8Array | null };

/** The answer to one wish, on the thread that asks. */
export async function readCaptured(bytes: Uint8Array, wish: CapturedWish): Promise<CapturedAnswer> {
  switch (wish.kind) {
    case 'contents':
      return { kind: 'contents', json: jsonOf(await readCapturedMail(bytes), wish.of) };
    case 'search':
      return { kind: 'search', inside: searchedText(await readCapturedMail(bytes)) };
    case 'file':
      return { kind: 'file', file: await readCapturedFile(bytes, wish.place) };
    case 'page': {
      const page = await readCapturedPage(bytes, wish.remoteImages);
      return { kind: 'page', page: page === null ? null : new TextEncoder().encode(page) };
    }
  }
}

/** The contents of a message that takes too long to read. */
export function unreadIn(of: 'capture' | 'email'): Uint8Array {
  const ParseError = 'The message takes too long to read; its raw bytes can be had.';
  const unread =
    of === 'capture'
      ? { ...UNREADABLE, ParseError }
      : { HTMLContent: null, PlainContent: null, Attachments: null };
  return new TextEncoder().encode(JSON.stringify(unread));
}

/** What the operations show: all of a captured copy, or the contents of a sent message; null for a part that is missing. */
function jsonOf(contents: CapturedContents, of: 'capture' | 'email'): Uint8Array {
  const { HTMLContent, PlainContent, Attachments } = contents;
  const shown =
    of === 'capture'
      ? contents
      : { HTMLContent: orNull(HTMLContent), PlainContent: orNull(PlainContent), Attachments };
  return new TextEncoder().encode(JSON.stringify(shown));
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
