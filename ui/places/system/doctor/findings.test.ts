import { expect, it } from 'vitest';
import type { DomainCheck } from '../../../../src/client/api-types.ts';
import { sumText, worstFirst, worstOf } from './findings.ts';

const check = (Name: string, Status: DomainCheck['Status']): DomainCheck => ({
  ...{
    Name,
    Status,
    Type: 'TXT',
    Host: '',
    Expected: '',
    Found: [],
    Message: '',
    Fix: '',
    BlocksSending: false,
  },
});
const CHECKS = [
  check('a', 'Ok'),
  check('b', 'Failed'),
  check('c', 'Warning'),
  check('d', 'Failed'),
  check('e', 'Unknown'),
];

it('reads the worst first, and the others in their order', () => {
  expect(worstFirst(CHECKS).map(({ Name }) => Name)).toEqual(['b', 'd', 'c', 'e', 'a']);
  expect(worstOf(CHECKS)).toBeGreaterThan(worstOf([check('a', 'Warning')]));
  expect(worstOf([])).toBe(0);
});

it('sums them up', () => {
  expect(sumText(CHECKS)).toBe('2 failed, 1 warning, 1 unknown, 1 ok');
  expect(sumText([])).toBe('not checked yet');
});
