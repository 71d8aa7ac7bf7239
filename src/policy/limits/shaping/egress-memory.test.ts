/** What is learned of far ends holds for its time and no longer, whatever the clock was when it was learned. */
import { describe, expect, it } from 'vitest';
import { createEgressFacts } from '../../../../test/fakes/egress-facts.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { readText } from './egress-memory.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

describe('a fact about a far end', () => {
  it('that was learned while the clock was ahead ends at its time from now, also over restarts', async () => {
    const ahead = createVirtualClock(YEAR_MS);
    const clock = createVirtualClock(0);
    const facts = createEgressFacts(ahead);
    const before = facts.fresh();
    before.facts('kind', readText, DAY_MS).set('host', 'as it was', ahead.now() + DAY_MS);
    await before.flush();
    const mended = createEgressFacts(clock, facts.stored);
    const memory = await mended.open();
    expect(memory.facts('kind', readText, DAY_MS).get('host')).toBe('as it was');
    await memory.flush();
    await clock.advance(DAY_MS - 1);
    const again = (await mended.open()).facts('kind', readText, DAY_MS);
    expect(again.get('host')).toBe('as it was');
    await clock.advance(1);
    expect(again.get('host')).toBeNull();
  });
});
