/**
 * Bytes of unknown origin as text for a log or an event: UTF-8 if they are valid, otherwise Latin-1, without control
 * characters except line feeds. Cannot fail.
 */

/** The octets as text. */
export function textOfOctets(octets: Buffer): string {
  const utf8 = octets.toString('utf8');
  return utf8.includes('\ufffd') ? octets.toString('latin1') : utf8;
}

/** The text without carriage returns; control characters other than line feeds become blanks. */
export function readableText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (c) => (c === '\r' ? '' : ' '));
}
