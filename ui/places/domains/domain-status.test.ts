import { describe, expect, it } from 'vitest';
import type { Domain } from '../../../src/client/api-types.ts';
import { checkName, foundOf, worstFirst } from './domain-status.ts';

describe('the name of a check', () => {
  it.each([
    ['dkim2', 'DKIM'],
    ['spf-from', 'SPF of the From domain'],
    ['port25', 'Port 25'],
    ['ptr 192.0.2.10', 'Reverse DNS 192.0.2.10'],
    ['clock', 'Clock'],
  ])('%s is shown as %s', (name, words) => {
    expect(checkName(name)).toBe(words);
  });
});

describe('foundOf', () => {
  it('says of a record that is not there that it is missing, whatever that means for the mail', () => {
    const record = { Status: 'Unknown' } as const;
    expect(foundOf(record, null)).toEqual({ status: 'Unknown' });
    expect(foundOf(record, { Status: 'Ok', Found: [] })).toEqual({ status: 'Ok' });
    expect(foundOf(record, { Status: 'Unknown', Found: [] })).toEqual({ status: 'Unknown' });
    expect(foundOf(record, { Status: 'Warning', Found: ['p='] })).toEqual({ status: 'Warning' });
    for (const Status of ['Warning', 'Failed'] as const)
      expect(foundOf(record, { Status, Found: [] })).toEqual({ status: Status, words: 'Missing' });
  });
});

it('shows first what may not send, then what something is wrong with, each by name', () => {
  const domain = (name: string, Status: Domain['Status'], check: 'Ok' | 'Failed' = 'Ok') =>
    ({ Domain: name, Status, Checks: [{ Status: check, Message: '' }], Returns: null }) as unknown as Domain;
  const given = [
    domain('a', 'Verified'),
    domain('b', 'Pending'),
    domain('c', 'Verified', 'Failed'),
    domain('d', 'Failing', 'Failed'),
    domain('a10', 'Verified'),
    domain('a9', 'Verified'),
  ];
  expect(given.sort(worstFirst).map(({ Domain: name }) => name)).toEqual(['b', 'd', 'c', 'a', 'a9', 'a10']);
});
