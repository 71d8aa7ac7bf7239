/**
 * Conformance: epochs and heartbeats of nodes, who may end whom, leases, and reclaiming the rows of an ended epoch.
 * Time is only a parameter, and no promise depends on it: what counts is whether a heartbeat is still the one that was
 * seen.
 */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { NewMessage } from '../topics/acceptance.ts';
import type { NodeBeat } from '../topics/nodes.ts';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  HOUR,
  kindsOf,
  message,
  nextDueAt,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `beginEpoch`, `heartbeat`, `endEpoch`, `reclaim`, `strays`, `takeLeases`, `passLease`, `giveLeases`, `listNodes`. */
export function describeNodes({ store, reopen }: Suite): void {
  const begin = (nodeId: string, alone = false) => store.beginEpoch({ nodeId, now: T0, alone });
  const beat = (epoch: number) => store.heartbeat({ epoch, now: T0 });
  const alive = async (epoch: number) => {
    const answer = await beat(epoch);
    if (answer.kind !== 'alive') throw new Error('It is alive');
    return answer;
  };
  const end = (epoch: number, seen?: number) =>
    store.endEpoch({ epoch, now: T0, ...(seen === undefined ? {} : { beat: seen }) });
  const take = (epoch: number, names: readonly string[], quiet: readonly NodeBeat[] = []) =>
    store.takeLeases({ epoch, names, quiet, now: T0 });
  const sending = (more: Partial<NewMessage> = {}) =>
    message({ recipients: [recipient({ state: 'sending' })], ...more });

  describe('epochs of nodes', () => {
    it('gives every start a greater epoch, also after a restart', async () => {
      const first = await begin('a');
      const second = await begin('a');
      await reopen();
      const third = await begin('b', true);
      expect(first).toBeGreaterThan(0);
      expect(second).toBeGreaterThan(first);
      expect(third).toBeGreaterThan(second);
    });

    it('makes a number that no start gets again of time and chance, where that is greater', async () => {
      const start = (now: number, chance: number) => store.beginEpoch({ nodeId: 'a', now, chance });
      const first = await start(T0, 0);
      // The data have lost the first: one that begins a second later is greater all the same.
      expect(first).toBeGreaterThan(1e9);
      const second = await start(T0 + 1_000, 0);
      expect(second).toBeGreaterThan(first + 1_000);
      expect(await start(T0, 0.5)).toBe(second + 1);
      expect(await begin('a')).toBe(second + 2);
      expect((await start(T0 + 5_000, 0.5)) - (await start(T0 + 10_000, 0.75))).toBeLessThan(-5_000);
    });

    it('tells a node the time of the data', async () => {
      const epoch = await begin('a');
      const [first, second] = [await alive(epoch), await alive(epoch)];
      expect(second.now).toBeGreaterThanOrEqual(first.now);
    });

    it('ends what the same node was before, and leaves other nodes alone', async () => {
      const before = await begin('a');
      const other = await begin('b');
      const after = await begin('a');
      expect(await beat(before)).toEqual({ kind: 'ended' });
      expect(await beat(other)).toMatchObject({ kind: 'alive', others: [{ epoch: after }] });
    });

    it('ends every other node where the new one is alone with the store', async () => {
      const other = await begin('b');
      const alone = await begin('a', true);
      expect(await beat(other)).toEqual({ kind: 'ended' });
      expect(await beat(alone)).toMatchObject({ kind: 'alive', others: [] });
    });

    it('tells a living node of the others, how often they said that they live, and what they serve', async () => {
      const mine = await begin('a');
      const about = {
        host: 'h',
        pid: 7,
        version: '1.2.3',
        roles: ['deliver'],
        sources: ['s1'],
        settings: {},
      };
      const other = await store.beginEpoch({ nodeId: 'b', now: T0, about });
      const told = { epoch: other, nodeId: 'b', version: '1.2.3', sources: ['s1'] };
      expect(await beat(mine)).toMatchObject({ kind: 'alive', leases: [], others: [{ ...told, beat: 0 }] });
      await beat(other);
      await beat(other);
      expect(await beat(mine)).toMatchObject({ kind: 'alive', leases: [], others: [{ ...told, beat: 2 }] });
    });

    it('ends a node whose beat stood still, once, and not one that has said meanwhile that it lives', async () => {
      const slow = await begin('a');
      await begin('b');
      await beat(slow);
      expect(await end(slow, 0)).toBe(false);
      expect(await beat(slow)).toMatchObject({ kind: 'alive' });
      expect(await end(slow, 2)).toBe(true);
      expect(await beat(slow)).toEqual({ kind: 'ended' });
      expect(await end(slow, 2)).toBe(false);
    });

    it('shows living nodes before those that ended, with what they hold', async () => {
      const about = {
        ...{ host: 'h', pid: 7, version: '1.2.3', roles: ['deliver', 'http'], sources: ['s1'] },
        settings: { route: 'a', 'max-age': 'b' },
      };
      const ended = await begin('a');
      await end(ended);
      const living = await store.beginEpoch({ nodeId: 'b', now: T0, about });
      await store.heartbeat({ epoch: living, now: T0 + 5 });
      await take(living, ['y', 'x']);
      await commit(store, [sending()], living);
      const rows = await store.listNodes({ limit: 10 });
      expect(rows.map(({ epoch }) => epoch)).toEqual([living, ended]);
      expect(rows[0]).toEqual({
        ...about,
        ...{
          epoch: living,
          nodeId: 'b',
          startedAt: T0,
          heartbeatAt: T0 + 5,
          endedAt: null,
          beat: 1,
          lost: false,
        },
        schemaNumber: expect.toSatisfy((number) => number >= 210),
        ...{ sending: 1, leases: ['x', 'y'] },
      });
      expect(rows[1]).toMatchObject({ endedAt: T0, sending: 0, leases: [] });
      expect(await store.listNodes({ limit: 1 })).toHaveLength(1);
    });

    it('tells a node that stopped from one that others, its next run or a node that is alone ended', async () => {
      const lostOf = async (epoch: number) =>
        (await store.listNodes({ limit: 10 })).find((node) => node.epoch === epoch)?.lost;
      const [stopped, silent, killed, other] = [
        await begin('a'),
        await begin('b'),
        await begin('c'),
        await begin('d'),
      ];
      await end(stopped);
      await end(silent, 0);
      await begin('c');
      await begin('e', true);
      expect(await Promise.all([stopped, silent, killed, other].map(lostOf))).toEqual([
        false,
        true,
        true,
        true,
      ]);
    });
  });

  describe('an epoch that has ended', () => {
    it('claims nothing more, neither recipients nor calls', async () => {
      await createWebhook(store);
      const { queueId } = await commitOne(store);
      const epoch = await begin('a');
      await end(epoch);
      expect(await claim(store, queueId, { epoch })).toEqual([]);
      expect(await store.claimExpired({ epoch, now: T0 + 1e9, limit: 9, eventId: message().id })).toEqual([]);
      expect(await claimCalls(store, { epoch })).toEqual([]);
      const other = await begin('b');
      expect(await claim(store, queueId, { epoch: other })).toHaveLength(1);
    });

    it('claims nothing either once it has been forgotten', async () => {
      const epoch = await begin('a');
      const { queueId } = await commitOne(store, {}, epoch);
      await end(epoch);
      await store.beginEpoch({ nodeId: 'b', now: T0 + 31 * 24 * HOUR });
      expect(await beat(epoch)).toEqual({ kind: 'ended' });
      expect(await store.listNodes({ limit: 9 })).toHaveLength(1);
      await reopen();
      expect(await claim(store, queueId, { epoch })).toEqual([]);
      expect(await take(epoch, ['x'])).toEqual([]);
    });

    it('accepts nothing that would be leased to it, and everything that would not', async () => {
      const epoch = await begin('a');
      await end(epoch);
      const refused = await store.commitAccepted({ messages: [sending()], epoch, idempotency: null });
      expect(refused).toEqual({ kind: 'epoch-ended' });
      expect((await store.queueCounts({ now: T0 })).queued).toBe(0);
      await commit(store, [message()], epoch);
      expect((await store.queueCounts({ now: T0 })).queued).toBe(1);
    });

    it('may still tell what became of its mail, until somebody took it back', async () => {
      const epoch = await begin('a');
      const [first, second] = await commit(store, [sending(), sending()], epoch);
      await end(epoch);
      const settle = (id: number) => store.settle({ now: T0, settlements: [delivered(id, epoch)] });
      expect(await settle(first?.deliveries[0]?.id ?? 0)).toEqual(['settled']);
      expect(await store.reclaim({ now: T0, limit: 10 })).toBe(1);
      expect(await settle(second?.deliveries[0]?.id ?? 0)).toEqual(['lease-lost']);
    });
  });

  describe('reclaiming what ended epochs held', () => {
    it('gives rows back, due now and marked as possible duplicates', async () => {
      const epoch = await begin('a');
      const { id, queueId } = await commitOne(store, sending(), epoch);
      const other = await begin('a');
      expect(await store.reclaim({ now: T0 + 5, limit: 10 })).toBe(1);
      expect(await nextDueAt(store)).toBe(T0 + 5);
      const again = only(await claim(store, queueId, { epoch: other, now: T0 + 5 }));
      expect(again).toMatchObject({ id, epoch: other, mayBeDuplicate: true, attempts: 0 });
    });

    it('leaves what living nodes hold alone', async () => {
      const first = await begin('a');
      const second = await begin('b');
      await commit(store, [sending()], first);
      await commit(store, [sending()], second);
      expect(await store.reclaim({ now: T0, limit: 10 })).toBe(0);
    });

    it('gives calls back too, and no more rows than the limit at a time', async () => {
      await createWebhook(store);
      const epoch = await begin('a');
      await commit(store, [sending(), sending()], epoch);
      expect(await claimCalls(store, { epoch })).toHaveLength(2);
      const other = await begin('a');
      const step = () => store.reclaim({ now: T0, limit: 3 });
      expect([await step(), await step(), await step()]).toEqual([3, 1, 0]);
      expect(await claimCalls(store, { epoch: other, now: T0 })).toHaveLength(2);
    });

    it('settles nothing by an outcome of the epoch that lost the row', async () => {
      const epoch = await begin('a');
      const { id } = await commitOne(store, sending(), epoch);
      await begin('a');
      await store.reclaim({ now: T0, limit: 10 });
      expect(await store.settle({ now: T0, settlements: [delivered(id, epoch)] })).toEqual(['lease-lost']);
      expect(await kindsOf(store)).toEqual(['accepted', 'late_outcome']);
    });
  });

  describe('what a living node does not have although it is leased to it', () => {
    const strays = (epoch: number, more: Partial<Parameters<Store['strays']>[0]> = {}) =>
      store.strays({
        ...{ epoch, held: { deliveries: [], calls: [] }, olderThan: T0 + 1, now: T0 + 9, limit: 10 },
        ...more,
      });

    it('goes back, due now and marked; what it has, or got later, stays', async () => {
      const epoch = await begin('a');
      const lost = await commitOne(store, sending(), epoch);
      const held = await commitOne(store, sending(), epoch);
      const later = await commitOne(store, sending({ createdAt: T0 + 1 }), epoch);
      const other = await begin('b');
      await commitOne(store, sending(), other);
      const has = { deliveries: [held.id], calls: [] };
      expect(await strays(epoch, { held: has })).toBe(1);
      expect(await strays(epoch, { held: has })).toBe(0);
      const again = only(await claim(store, lost.queueId, { epoch: other, now: T0 + 9 }));
      expect(again).toMatchObject({ id: lost.id, mayBeDuplicate: true, attempts: 0 });
      const settlements = [held, later].map(({ id }) => delivered(id, epoch));
      expect(await store.settle({ now: T0, settlements })).toEqual(['settled', 'settled']);
    });

    it('includes calls, and no more rows than the limit at a time', async () => {
      await createWebhook(store);
      const epoch = await begin('a');
      await commit(store, [sending(), sending()], epoch);
      const [call] = await claimCalls(store, { epoch, now: T0 });
      const held = { deliveries: [], calls: [call?.id ?? 0] };
      const step = () => strays(epoch, { held, limit: 2 });
      expect([await step(), await step(), await step()]).toEqual([2, 1, 0]);
      expect(await claimCalls(store, { epoch, now: T0 + 9 })).toHaveLength(1);
    });
  });

  describe('leases', () => {
    it('belong to one node at a time, and stay with it', async () => {
      const one = await begin('a');
      const two = await begin('b');
      expect(await take(one, ['x', 'y'])).toEqual(['x', 'y']);
      expect(await take(two, ['x', 'z'])).toEqual(['z']);
      expect(await take(one, ['z', 'x'])).toEqual(['x']);
      expect(await beat(one)).toMatchObject({ leases: ['x', 'y'] });
      expect(await beat(two)).toMatchObject({ leases: ['z'] });
    });

    it('are free again when they are given up, by name or all', async () => {
      const one = await begin('a');
      const two = await begin('b');
      await take(one, ['x', 'y', 'z']);
      await store.giveLeases({ epoch: two });
      expect(await take(two, ['x', 'y', 'z'])).toEqual([]);
      await store.giveLeases({ epoch: one, names: ['x'] });
      expect(await take(two, ['x', 'y'])).toEqual(['x']);
      await store.giveLeases({ epoch: one });
      expect(await take(two, ['y', 'z'])).toEqual(['y', 'z']);
    });

    it('go over from a node that stood still, unless it has said meanwhile that it lives', async () => {
      const one = await begin('a');
      const two = await begin('b');
      await take(one, ['x', 'y']);
      await beat(one);
      expect(await take(two, ['x'], [{ epoch: one, beat: 0 }])).toEqual([]);
      expect(await take(two, ['x'], [{ epoch: one, beat: 1 }])).toEqual(['x']);
      // It is alive, and learns which leases it still has.
      expect(await beat(one)).toMatchObject({ kind: 'alive', leases: ['y'] });
    });

    it('go over from an epoch that ended, which gets none any more', async () => {
      const one = await begin('a');
      const two = await begin('b');
      await take(one, ['x']);
      await end(one);
      expect(await take(one, ['x', 'y'])).toEqual([]);
      expect(await take(two, ['x'])).toEqual(['x']);
    });

    it('tell their holder who waits for them: of several the one that has the fewest', async () => {
      const [one, two, three] = [await begin('a'), await begin('b'), await begin('c')];
      await take(one, ['x', 'y', 'z']);
      await take(two, ['w', 'x', 'y']);
      const { others, asked } = await alive(one);
      expect(others.map(({ leases }) => leases)).toEqual([1, 0]);
      expect(asked).toEqual([
        { name: 'x', by: two },
        { name: 'y', by: two },
      ]);
      await take(three, ['x']);
      await take(two, ['x', 'y']);
      expect((await alive(one)).asked).toEqual([
        { name: 'x', by: three },
        { name: 'y', by: two },
      ]);
      await end(two);
      expect((await alive(one)).asked).toEqual([{ name: 'x', by: three }]);
    });

    it('are passed by their holder to a living node, which nobody has asked yet', async () => {
      const [one, two] = [await begin('a'), await begin('b')];
      await take(one, ['x', 'y']);
      await take(two, ['x']);
      const pass = (epoch: number, name: string, to: number) => store.passLease({ epoch, name, to, now: T0 });
      expect(await pass(two, 'x', two)).toBe(false);
      expect(await pass(one, 'x', two)).toBe(true);
      expect(await pass(one, 'x', two)).toBe(false);
      expect(await alive(two)).toMatchObject({ leases: ['x'], asked: [] });
      expect(await take(two, ['x'])).toEqual(['x']);
      await end(two);
      expect(await pass(one, 'y', two)).toBe(false);
      expect(await alive(one)).toMatchObject({ leases: ['y'], asked: [] });
    });

    it('outlive a restart of the store', async () => {
      const one = await begin('a');
      await take(one, ['x']);
      await reopen();
      expect(await beat(one)).toMatchObject({ kind: 'alive', leases: ['x'] });
    });
  });
}
