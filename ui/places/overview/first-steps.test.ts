import { describe, expect, it } from 'vitest';
import type { FirstFacts } from '../../api/overview.ts';
import { firstSteps } from './first-steps.ts';

const FACTS: FirstFacts = {
  ...{ mode: 'serve', route: 'mx', domains: null, hasToken: null, accepted: null, delivered: null },
};
const sends = (facts: Partial<FirstFacts>) => firstSteps({ ...FACTS, ...facts })[0]?.done;

describe('the first steps', () => {
  it.each([
    ['serve', 'mx', true],
    ['serve', 'sandbox', false],
    ['dev', 'sandbox', false],
    ['dev', 'smtp://relay.example.com', true],
    // Who may not read the configuration knows the mode alone.
    ['serve', null, true],
    ['dev', null, false],
  ] as const)('tick a server that sends: %s by the route %s', (mode, route, done) => {
    expect(sends({ mode, route })).toBe(done);
  });

  it('leave out what the caller may not know', () => {
    expect(firstSteps(FACTS).map(({ name }) => name)).toEqual(['A server that sends']);
  });
});
