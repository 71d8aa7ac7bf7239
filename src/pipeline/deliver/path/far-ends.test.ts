/** What is learned of how far ends treat connections, and which hosts of a site are avoided. */
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../lib/log.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createEgressMemory } from '../../../policy/limits/shaping/egress-memory.ts';
import type { StoredEgressFact } from '../../../store/topics/limits.ts';
import { createTriedHosts, untriedFirst } from '../routing/tried-hosts.ts';
import { createFarEnds } from './far-ends.ts';

const [A, B] = [
  { address: '192.0.2.1', port: 25 },
  { address: '192.0.2.2', port: 25 },
];
const DAY = 24 * 3_600_000;

function world(stored: StoredEgressFact[] = []) {
  const clock = createVirtualClock();
  const store = {
    async putEgressFacts({ facts }: { facts: readonly StoredEgressFact[] }) {
      stored.push(...facts);
    },
    listEgressFacts: async () => stored,
  };
  const egressMemory = createEgressMemory({ store, clock, log: silentLogger });
  return { clock, egressMemory, stored, farEnds: createFarEnds({ clock, egressMemory }) };
}

describe('a far end', () => {
  it('is trusted with more in flight by what it answered, and with half after a loss', () => {
    const farEnd = world().farEnds.of(A);
    expect(farEnd.trusted()).toBe(1);
    for (let n = 0; n < 8; n++) farEnd.answeredWhole();
    expect(farEnd.trusted()).toBe(2);
    for (let n = 0; n < 100; n++) farEnd.answeredWhole();
    expect(farEnd.trusted()).toBe(16);
    farEnd.lostInFlight();
    expect(farEnd.trusted()).toBe(8);
    for (let n = 0; n < 9; n++) farEnd.lostInFlight();
    expect(farEnd.trusted()).toBe(1);
  });

  it('that was out of step gets DATA for a day, also after a restart, and no other does', async () => {
    const first = world();
    first.farEnds.of(A).outOfStep();
    expect(first.farEnds.of(A).takesWhole).toBe(false);
    expect(first.farEnds.of(B).takesWhole).toBe(true);
    await first.egressMemory.flush();
    const again = world(first.stored);
    await again.egressMemory.load();
    expect(again.farEnds.of(A).takesWhole).toBe(false);
    await again.clock.advance(DAY + 1);
    expect(again.farEnds.of(A).takesWhole).toBe(true);
  });

  it('is as far away as its fastest reply of the last minutes says', async () => {
    const { clock, farEnds } = world();
    const farEnd = farEnds.of(A);
    expect(farEnd.roundTripMs()).toBe(Number.POSITIVE_INFINITY);
    for (const ms of [40, 20, 300]) farEnd.answeredWithin(ms);
    expect(farEnd.roundTripMs()).toBe(20);
    await clock.advance(11 * 60_000);
    farEnd.answeredWithin(100);
    expect(farEnd.roundTripMs()).toBe(100);
  });

  it('may take four times as long as usual, within a second and a minute', () => {
    const farEnd = world().farEnds.of(A);
    expect(farEnd.patienceMs()).toBe(15_000);
    farEnd.took(30);
    expect(farEnd.patienceMs()).toBe(1_000);
    for (let n = 0; n < 60; n++) farEnd.took(2_000);
    expect(farEnd.patienceMs()).toBeGreaterThan(7_000);
    expect(farEnd.patienceMs()).toBeLessThanOrEqual(8_000);
    for (let n = 0; n < 200; n++) farEnd.took(500_000);
    expect(farEnd.patienceMs()).toBe(60_000);
  });

  it('is not thought slow for one message that hung for minutes', () => {
    const farEnd = world().farEnds.of(A);
    for (let n = 0; n < 10; n++) farEnd.took(30);
    farEnd.took(540_000);
    expect(farEnd.patienceMs()).toBe(1_000);
  });

  it('allows so many messages when it has ended two connections after as many, one after the other', async () => {
    const { clock, farEnds } = world();
    const farEnd = farEnds.of(A);
    await clock.advance(1_000);
    expect(farEnd.endedAfter(3, 0)).toBeNull();
    // Those that were there at the same time, as where a server is restarted.
    expect(farEnd.endedAfter(3, 500)).toBeNull();
    await clock.advance(1_000);
    expect(farEnd.endedAfter(7, 1_500)).toBeNull();
    expect(farEnd.endedAfter(7, 2_000)).toBe(7);
    expect(farEnds.of(B).endedAfter(7, 2_000)).toBeNull();
  });

  it('that drops what follows a dot is known for a day, also over a restart', async () => {
    const { clock, farEnds, egressMemory, stored } = world();
    const farEnd = farEnds.of(A);
    expect(farEnd.takesBehind).toBe(true);
    farEnd.droppedBehind();
    expect([farEnd.takesBehind, farEnds.of(A).takesBehind, farEnds.of(B).takesBehind]).toEqual([
      false,
      false,
      true,
    ]);
    await egressMemory.flush();
    const next = world(stored);
    await next.egressMemory.load();
    expect(next.farEnds.of(A).takesBehind).toBe(false);
    await clock.advance(DAY + 1);
    expect(farEnds.of(A).takesBehind).toBe(true);
  });
});

describe('a host that loses messages', () => {
  it('comes last for ten minutes where there is another, whatever opens', async () => {
    const clock = createVirtualClock();
    const tried = createTriedHosts(clock);
    tried.offered([A, B]);
    expect(tried.avoid(A)).toBe(true);
    tried.clear();
    expect(untriedFirst([A, B], tried)).toEqual([B, A]);
    // Now nothing else is left.
    expect(tried.avoid(B)).toBe(false);
    await clock.advance(10 * 60_000 + 1);
    expect(untriedFirst([A, B], tried)).toEqual([A, B]);
  });

  it('is all there is where DNS names no other', () => {
    const tried = createTriedHosts(createVirtualClock());
    tried.offered([A]);
    expect(tried.avoid(A)).toBe(false);
  });
});
