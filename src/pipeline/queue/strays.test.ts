/** What a node gives back of what it does not have, over a real store and a clock that stands still until a test moves it. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/log.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { soleLease } from '../../model/node.ts';
import { claim, commitOne, HOUR, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createStrays, type Holding } from './strays.ts';

const AFTER_MS = 60_000;

let store: Store;
let clock: VirtualClock;
let has: Holding;
let freed: number;
let asked: number[];
let stop: () => Promise<void>;

beforeEach(async () => {
  store = await openTestStore(systemClock);
  clock = createVirtualClock(T0);
  [has, freed, asked] = [{ ids: [], sinceMs: null }, 0, []];
  const node = soleLease(await store.beginEpoch({ nodeId: 'test', now: T0 }));
  const nothing = { holding: (): Holding => ({ ids: [], sinceMs: null }) };
  const count = (): void => {
    freed += 1;
  };
  const watched: Pick<Store, 'strays'> = {
    strays(params) {
      asked.push(params.olderThan);
      return store.strays(params);
    },
  };
  const strays = createStrays(
    { store: watched, node, clock, log: silentLogger, freed: count },
    { deliveries: { holding: () => has }, calls: nothing },
    AFTER_MS,
  );
  await strays.start();
  stop = () => strays.stop(0);
});
afterEach(async () => {
  await stop();
  await store.close();
});

const leased = () =>
  commitOne(store, { recipients: [recipient({ state: 'sending' })], expiresAt: T0 + 24 * HOUR });
const claimable = async (queueId: number) => (await claim(store, queueId, { now: clock.now() })).length;

it('frees what nobody has for a minute, not what it has, nor anything sooner', async () => {
  const lost = await leased();
  const held = await leased();
  has = { ids: [held.id], sinceMs: null };
  await clock.advance(AFTER_MS);
  expect(freed).toBe(0);
  await clock.advance(AFTER_MS / 2);
  expect(freed).toBe(1);
  expect(await claim(store, lost.queueId, { now: clock.now() })).toMatchObject([
    { id: lost.id, mayBeDuplicate: true },
  ]);
});

it('frees nothing that a claim or commit which is under way may have leased', async () => {
  const { queueId } = await leased();
  has = { ids: [], sinceMs: clock.monotonicMs() };
  await clock.advance(5 * AFTER_MS);
  expect([freed, await claimable(queueId)]).toEqual([0, 0]);
  has = { ids: [], sinceMs: null };
  await clock.advance(AFTER_MS);
  expect([freed, await claimable(queueId)]).toEqual([1, 1]);
});

it('asks by whole milliseconds, however long something is under way', async () => {
  has = { ids: [], sinceMs: clock.monotonicMs() - 0.35 };
  await clock.advance(AFTER_MS);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((at) => !Number.isInteger(at))).toEqual([]);
});
