/** Checks in the order in which they are read: the worst first; and their sum in a sentence. Pure. */

import type { DomainCheck } from '../../../../src/client/api-types.ts';
import { countOf } from '../../../components/count.ts';

const RANK = { Failed: 0, Warning: 1, Unknown: 2, Ok: 3 } as const;

export function worstFirst(checks: readonly DomainCheck[]): readonly DomainCheck[] {
  return checks.toSorted((a, b) => RANK[a.Status] - RANK[b.Status]);
}

/** `1 failed, 2 warnings, 9 ok`. */
export function sumText(checks: readonly DomainCheck[]): string {
  const count = (status: DomainCheck['Status']) => checks.filter(({ Status }) => Status === status).length;
  const [failed, warnings, unknown, ok] = [count('Failed'), count('Warning'), count('Unknown'), count('Ok')];
  if (checks.length === 0) return 'not checked yet';
  return [
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(warnings === 0 ? [] : [countOf(warnings, 'warning')]),
    ...(unknown === 0 ? [] : [`${unknown} unknown`]),
    ...(ok === 0 ? [] : [`${ok} ok`]),
  ].join(', ');
}

/** How bad the worst is; the higher the sooner it is read. */
export function worstOf(checks: readonly DomainCheck[]): number {
  return Math.max(0, ...checks.map(({ Status }) => 3 - RANK[Status]));
}
