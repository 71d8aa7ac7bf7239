import { describe, expect, it } from 'vitest';
import type { FirstFacts } from '../../api/overview.ts';
import { firstSteps } from './first-steps.ts';

const FACTS: FirstFacts = {
  me: { Mode: 'serve', Command: null, Scopes: ['admin'], Operations: [] },
  ...{ route: 'mx', domains: null, hasToken: null, accepted: null, delivered: null },
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
  ] as const)('tick a server that sends: %s by the route %s', (Mode, route, done) => {
    expect(sends({ me: { ...FACTS.me, Mode }, route })).toBe(done);
  });

  it.each([
    ['mx', true],
    ['sandbox', false],
  ])('tick a delivered mail, and none that was captured: by the route %s', (route, done) => {
    expect(firstSteps({ ...FACTS, route, delivered: 1 }).at(-1)?.done).toBe(done);
  });

  it('name the program as it is called where the server was started', () => {
    const commands = (Command: string | null) =>
      firstSteps({ ...FACTS, me: { ...FACTS.me, Command }, domains: [] }).map(({ command }) => command);
    expect(commands('./bin/postrider --data /srv/mail')).toContain(
      './bin/postrider --data /srv/mail domain add example.com',
    );
    expect(commands(null)).toEqual(
      expect.arrayContaining(['postrider setup example.com', 'postrider domain add example.com']),
    );
  });

  it('leave out what the caller may not know', () => {
    expect(firstSteps(FACTS).map(({ name }) => name)).toEqual(['A server that sends']);
  });

  it('leave out what others have to do, and their commands', () => {
    const me = { ...FACTS.me, Scopes: ['tokens:write'] };
    const steps = firstSteps({ ...FACTS, me, route: 'sandbox', domains: [], hasToken: false });
    expect(steps.map(({ link, command }) => [link?.to, command])).toEqual([['/access', undefined]]);
  });
});
