import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { soleLease } from '../../model/node.ts';
import {
  commit,
  delivered,
  event,
  everyEvent,
  message,
  recipient,
  T0,
} from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import { createGuardRails, type GuardRails } from './guard-rails.ts';

import { createHolds, type Holds } from './holds.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
let clock: VirtualClock;
let store: Store;
let holds: Holds;
let guard: GuardRails;

function makeGuard(): GuardRails {
  return createGuardRails({
    store,
    holds,
    node: soleLease(1),
    clock,
    random: createSystemRandom(),
    log: quiet,
    eventsStored() {},
  });
}

beforeEach(async () => {
  clock = createVirtualClock(T0);
  store = await openTestStore(clock);
  holds = createHolds({ store, clock, random: createSystemRandom() });
  guard = makeGuard();
  // Nothing is news at the first look.
  await guard.look();
});

afterEach(async () => {
  await store.close();
});

/** So many recipients come to an end, each a millisecond after the one before. */
async function fare(state: 'delivered' | 'bounced', count: number, sandbox = false): Promise<number[]> {
  const ids: number[] = [];
  for (let left = count; left > 0; left -= 50) {
    const some = Array.from({ length: Math.min(50, left) }, (_, i) =>
      recipient({
        address: `r${left - i}.${clock.now()}@example.net`,
        state: 'sending',
        events: [],
        sandbox: sandbox ? 'deliver' : null,
      }),
    );
    const [made] = await commit(store, [message({ recipients: some })]);
    const deliveries = made?.deliveries ?? [];
    await store.settle({
      now: clock.now(),
      settlements: deliveries.map(({ id }) => {
        clock.jumpWallTo(clock.now() + 1);
        return delivered(id, 1, { state, events: [event(state, clock.now())] });
      }),
    });
    ids.push(...deliveries.map(({ id }) => id));
  }
  return ids;
}

const complain = async (ids: readonly number[]) => {
  for (const deliveryId of ids) {
    const fact = {
      kind: 'complaint',
      deliveryId,
      event: event('complained', clock.now()),
      suppress: null,
    } as const;
    await store.recordReturn({ fact, now: clock.now() });
  }
};
const told = async () =>
  (
    await store.findEvents(everyEvent({ kinds: ['domain.warned', 'domain.held', 'domain.released'] }))
  ).events.map(({ kind }) => kind);

describe('guard-rails', () => {
  it('say nothing at 5 %, warn above, and hold the bulk lane above 10 %', async () => {
    await fare('delivered', 900);
    await fare('bounced', 50);
    await guard.look();
    expect(guard.standing('example.com')).toEqual({
      level: 'ok',
      reason: '',
      outcomes: 950,
      bounced: 50,
      complained: 0,
    });
    await fare('bounced', 1);
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'warn', bounced: 51 });
    expect(holds.list()).toEqual([]);
    expect(await told()).toEqual(['domain.warned']);
    await guard.look();
    expect(await told()).toEqual(['domain.warned']);
    await fare('bounced', 50);
    await guard.look();
    expect(await told()).toEqual(['domain.warned', 'domain.held']);
    expect(guard.levels()).toEqual(['hold']);
    const about = { senderDomain: 'example.com', recipientDomain: 'example.net' };
    expect(holds.heldBy({ ...about, lane: 'bulk' })?.reason).toContain('101 bounced (at most 100)');
    expect(holds.heldBy({ ...about, lane: 'normal' })).toBeNull();
    expect(holds.heldBy({ ...about, senderDomain: 'example.org', lane: 'bulk' })).toBeNull();
  });

  it('release by themselves when the last thousand are good again', async () => {
    await fare('bounced', 101);
    await guard.look();
    expect(holds.list()).toHaveLength(1);
    await fare('delivered', 940);
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'warn', bounced: 60 });
    expect(holds.list()).toHaveLength(1);
    await fare('delivered', 20);
    await guard.look();
    expect(holds.list()).toEqual([]);
    expect(await told()).toEqual(['domain.held', 'domain.released']);
  });

  it('count complaints: four warn, six hold, and those taken back do not count', async () => {
    const ids = await fare('delivered', 1000);
    await complain(ids.slice(0, 3));
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'ok', complained: 3 });
    await complain(ids.slice(3, 4));
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'warn' });
    await complain(ids.slice(4, 6));
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'hold', complained: 6 });
    for (const deliveryId of ids.slice(0, 3)) {
      const fact = {
        kind: 'not-spam',
        deliveryId,
        event: event('complaint_withdrawn', clock.now()),
      } as const;
      await store.recordReturn({ fact, now: clock.now() });
    }
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'ok', complained: 3 });
    expect(holds.list()).toEqual([]);
  });

  it('are not moved by the sandbox', async () => {
    await fare('bounced', 200, true);
    await guard.look();
    expect(guard.standing('example.com')).toMatchObject({ level: 'ok', outcomes: 0 });
  });

  it('believe whoever releases by hand for a day', async () => {
    await fare('bounced', 150);
    await guard.look();
    await holds.release(holds.list().map(({ id }) => id));
    await guard.look();
    await fare('bounced', 1);
    await guard.look();
    expect(holds.list()).toEqual([]);
    await clock.advance(24 * 3_600_000);
    await guard.look();
    expect(holds.list()).toHaveLength(1);
  });

  it('know their hold after a restart, and neither repeat nor forget it', async () => {
    await fare('bounced', 150);
    await guard.look();
    guard = makeGuard();
    await guard.look();
    expect(holds.list()).toHaveLength(1);
    expect(await told()).toEqual(['domain.held']);
    await fare('delivered', 1000);
    await guard.look();
    expect(holds.list()).toEqual([]);
  });

  it('tell of a hold later where its event could not be stored, once', async () => {
    let isFull = true;
    const { appendEvents } = store;
    store.appendEvents = (params) =>
      isFull ? Promise.reject(new StoreUnavailable('full')) : appendEvents(params);
    await fare('delivered', 800);
    await fare('bounced', 200);
    await expect(guard.look()).rejects.toThrow('full');
    expect(holds.list()).toHaveLength(1);
    isFull = false;
    for (let n = 0; n < 3; n++) await guard.look();
    const { events } = await store.findEvents(everyEvent({ kinds: ['domain.held'] }));
    expect(events).toHaveLength(1);
  });

  it('show a hold once that is read from the store before its own answer has come', async () => {
    const { addHold } = store;
    store.addHold = async (params) => {
      const isStored = await addHold(params);
      await holds.load();
      return isStored;
    };
    const match = { senderDomain: 'example.com', recipientDomain: null, site: null, lane: null };
    await holds.add({ ...match, reason: 'a test', until: null, createdBy: 'ann' });
    expect(holds.list()).toHaveLength(1);
  });

  it('look once a minute while they run', async () => {
    await guard.start();
    await fare('bounced', 150);
    await clock.advance(60_000);
    await guard.stop(0);
    expect(holds.list()).toHaveLength(1);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('take over what another node has held and released meanwhile', async () => {
    const settled = async (one: GuardRails) => {
      await one.start();
      await one.stop(0);
    };
    const ours = () => holds.list().filter(({ senderDomain }) => senderDomain === 'example.com');
    await fare('bounced', 101);
    await settled(guard);
    expect(ours()).toHaveLength(1);
    const other = makeGuard();
    await fare('delivered', 1_000);
    await settled(other);
    expect(ours()).toEqual([]);
    await fare('bounced', 101);
    await settled(guard);
    expect(ours()).toHaveLength(1);
    await fare('delivered', 1_000);
    await settled(other);
    await fare('bounced', 101);
    await settled(other);
    await fare('delivered', 1_000);
    await settled(guard);
    expect(ours()).toEqual([]);
  });
});
