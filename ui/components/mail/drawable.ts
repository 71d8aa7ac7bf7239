/** As much of a long text from outside as a browser draws soon. */
import { DIRECTIONS } from '../../api/call.ts';

/**
 * The first 256 KiB, and of the marks that stand above one letter the first 32, because the time that a browser takes for them
 * grows with their square (33,000 take five seconds).
 */
export const MOST_DRAWN = 256 * 1024;

const MARKS = /(\p{M}{32})\p{M}+/gu;

export function drawable(text: string): string {
  return text.slice(0, MOST_DRAWN).replace(MARKS, '$1…');
}

/** The source of a mail, where somebody looks for what its texts hide, with the names of what turns their direction in its place. */
export function drawableSource(source: string): string {
  return drawable(source).replace(DIRECTIONS, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase()}]`);
}
