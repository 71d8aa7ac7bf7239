/**
 * Prints checks on a terminal: a line with a mark for each, its fix below, and what changed since an earlier check.
 */
import type { DomainChange, DomainCheck } from '../client/api-types.ts';
import { printable, type Screen, styled, wrapped } from './terminal.ts';

const MARKS = { Ok: 'ok', Unknown: '?', Warning: 'warn', Failed: 'FAIL' } as const;
const STYLES = { Ok: 'green', Unknown: 'cyan', Warning: 'yellow', Failed: 'red' } as const;
const CHANGES_SHOWN = 5;

/** Lines of a table: mark, name, sentence; below it the fix, unless it stands above already. */
export function checkLines(screen: Screen, checks: readonly DomainCheck[]): string[] {
  const width = Math.max(0, ...checks.map(({ Name }) => Name.length)) + 1;
  return checks.flatMap((check, place) => {
    const mark = styled(screen, STYLES[check.Status], MARKS[check.Status].padEnd(4));
    const indent = 6 + width + 1;
    const first = `${mark}  ${`${printable(check.Name)}:`.padEnd(width)} ${wrapped(screen, indent, printable(check.Message))}`;
    if (check.Fix === '' || checks.findIndex(({ Fix }) => Fix === check.Fix) < place) return [first];
    return [first, `${' '.repeat(indent)}${wrapped(screen, indent, printable(check.Fix))}`];
  });
}

/** Recent changes, newest first; no lines if there are none. */
export function changeLines(changes: readonly DomainChange[]): string[] {
  if (changes.length === 0) return [];
  const lines = changes.slice(0, CHANGES_SHOWN).map(({ At, Name, From, To, Message }) => {
    const when = At.slice(0, 16).replace('T', ' ');
    const from = From === null ? 'new' : MARKS[From];
    const to = To === null ? 'gone' : MARKS[To];
    return `  ${when}  ${printable(Name)}: ${from === to ? to : `${from} → ${to}`}: ${printable(Message)}`;
  });
  return ['', 'What changed:', ...lines];
}
