/**
 * What changed between two runs of the doctor. Takes the checks before and after; returns one entry for each check that
 * appeared, disappeared, became better or worse, or whose record changed; the newest few are stored with the domain.
 */
import { type DomainCheck, type Severity, showable } from './check.ts';

export interface CheckChange {
  id: string;
  /** null: the check did not exist before. */
  from: Severity | null;
  /** null: the check no longer exists. */
  to: Severity | null;
  /** The current message; for a check that disappeared, its last one. */
  message: string;
  /** Epoch milliseconds. */
  at: number;
}

const KEPT = 20;

/** Changes of one run, in the order of the checks. The first run (`before` null) gives none. */
export function changesBetween(
  before: readonly DomainCheck[] | null,
  after: readonly DomainCheck[],
  at: number,
): CheckChange[] {
  if (before === null) return [];
  const old = new Map(before.map((check) => [check.id, check]));
  const changes: CheckChange[] = [];
  for (const check of after) {
    const was = old.get(check.id);
    old.delete(check.id);
    if (was === undefined || was.severity !== check.severity) {
      changes.push({
        id: check.id,
        from: was?.severity ?? null,
        to: check.severity,
        message: showable(check.message),
        at,
      });
    } else if (foundIn(was) !== foundIn(check)) {
      const message = showable(`The record reads otherwise now: ${check.record.found.join(' | ') || 'none'}`);
      changes.push({ id: check.id, from: was.severity, to: check.severity, message, at });
    }
  }
  for (const was of old.values()) {
    changes.push({ id: was.id, from: was.severity, to: null, message: showable(was.message), at });
  }
  return changes;
}

/** Name servers return records in any order. */
function foundIn({ record }: DomainCheck): string {
  return [...record.found].sort().join('\n');
}

/** The newest changes first, up to the maximum that is stored. `stored`: JSON text made by this function, or null. */
export function keepChanges(stored: string | null, fresh: readonly CheckChange[]): readonly CheckChange[] {
  return [...fresh, ...readChanges(stored)].slice(0, KEPT);
}

/** The changes in JSON text made by `keepChanges`. */
export function readChanges(stored: string | null): readonly CheckChange[] {
  return stored === null ? [] : (JSON.parse(stored) as CheckChange[]);
}
