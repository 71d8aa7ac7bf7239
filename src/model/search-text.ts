/**
 * The form of text that searches compare: one Unicode form (NFC), lower case, and one blank for every run of blanks, so
 * that a line that was wrapped elsewhere is still found.
 */

/** Used for both sides of a comparison; `''` if the text is blank. */
export function foldText(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim();
}
