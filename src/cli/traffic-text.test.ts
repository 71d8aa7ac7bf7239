import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { DomainCheck } from '../client/api-types.ts';
import { checkLines } from './check-text.ts';
import { holdsText, stateWord } from './traffic-text.ts';

it.each([
  ['closed', 'none', 'goes'],
  ['closed', 'suspended', 'blocked'],
  ['closed', 'no-node', 'blocked'],
  ['open', 'breaker', 'blocked'],
  ['half-open', 'breaker', 'probing'],
] as const)('shows the state %s (%s) of a path as %s', (State, WaitsFor, word) => {
  expect(stateWord({ State, WaitsFor })).toBe(word);
});

it('says of a hold without an end that it waits for a person', () => {
  const hold = {
    HoldID: '019ab0c1-7d3e-7000-8000-000000000000',
    SenderDomain: 'example.com',
    RecipientDomain: null,
    Site: null,
    Priority: null,
    Reason: 'wrong price',
    Until: null,
    CreatedAt: '2026-11-21T13:00:00.000Z',
  };
  expect(holdsText([hold])).toContain('you release it');
  expect(holdsText([{ ...hold, Until: '2026-11-22T13:00:00.000Z' }])).not.toContain('release');
});

it('says a fix once that several checks share', () => {
  const check = (name: string, fix: string) =>
    ({ Name: name, Status: 'Unknown', Message: `No answer for ${name}.`, Fix: fix }) as DomainCheck;
  expect(
    checkLines(new PassThrough(), [check('a', 'Wait.'), check('b', 'Wait.'), check('c', 'Go.')]),
  ).toEqual([
    '?     a: No answer for a.',
    '         Wait.',
    '?     b: No answer for b.',
    '?     c: No answer for c.',
    '         Go.',
  ]);
});
