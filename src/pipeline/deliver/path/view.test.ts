/** The words for mail that finds no connection. */
import { expect, it } from 'vitest';
import { slotsText } from './view.ts';

it.each([
  [{ open: 20, hanging: 0, allowed: 20 }, 'all connections to a.test are in use (20)'],
  [
    { open: 21, hanging: 1, allowed: 20 },
    'all connections to a.test are in use (21; 1 has not answered for long)',
  ],
  [
    { open: 1, hanging: 1, allowed: 20 },
    'the open connections to a.test are in use (1 of 20; 1 has not answered for long)',
  ],
])('%o', (numbers, text) => {
  expect(slotsText('a.test', numbers)).toBe(text);
});
