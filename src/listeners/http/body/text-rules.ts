/**
 * Properties of untrusted texts that several field readers need: control characters, lengths in characters and octets.
 * One pass each, fast for short texts.
 */
import { z } from 'zod';

/** C0 controls (CR, LF, NUL, TAB …). With `deleteToo`, DEL counts as well. */
export function hasControl(text: string, deleteToo: boolean): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 32 || (deleteToo && code === 127)) return true;
  }
  return false;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are refused
const OTHER_LINE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** A text that lists show: no C0 or C1 control, DEL or separator of lines (U+2028, U+2029). */
export function oneLine(max: number) {
  return inOneLine(z.string().max(max));
}

/** The same for a name, of at least one character, without the blanks around it. */
export function lineOfName(max: number) {
  return inOneLine(z.string().trim().min(1).max(max));
}

function inOneLine(text: z.ZodString) {
  return text.refine((given) => !OTHER_LINE.test(given), 'must not hold control characters');
}

/** Whether the text has more than `max` characters (code points). */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}

/** Whether the text has more than `max` octets in UTF-8. */
export function exceedsOctets(text: string, max: number): boolean {
  if (text.length * 3 <= max) return false;
  return text.length > max || Buffer.byteLength(text) > max;
}
