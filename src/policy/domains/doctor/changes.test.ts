import { describe, expect, it } from 'vitest';
import { changesBetween, keepChanges } from './changes.ts';
import { type DomainCheck, openCheck, type Severity } from './check.ts';

const check = (id: string, severity: Severity, ...found: string[]): DomainCheck => {
  const made = openCheck(id, 'TXT', `${id}.example`, { found });
  if (severity !== 'ok') made[severity](`${id} is ${severity}.`, 'Mend it.');
  return made.done(`${id} is fine.`);
};

describe('changesBetween', () => {
  it('says nothing of a first run, nor of one that found the same in another order', () => {
    expect(changesBetween(null, [check('a', 'fail')], 5)).toEqual([]);
    expect(changesBetween([check('a', 'ok', 'x', 'y')], [check('a', 'ok', 'y', 'x')], 5)).toEqual([]);
  });

  it('tells what came, went, became worse or reads otherwise', () => {
    const before = [check('a', 'ok'), check('b', 'ok', 'x'), check('c', 'warn')];
    const after = [check('a', 'fail'), check('b', 'ok', 'y'), check('d', 'ok')];
    expect(changesBetween(before, after, 5)).toEqual([
      { id: 'a', from: 'ok', to: 'fail', message: 'a is fail.', at: 5 },
      { id: 'b', from: 'ok', to: 'ok', message: 'The record reads otherwise now: y', at: 5 },
      { id: 'd', from: null, to: 'ok', message: 'd is fine.', at: 5 },
      { id: 'c', from: 'warn', to: null, message: 'c is warn.', at: 5 },
    ]);
  });

  it('keeps the newest twenty', () => {
    let kept = '[]';
    for (let at = 1; at <= 30; at++) {
      const fresh = changesBetween([check('a', 'ok')], [check('a', at % 2 ? 'fail' : 'warn')], at);
      kept = JSON.stringify(keepChanges(kept, fresh));
    }
    const times = (JSON.parse(kept) as { at: number }[]).map(({ at }) => at);
    expect(times).toEqual(Array.from({ length: 20 }, (_, i) => 30 - i));
  });
});
