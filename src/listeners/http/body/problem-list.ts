/**
 * Collects the problems of a request while its fields are read, in documented order. Keeps a limited number, so that a
 * hostile body with a million mistakes costs no more than one with a few. Readers continue after a mistake: one answer
 * reports all of them.
 */
import type { ErrorName, Problem } from '../../../lib/errors.ts';

export const MAX_PROBLEMS = 25;

/** Kept while reading: a few more than are shown, because later ones may sort first. */
const MAX_KEPT = 100;

export interface ProblemList {
  readonly items: Problem[];
  /** `field` is a JSON Pointer in documented spelling; `message` replaces the registry's sentence. */
  add(name: ErrorName, field: string, message?: string): void;
}

export function createProblemList(): ProblemList {
  const items: Problem[] = [];
  return {
    items,
    add(name, field, message) {
      if (items.length >= MAX_KEPT) return;
      items.push(message === undefined ? { name, field } : { name, field, message });
    },
  };
}

/** The first 25, sorted by the position of their first pointer segment in `fieldOrder`; unknown ones last. */
export function inFieldOrder(items: readonly Problem[], fieldOrder: readonly string[]): Problem[] {
  const rank = (problem: Problem) => {
    const name = problem.field?.split('/', 2)[1] ?? '';
    const index = fieldOrder.indexOf(name);
    return index < 0 ? fieldOrder.length : index;
  };
  return items
    .map((problem) => ({ problem, rank: rank(problem) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_PROBLEMS)
    .map((entry) => entry.problem);
}

/** One segment of a JSON Pointer (RFC 6901 §3), cut where a hostile key is long. */
export function pointerSegment(key: string): string {
  const short = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  return short.replaceAll('~', '~0').replaceAll('/', '~1').toWellFormed();
}
