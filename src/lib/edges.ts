/**
 * Counts characters at the start and end of a text by a loop. A regular expression such as `[. ]+$` starts again at
 * every such character, and takes quadratic time if something else follows.
 */

/** How many characters at the end of `text` are among `chars`. */
export function countAtEnd(text: string, chars: string): number {
  let at = text.length;
  while (at > 0 && chars.includes(text[at - 1] ?? '')) at -= 1;
  return text.length - at;
}

/** How many characters at the start of `text` are among `chars`. */
export function countAtStart(text: string, chars: string): number {
  let at = 0;
  while (at < text.length && chars.includes(text[at] ?? '')) at += 1;
  return at;
}
