import { describe, expect, it } from 'vitest';
import { checkName } from './domain-status.ts';

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
