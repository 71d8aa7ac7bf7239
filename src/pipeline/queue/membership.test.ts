/** Nodes on one store, on a virtual clock: when a node counts as dead, what only one node may do, and what a pause does. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { type LogFields, silentLogger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { commit, message, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { LeaseState } from './leases.ts';
import { type Membership, NODE_TIMES, openMembership } from './membership.ts';
import { createSingletonJob } from './singleton-job.ts';

const STEP_MS = 250;

let store: Store;
let clock: VirtualClock;
let nodes: Node[];

beforeEach(async () => {
  clock = createVirtualClock(T0);
  store = await openTestStore(clock);
  nodes = [];
});

afterEach(async () => {
  for (const node of nodes) node.die();
  await store.close();
});

interface Node {
  membership: Membership;
  /** Every change of the lease `x`, with its grace. */
  changes: [LeaseState, number | null][];
  newEpochs: number;
  reclaimed: number;
  refreshed: number;
  state(): LeaseState;
  /** No operation of it reaches the store from now on. */
  cut(is: boolean): void;
  /** The store does not get round to anything but its beats. */
  keepWaiting(is: boolean): void;
  /** Its database has this time from now on; null: that of all. */
  databaseTime(now: number | null): void;
  /** Another server has taken over its database. */
  takeOver(): void;
  /** So many times from now on it is not told that its epoch has begun. */
  loseBegun(times: number): void;
  /** How far its clock was told to go, and whether at once. */
  followed: [number, boolean | undefined][];
  /** Its lines of level warn. */
  warned: [LogFields, string][];
  /** Nothing it planned happens while it is paused; then it happens late, at once. */
  pause(is: boolean): void;
  die(): void;
}

async function start(nodeId: string, wants = true): Promise<Node> {
  let databaseNow: number | null = null;
  let lastOver = 0;
  let failing = 0;
  const followed: Node['followed'] = [];
  let isCut = false;
  let isDead = false;
  let isKeptWaiting = false;
  let isPaused = false;
  let late: (() => void)[] = [];
  const own: Clock = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer(delayMs, fire) {
      let canceled = false;
      clock.setTimer(delayMs, () => {
        if (canceled || isDead) return;
        if (isPaused) late.push(() => canceled || fire());
        else fire();
      });
      return {
        cancel() {
          canceled = true;
        },
      };
    },
  };
  const seen = new Proxy(store, {
    get(target, name) {
      if (isDead) return () => new Promise(() => {});
      if (isCut) return () => Promise.reject(new StoreUnavailable('cut off'));
      if (name === 'heartbeat') {
        return async (params: Parameters<Store['heartbeat']>[0]) => {
          if (params.epoch <= lastOver) return { kind: 'taken-over' };
          const answer = await store.heartbeat(params);
          return answer.kind === 'alive' ? { ...answer, now: databaseNow ?? answer.now } : answer;
        };
      }
      if (name === 'beginEpoch' && failing > 0) {
        failing -= 1;
        return async (params: Parameters<Store['beginEpoch']>[0]) => {
          await store.beginEpoch(params);
          throw new StoreUnavailable('the answer was lost');
        };
      }
      if (isKeptWaiting) return () => new Promise(() => {});
      return Reflect.get(target, name);
    },
  });
  const follow = (...given: [number, boolean?]): number => {
    followed.push([given[0], given[1]]);
    return given[0];
  };
  const warned: Node['warned'] = [];
  const log = {
    ...silentLogger,
    warn: (fields: LogFields, text: string) => void warned.push([fields, text]),
  };
  const about = { host: `host-${nodeId}`, pid: 1, version: '1.2.3', roles: [], sources: [], settings: {} };
  const membership = await openMembership(
    { store: seen, clock: own, random: createSystemRandom(), log, follow },
    { nodeId, about, sharedSources: new Set() },
  );
  const changes: [LeaseState, number | null][] = [];
  const counts = { newEpochs: 0, reclaimed: 0, refreshed: 0 };
  membership.onNewEpoch(() => {
    counts.newEpochs += 1;
  });
  membership.onReclaimed(() => {
    counts.reclaimed += 1;
  });
  membership.onRefresh(async () => {
    counts.refreshed += 1;
  });
  const lease = wants ? membership.want('x', { changed: (...change) => void changes.push(change) }) : null;
  await membership.start();
  const node: Node = {
    membership,
    changes,
    get newEpochs() {
      return counts.newEpochs;
    },
    get reclaimed() {
      return counts.reclaimed;
    },
    get refreshed() {
      return counts.refreshed;
    },
    followed,
    warned,
    databaseTime(now) {
      databaseNow = now;
    },
    takeOver() {
      lastOver = membership.epoch;
    },
    loseBegun(times) {
      failing = times;
    },
    state: () => lease?.state() ?? 'asking',
    cut(is) {
      isCut = is;
    },
    keepWaiting(is) {
      isKeptWaiting = is;
    },
    pause(is) {
      isPaused = is;
      const happening = late;
      late = [];
      for (const fire of happening) fire();
    },
    die() {
      isDead = true;
    },
  };
  nodes.push(node);
  await turn();
  return node;
}

/** Lets everything that waits for a reply of the store go on. */
async function turn(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time pass; stops early where `until` holds, and says how much has passed. */
async function pass(ms: number, until: () => boolean = () => false): Promise<number> {
  let passed = 0;
  while (passed < ms && !until()) {
    await clock.advance(STEP_MS);
    passed += STEP_MS;
    await turn();
  }
  return passed;
}

describe('leases of several nodes', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

  /** Wants all of them; what runs under each ends when the test says so. */
  function wantAll({ membership }: Node, cleared: (name: string) => Promise<void> = () => Promise.resolve()) {
    const leases = names.map((name) => membership.want(name, { changed() {}, cleared: () => cleared(name) }));
    return () => names.filter((_, i) => leases[i]?.state() === 'held');
  }

  it('are shared out: each has as many as the others, or one more, and none twice on the way', async () => {
    const one = await start('a', false);
    const mine = wantAll(one);
    await pass(10_000);
    expect(mine()).toEqual(names);
    const [two, three] = [await start('b', false), await start('c', false)];
    const others = [wantAll(two), wantAll(three)];
    const held = () => [mine, ...others].flatMap((of) => of());
    let twice = false;
    await pass(60_000, () => {
      twice ||= new Set(held()).size < held().length;
      return false;
    });
    expect(twice).toBe(false);
    expect(held().toSorted()).toEqual(names);
    expect([mine, ...others].map((of) => of().length).toSorted()).toEqual([2, 2, 3]);
    const then = [mine, ...others].map((of) => of());
    await pass(60_000);
    expect([mine, ...others].map((of) => of())).toEqual(then);
  });

  it('stay where what runs under them does not end, and go on there', async () => {
    const one = await start('a', false);
    const mine = wantAll(one, (name) => (name === 'a' ? new Promise(() => {}) : Promise.resolve()));
    await pass(10_000);
    const theirs = wantAll(await start('b', false));
    await pass(60_000);
    expect(mine()).toContain('a');
    expect([mine().length, theirs().length].toSorted()).toEqual([3, 4]);
  });

  it('are not passed by a node that cannot say that it lives: what runs under them is ended', async () => {
    const one = await start('a', false);
    const ended: (number | null)[] = [];
    for (const name of names) {
      one.membership.want(name, {
        changed: (state, graceMs) => void (state !== 'held' && ended.push(graceMs)),
        cleared: () => new Promise(() => {}),
      });
    }
    await pass(10_000);
    wantAll(await start('b', false));
    await pass(60_000, () => ended.length > 0);
    expect(new Set(ended)).toEqual(new Set([null]));
    one.cut(true);
    await pass(12_000);
    expect(ended.filter((graceMs) => graceMs !== null).length).toBe(names.length);
  });
});

describe('a lease', () => {
  it('belongs to the first that wants it; the other knows that it is elsewhere', async () => {
    const [one, two] = [await start('a'), await start('b')];
    expect([one.state(), two.state()]).toEqual(['held', 'elsewhere']);
    await pass(60_000);
    expect([one.changes, two.changes]).toEqual([[['held', 0]], [['elsewhere', 0]]]);
  });

  it('goes over when its holder was killed: after its time, and within twenty seconds', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(61_300);
    one.die();
    const passed = await pass(60_000, () => two.state() === 'held');
    expect(passed).toBeGreaterThan(NODE_TIMES.leaseMs - NODE_TIMES.beatMs);
    expect(passed).toBeLessThan(20_000);
  });

  it('is taken back from a node that the log names, with the time of its last heartbeat', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(NODE_TIMES.beatMs * 3);
    const { epoch } = one.membership;
    const [before] = (await store.listNodes({ limit: 10 })).filter((row) => row.epoch === epoch);
    one.die();
    await pass(60_000, () => two.warned.length > 0);
    expect(two.warned).toEqual([
      [
        {
          ...{ epoch, host: 'host-a', pid: 1, nodeId: 'a' },
          heartbeatAt: new Date(before?.heartbeatAt ?? 0).toISOString(),
        },
        'a node has gone silent; what it held is taken back',
      ],
    ]);
  });

  it('goes over at once when its holder stops', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(60_000);
    await one.membership.stop(1_000);
    expect(await pass(60_000, () => two.state() === 'held')).toBeLessThanOrEqual(1_000);
  });

  it('is given up by a holder that cannot say that it lives, before another takes it', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(60_000);
    one.cut(true);
    let bothHeld = false;
    await pass(60_000, () => {
      bothHeld ||= one.state() === 'held' && two.state() === 'held';
      return two.state() === 'held';
    });
    expect(bothHeld).toBe(false);
    const [, [state, graceMs] = []] = one.changes;
    expect([state, graceMs]).toEqual(['asking', NODE_TIMES.leaseMs / 5]);
    // It lives all the same, and learns that the lease is the other's now.
    one.cut(false);
    await pass(5_000);
    expect([one.state(), two.state()]).toEqual(['elsewhere', 'held']);
    expect(one.newEpochs).toBe(0);
  });

  it('comes back to a holder that was out for a moment only', async () => {
    const one = await start('a');
    const { epoch } = one.membership;
    await pass(60_000);
    one.cut(true);
    await pass(12_000);
    expect(one.state()).toBe('asking');
    one.cut(false);
    await pass(2_000);
    expect(one.state()).toBe('held');
    expect(one.membership.epoch).toBe(epoch);
  });

  it('counts as held only after what its former holder knew was read', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await one.membership.stop(1_000);
    let readBefore = false;
    two.membership.onRefresh(async (got) => {
      if (got.includes('x')) readBefore = two.state() !== 'held';
    });
    await pass(5_000, () => two.state() === 'held');
    expect(two.state()).toBe('held');
    expect(readBefore).toBe(true);
  });

  it('is free for others once nobody here wants it', async () => {
    const one = await start('a', false);
    const lease = one.membership.want('x', { changed() {} });
    await turn();
    const two = await start('b');
    expect([lease.state(), two.state()]).toEqual(['held', 'elsewhere']);
    lease.end();
    await pass(2_000);
    expect(two.state()).toBe('held');
  });
});

describe('what a lease that nobody waits for becomes', () => {
  it('is given up with the next beat', async () => {
    const one = await start('a', false);
    const lease = one.membership.want('x', { changed() {} });
    // Before it is known who has it.
    lease.end();
    await turn();
    const two = await start('b');
    await pass(NODE_TIMES.beatMs + 1_000);
    expect(two.state()).toBe('held');
  });
});

describe('a node', () => {
  it.each([0, 2])(
    'begins anew, once, where another server has taken over its database, after %i failed tries',
    async (fails) => {
      const one = await start('a');
      const { epoch } = one.membership;
      await pass(60_000);
      expect(one.membership.epoch).toBe(epoch);
      one.loseBegun(fails);
      one.takeOver();
      await pass(60_000);
      expect(one.membership.epoch).toBeGreaterThan(epoch);
      expect([one.newEpochs, one.membership.newEpochs, one.state()]).toEqual([1, 1, 'held']);
    },
  );

  it('follows the clock of the database, at first at once, and says where it is a minute off', async () => {
    const one = await start('a');
    expect(one.followed).toEqual([[0, true]]);
    one.databaseTime(clock.now() - 61_000);
    await pass(NODE_TIMES.beatMs);
    const [difference = 0, atOnce] = one.followed.at(-1) ?? [];
    expect([difference < -60_000, atOnce]).toEqual([true, false]);
    expect(one.membership.trouble).toMatch(/differ by 6\d seconds .that of the database is behind./);
    one.databaseTime(null);
    await pass(NODE_TIMES.beatMs);
    expect(one.membership.trouble).toBeNull();
  });

  it('begins nothing once its beat was not stored for twelve seconds, and goes on when it is', async () => {
    const one = await start('a');
    const { epoch } = one.membership;
    await pass(60_000);
    expect(one.membership.valid).toBe(true);
    one.cut(true);
    const passed = await pass(60_000, () => !one.membership.valid);
    expect(passed).toBeLessThanOrEqual(NODE_TIMES.doubtMs);
    expect(passed).toBeGreaterThan(NODE_TIMES.doubtMs - NODE_TIMES.beatMs - STEP_MS);
    one.cut(false);
    await pass(1_500);
    expect(one.membership.valid).toBe(true);
    // Nobody took anything from it meanwhile.
    expect([one.membership.epoch, one.newEpochs]).toEqual([epoch, 0]);
  });

  it('lives, and keeps its leases, however long the store lets everything else wait', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(20_000);
    one.keepWaiting(true);
    await pass(120_000);
    expect([one.membership.valid, one.state(), two.state()]).toEqual([true, 'held', 'elsewhere']);
    expect([one.newEpochs, two.newEpochs]).toEqual([0, 0]);
  });

  it('takes back what one held that went silent, and not before its time', async () => {
    const [one, two] = [await start('a', false), await start('b', false)];
    await pass(20_000);
    const { epoch } = one.membership;
    await commit(store, [message({ recipients: [recipient({ state: 'sending' })] })], epoch);
    one.die();
    const passed = await pass(120_000, () => two.reclaimed > 0);
    expect(passed).toBeGreaterThan(NODE_TIMES.deadMs - NODE_TIMES.beatMs);
    expect(passed).toBeLessThanOrEqual(NODE_TIMES.deadMs + 2 * NODE_TIMES.beatMs);
    expect(await store.queueCounts({ now: clock.now() })).toMatchObject({ queued: 1, sending: 0 });
  });

  it('that was paused until others ended it begins a new epoch before it does anything else', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(60_000);
    const before = one.membership.epoch;
    one.pause(true);
    await pass(60_000);
    expect(two.state()).toBe('held');
    // What it looks at first, before any timer of its own: all its leases have lapsed.
    expect([one.membership.valid, one.state()]).toEqual([false, 'asking']);
    one.pause(false);
    expect(one.changes.at(-1)).toEqual(['asking', 0]);
    await pass(1_000);
    expect(one.newEpochs).toBe(1);
    expect(one.membership.epoch).toBeGreaterThan(before);
    expect([one.membership.valid, one.state()]).toEqual([true, 'elsewhere']);
  });

  it('says so if it has a copy of the data folder of another', async () => {
    const one = await start('a');
    await start('a');
    await pass(5_000);
    expect(one.warned.at(0)?.[1]).toMatch(
      /another process started as this node \(pid 1 at host-a\).*node-id/,
    );
  });

  it('whose epoch was ended gives up its leases at once, whatever the store is busy with', async () => {
    const one = await start('a');
    one.keepWaiting(true);
    await store.endEpoch({ epoch: one.membership.epoch, now: clock.now() });
    await pass(NODE_TIMES.beatMs);
    expect([one.membership.valid, one.state()]).toEqual([false, 'asking']);
  });

  it('that was not told that its epoch has begun does not take itself for another', async () => {
    const one = await start('a');
    one.loseBegun(1);
    await store.endEpoch({ epoch: one.membership.epoch, now: clock.now() });
    await pass(10_000);
    expect([one.newEpochs, one.membership.valid]).toEqual([1, true]);
    expect(one.warned.map(([, text]) => text)).toContain(
      'other nodes considered this one dead; it starts again',
    );
  });

  it('that was paused itself ends nobody who lives', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(60_000);
    two.pause(true);
    await pass(600_000, () => false);
    // Both wake up, and the one looks before the other could say that it lives.
    one.pause(true);
    await pass(60_000);
    two.pause(false);
    await turn();
    one.pause(false);
    await pass(20_000);
    expect(one.newEpochs).toBe(0);
    expect(one.state()).toBe('held');
  });

  it('does not care about a wall clock that jumps', async () => {
    const [one, two] = [await start('a'), await start('b')];
    await pass(60_000);
    for (const jumpMs of [3_600_000, -7_200_000]) {
      clock.jumpWallTo(clock.now() + jumpMs);
      await pass(60_000);
    }
    expect([one.state(), two.state()]).toEqual(['held', 'elsewhere']);
    expect([one.newEpochs, two.newEpochs]).toEqual([0, 0]);
    expect([one.membership.valid, two.membership.valid]).toEqual([true, true]);
  });
});

describe('a job', () => {
  it('is done by one node at a time, and goes over with its lease', async () => {
    const [one, two] = [await start('a', false), await start('b', false)];
    const doing: string[] = [];
    const jobOf = (node: Node, name: string) =>
      createSingletonJob({ membership: node.membership, clock, log: silentLogger }, 'upkeep', [
        {
          async start() {
            doing.push(`${name} starts`);
          },
          async stop() {
            doing.push(`${name} stops`);
          },
        },
      ]);
    const first = jobOf(one, 'one');
    await first.start();
    await turn();
    await jobOf(two, 'two').start();
    await pass(60_000);
    expect(doing).toEqual(['one starts']);
    one.cut(true);
    await pass(60_000);
    expect(doing).toEqual(['one starts', 'one stops', 'two starts']);
  });

  it('is tried again where it could not begin', async () => {
    const one = await start('a', false);
    let starts = 0;
    const job = createSingletonJob({ membership: one.membership, clock, log: silentLogger }, 'upkeep', [
      {
        async start() {
          starts += 1;
          if (starts < 3) throw new StoreUnavailable('not now');
        },
        async stop() {},
      },
    ]);
    await job.start();
    await pass(60_000);
    expect(starts).toBe(3);
    await job.stop(1_000);
  });
});
