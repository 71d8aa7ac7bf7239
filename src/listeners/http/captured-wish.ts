/** What may be asked of a captured message, and answering it on the thread that asks: this one, or a worker's. */
import { type CapturedContents, readCapturedMail } from './captured-mail.ts';
import { type CapturedFile, readCapturedFile, readCapturedPage } from './captured-parts.ts';
import { type SearchedText, searchedText } from './captured-text.ts';

/** What is asked of a message. */
export type CapturedWish =
  | { kind: 'contents' }
  | { kind: 'search' }
  | { kind: 'file'; place: number }
  | { kind: 'page' };

export type CapturedAnswer =
  | { kind: 'contents'; contents: CapturedContents }
  | { kind: 'search'; inside: SearchedText }
  | { kind: 'file'; file: CapturedFile | null }
  | { kind: 'page'; page: string | null };

/** The answer to one wish, on the thread that asks. */
export async function readCaptured(bytes: Uint8Array, wish: CapturedWish): Promise<CapturedAnswer> {
  switch (wish.kind) {
    case 'contents':
      return { kind: 'contents', contents: await readCapturedMail(bytes) };
    case 'search':
      return { kind: 'search', inside: searchedText(await readCapturedMail(bytes)) };
    case 'file':
      return { kind: 'file', file: await readCapturedFile(bytes, wish.place) };
    case 'page':
      return { kind: 'page', page: await readCapturedPage(bytes) };
  }
}
