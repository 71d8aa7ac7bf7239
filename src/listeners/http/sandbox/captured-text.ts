/** The text of a captured message that searches look at, folded as the store compares it. */
import { foldText } from '../../../model/search-text.ts';
import { textFromHtml } from '../../../pipeline/compose/text-from-html.ts';
import type { CaptureText } from '../../../store/topics/captures.ts';
import type { CapturedContents } from './captured-mail.ts';

export type SearchedText = Omit<CaptureText, 'messageSeq'>;

/** Only so many characters of a message are searched. */
export const MAX_TEXT_CHARS = 65_536;

/** Its text part, and the visible text of its HTML if that differs. */
export function searchedText(mail: CapturedContents): SearchedText {
  const plain = foldText(mail.PlainContent);
  const html = foldText(textFromHtml(mail.HTMLContent));
  const text = html === '' || plain.includes(html) ? plain : plain === '' ? html : `${plain} ${html}`;
  return {
    // A picture inside the HTML is part of the text, not a file that came with it.
    hasFiles: mail.Attachments.some((file) => file.Disposition !== 'inline'),
    text: text.slice(0, MAX_TEXT_CHARS),
  };
}
