/** How many files and connections this process may have open at once; Infinity where the system does not say (not Linux). */
import { readFileSync } from 'node:fs';

export function openFileLimit(): number {
  try {
    return readOpenFileLimit(readFileSync('/proc/self/limits', 'latin1'));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** From the text of `/proc/<pid>/limits` (proc(5)): the limit that applies, which is the first number of its line. */
export function readOpenFileLimit(text: string): number {
  const [, limit] = /^Max open files +(\d{1,15})\b/m.exec(text) ?? [];
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
}
