import { expect, it } from 'vitest';
import { holdsText, stateWord } from './traffic-text.ts';

it.each([
  ['closed', 'goes'],
  ['open', 'blocked'],
  ['half-open', 'probing'],
] as const)('shows the state %s of a path as %s', (State, word) => {
  expect(stateWord({ State })).toBe(word);
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
