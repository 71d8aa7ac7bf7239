/** Finds the name that was probably meant, for error messages that suggest a correction. */

/** Longer words are compared by their first characters. */
const MAX_CHARS = 200;
/** Nobody types a longer name. */
const MAX_WORD = 64;

/** The entry of `known` with the fewest insertions, deletions and replacements from `word`; '' if none is close. */
export function closest(word: string, known: readonly string[]): string {
  let best = '';
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(word.slice(0, MAX_CHARS), candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

/** The entry of `known` that somebody meant who wrote `word`, in any case; '' = none is near. */
export function probablyMeant(word: string, known: readonly string[]): string {
  if (word.length > MAX_WORD) return '';
  const lower = word.toLowerCase();
  // A third of the letters may be wrong: beyond that it is another word. Most names are not even of such a length.
  const near = closest(
    lower,
    known.flatMap((one) => (Math.abs(one.length - word.length) * 3 > one.length ? [] : one.toLowerCase())),
  );
  if (near === '' || editDistance(lower, near) * 3 > near.length) return '';
  return known.find((one) => one.toLowerCase() === near) ?? '';
}

/** As a sentence's end: `; did you mean PlainContent?`, or nothing. */
export function didYouMean(meant: string): string {
  return meant === '' ? '' : `; did you mean ${meant}?`;
}

/** What to write in place of an unknown name, as a sentence's end: the name that was meant, else those that there are. */
export function meantOrKnown(word: string, known: readonly string[]): string {
  const meant = probablyMeant(word, known);
  if (meant !== '') return didYouMean(meant);
  return known.length === 0 ? '' : `; known: ${known.join(', ')}`;
}

/** The number of insertions, deletions and replacements between two short words. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
