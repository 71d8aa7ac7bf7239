/** Finds the name that was probably meant, for error messages that suggest a correction. */

/** Longer words are compared by their first characters. */
const MAX_CHARS = 200;

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
