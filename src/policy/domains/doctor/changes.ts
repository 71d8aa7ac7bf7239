/**
 * What changed between two runs of the doctor. Given the checks before and after, leaves one line for each that came,
 * went, became better or worse, or whose record reads otherwise now; the newest few are kept with the domain.
 */
import { type DomainCheck, type Severity, showable } from './check.ts';

export interface CheckChange {
  id: string;
  /** null: there was no such check before. */
  from: Severity | null;
  /** null: there is none any more. */
  to: Severity | null;
  /** What is said now; of one that went, what was said last. */
  message: string;
  /** Epoch milliseconds. */
  at: number;
}

const KEPT = 20;

/** Changes of one run, in the order of the checks. A first run changes nothing: `before` null. */
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

/** Name servers give records in any order. */
function foundIn({ record }: DomainCheck): string {
  return [...record.found].sort().join('\n');
}

/** The newest changes first, as many as are kept. `stored`: JSON text that this function made, or null. */
export function keepChanges(stored: string | null, fresh: readonly CheckChange[]): readonly CheckChange[] {
  return [...fresh, ...readChanges(stored)].slice(0, KEPT);
}

/** What `keepChanges` gave, from its JSON text. */
export function readChanges(stored: string | null): readonly CheckChange[] {
  return stored === null ? [] : (JSON.parse(stored) as CheckChange[]);
}
