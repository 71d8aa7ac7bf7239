/**
 * Collects what is wrong with a request while its fields are read, in documented field order.
 * Given problems one by one, it keeps a bounded number of them, so that a hostile body with a million mistakes
 * costs no more than a body with a few. Readers go on after a mistake: the caller sees all of them in one answer.
 */
import type { ErrorName, Problem } from '../../../lib/errors.ts';

/** How many problems one answer lists. */
export const MAX_PROBLEMS = 25;

/** Kept while reading: a little more than is shown, because late findings are put in order at the end. */
const MAX_KEPT = 100;

export interface ProblemList {
  readonly items: Problem[];
  /** `field` is a JSON Pointer in documented spelling; `message` replaces the registry's sentence. */
  add(name: ErrorName, field: string, message?: string): void;
  /** Nothing more is kept; loops over many items may stop. */
  isFull(): boolean;
}

/** An empty list. */
export function createProblemList(): ProblemList {
  const items: Problem[] = [];
  return {
    items,
    add(name, field, message) {
      if (items.length >= MAX_KEPT) return;
      items.push(message === undefined ? { name, field } : { name, field, message });
    },
    isFull: () => items.length >= MAX_KEPT,
  };
}

/** The first 25, ordered by the place of their first pointer segment in `fieldOrder`; unknown ones last. */
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
