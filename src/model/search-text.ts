/**
 * Text as it is searched in and searched for: one spelling of letters that Unicode writes in two (NFC), lower case, and one
 * space for every run of blanks, so that a line that was wrapped somewhere else is still found.
 */

/** The same for both sides of a comparison; `''` where there is nothing but blanks. */
export function foldText(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim();
}
