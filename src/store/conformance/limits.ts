/** Conformance: overrides, the state of paths, and holds. */
import { describe, expect, it } from 'vitest';
import type { StoredHold, StoredOverride, StoredPathState } from '../topics/limits.ts';
import { HOUR, newId, type Suite, T0 } from './fixtures.ts';

function override(more: Partial<StoredOverride> = {}): StoredOverride {
  return {
    id: newId(),
    scope: 'path',
    key: '>google',
    param: 'messagesPerSecond',
    rule: 'G01',
    value: 0.5,
    until: T0 + HOUR,
    why: '421 4.7.28 unusual rate',
    createdAt: T0,
    ...more,
  };
}

function state(more: Partial<StoredPathState> = {}): StoredPathState {
  return {
    key: '>google',
    source: '',
    site: 'google',
    blockedUntil: T0 + HOUR,
    reason: 'path: 421 later',
    failures: 3,
    asked: false,
    fingerprint: '',
    concurrency: 2,
    day: 20_000,
    sent: 7,
    sentBefore: 9,
    updatedAt: T0,
    ...more,
  };
}

/** A hold of one lane of a sender domain, until it is released. */
export function hold(more: Partial<StoredHold> = {}): StoredHold {
  return {
    id: newId(),
    senderDomain: 'shop.example',
    recipientDomain: null,
    site: null,
    lane: 'bulk',
    reason: 'a wrong price in the newsletter',
    until: null,
    createdAt: T0,
    createdBy: 'token-1',
    ...more,
  };
}

/** Tests of `putOverrides` to `purgeLimits`. */
export function describeLimits({ store, reopen }: Suite): void {
  /** What is not named has not ended. */
  const purge = (ended: { now?: number; before?: number; unusedSince?: number }, limit = 9) =>
    store.purgeLimits({ now: 0, before: 0, unusedSince: 0, ...ended, limit });

  describe('overrides', () => {
    it('come back as they were stored, newest first, also after a restart', async () => {
      const early = override();
      const late = override({ key: '>yahoo', param: 'tls', value: 'required', createdAt: T0 + 1 });
      await store.putOverrides({ overrides: [early, late] });
      expect(await store.listOverrides({ now: T0 })).toEqual([late, early]);
      await reopen();
      expect(await store.listOverrides({ now: T0 })).toEqual([late, early]);
    });

    it('take the place of the one with the same scope, key, param and rule, and of no other', async () => {
      const first = override();
      const others = [
        override({ scope: 'tenant@site' }),
        override({ key: '>other' }),
        override({ param: 'connections' }),
        override({ rule: 'G02' }),
      ];
      await store.putOverrides({ overrides: [first, ...others] });
      const second = override({ value: 0.25, until: T0 + 2 * HOUR, createdAt: T0 + 5 });
      await store.putOverrides({ overrides: [second] });
      const listed = await store.listOverrides({ now: T0 });
      expect(listed).toHaveLength(5);
      expect(listed[0]).toEqual(second);
      expect(listed.some(({ id }) => id === first.id)).toBe(false);
    });

    it('are not listed any more once they ended, and are then purged in steps', async () => {
      const ends = [1, 2, 3].map((n) => override({ key: `>${n}`, until: T0 + n }));
      await store.putOverrides({ overrides: ends });
      expect((await store.listOverrides({ now: T0 + 2 })).map(({ key }) => key)).toEqual(['>3']);
      expect(await purge({ now: T0 + 2 }, 1)).toBe(1);
      expect(await purge({ now: T0 + 2 })).toBe(1);
      expect(await purge({ now: T0 + 2 })).toBe(0);
      expect(await store.listOverrides({ now: 0 })).toEqual([ends[2]]);
    });

    it('are removed by their id', async () => {
      const [one, two] = [override(), override({ rule: 'operator' })];
      await store.putOverrides({ overrides: [one, two] });
      expect(await store.removeOverride({ id: one.id })).toBe(true);
      expect(await store.removeOverride({ id: one.id })).toBe(false);
      expect(await store.listOverrides({ now: T0 })).toEqual([two]);
    });
  });

  describe('states of paths', () => {
    const put = (states: readonly StoredPathState[], epoch = 1) =>
      store.putPathStates({ states: states.map((one) => ({ ...one, epoch })) });

    it('are not overwritten by a node whose epoch others have ended', async () => {
      const paused = await store.beginEpoch({ nodeId: 'a', now: T0 });
      const successor = await store.beginEpoch({ nodeId: 'b', now: T0 });
      await store.endEpoch({ epoch: paused, now: T0 });
      await put([state({ failures: 1 })], successor);
      await put([state({ failures: 9 }), state({ key: 'other' })], paused);
      expect(await store.listPathStates({ limit: 9 })).toEqual([state({ failures: 1 })]);
    });

    it('are kept by key, the last one counting', async () => {
      const other = state({ key: 'a>yahoo', source: 'a', site: 'yahoo', blockedUntil: null, reason: '' });
      await put([state(), other]);
      const now = state({ blockedUntil: null, reason: '', failures: 0, concurrency: 7, updatedAt: T0 + 9 });
      await put([now]);
      await reopen();
      expect(await store.listPathStates({ limit: 10 })).toEqual([now, other]);
      expect(await store.listPathStates({ limit: 1 })).toEqual([now]);
    });

    it('are purged by age, but not while they block', async () => {
      const states = [
        state({ key: 'old', blockedUntil: T0 + 1 }),
        state({ key: 'blocking', blockedUntil: T0 + HOUR }),
        state({ key: 'free', blockedUntil: null }),
        state({ key: 'fresh', blockedUntil: null, updatedAt: T0 + 5 }),
      ];
      await put(states);
      const unused = { unusedSince: T0 + 5, now: T0 + 1 };
      expect(await purge(unused, 1)).toBe(1);
      expect(await purge(unused)).toBe(1);
      expect(await purge(unused)).toBe(0);
      const left = (await store.listPathStates({ limit: 10 })).map(({ key }) => key);
      expect(left).toEqual(['fresh', 'blocking']);
    });
  });

  describe('changes of paths', () => {
    it('come back by site and time, newest first, until they are purged', async () => {
      const closed = (site: string, at: number, source = '') => ({
        ...{ source, site, at, until: at + HOUR, reason: '421 not now' },
      });
      const opened = { source: '', site: 'google', at: T0 + 5, until: null, reason: null };
      const changes = [closed('google', T0), closed('yahoo', T0 + 1), closed('google', T0 + 3, 'b'), opened];
      await store.addPathChanges({ changes });
      await reopen();
      const list = (more: object = {}) =>
        store.listPathChanges({ sites: ['google', 'nobody'], since: T0, until: T0 + 9, limit: 9, ...more });
      expect(await list()).toEqual([opened, closed('google', T0 + 3, 'b'), closed('google', T0)]);
      expect(await list({ since: T0 + 1, until: T0 + 4 })).toEqual([closed('google', T0 + 3, 'b')]);
      expect(await list({ sites: ['yahoo', 'google'], limit: 3 })).toHaveLength(3);
      expect(await purge({ before: T0 + 3 }, 1)).toBe(1);
      expect(await purge({ before: T0 + 3 })).toBe(1);
      expect(await list()).toEqual([opened, closed('google', T0 + 3, 'b')]);
    });
  });

  describe('facts about far ends', () => {
    it('are kept by kind and key until they end', async () => {
      const fact = (kind: string, key: string, value: string, until: number) => ({ kind, key, value, until });
      const facts = [fact('relay', 'a:25', '1', T0 + 5), fact('relay', 'b:25', '2', T0 + 9)];
      await store.putEgressFacts({ facts });
      const again = [fact('relay', 'a:25', '{"n":3}', T0 + 7), fact('tls', 'a:25', 'true', T0 + 6)];
      await store.putEgressFacts({ facts: again });
      await reopen();
      const list = (now: number, perKind = 9) => store.listEgressFacts({ now, perKind });
      expect(await list(T0)).toEqual([facts[1], again[0], again[1]]);
      expect(await list(T0, 1)).toEqual([facts[1], again[1]]);
      expect(await list(T0 + 6)).toEqual([facts[1], again[0]]);
      expect(await purge({ now: T0 + 7 }, 1)).toBe(1);
      expect(await purge({ now: T0 + 7 })).toBe(1);
      expect(await list(T0)).toEqual([facts[1]]);
    });
  });

  describe('holds', () => {
    it('come back as they were stored, oldest first, also after a restart', async () => {
      const late = hold({
        createdAt: T0 + 2,
        site: 'google',
        senderDomain: null,
        lane: null,
        until: T0 + HOUR,
      });
      const early = hold({ createdAt: T0 + 1, recipientDomain: 'example.net' });
      for (const one of [late, early]) expect(await store.addHold({ hold: one })).toBe(true);
      await reopen();
      expect(await store.listHolds({ now: T0 })).toEqual([early, late]);
      expect(await store.listHolds({ now: T0 + HOUR })).toEqual([early]);
    });

    it('are added and released by no node whose epoch has ended', async () => {
      const epoch = await store.beginEpoch({ nodeId: 'a', now: T0 });
      const made = hold({});
      expect(await store.addHold({ hold: made, epoch })).toBe(true);
      await store.endEpoch({ epoch, now: T0 });
      expect(await store.addHold({ hold: hold({}), epoch })).toBe(false);
      expect(await store.releaseHolds({ ids: [made.id], epoch, now: T0 })).toBe(0);
      expect(await store.listHolds({ now: T0 })).toEqual([made]);
      expect(await store.releaseHolds({ ids: [made.id], now: T0 })).toBe(1);
    });

    it('are released together; ids that do not exist or are over count for nothing', async () => {
      const [one, two, three, over] = [hold(), hold(), hold(), hold({ createdAt: T0 - 1, until: T0 + 1 })];
      for (const each of [one, two, three, over]) await store.addHold({ hold: each });
      const release = (ids: string[]) => store.releaseHolds({ ids, now: T0 + 1 });
      expect(await release([one.id, three.id, over.id, newId()])).toBe(2);
      expect(await release([one.id])).toBe(0);
      expect(await release([])).toBe(0);
      expect(await store.listHolds({ now: T0 })).toEqual([over, two]);
    });

    it('are found afterwards by when they were in force and for whose mail, until they are purged', async () => {
      const at = (createdAt: number, more: Partial<StoredHold> = {}) => hold({ createdAt, ...more });
      const released = at(T0);
      const timed = at(T0 + 1, { until: T0 + 20, senderDomain: null, lane: null });
      const lasting = at(T0 + 2);
      const others = [at(T0, { senderDomain: 'other.example' }), at(T0, { lane: 'normal' })];
      for (const each of [released, timed, lasting, ...others]) await store.addHold({ hold: each });
      await store.releaseHolds({ ids: [released.id], now: T0 + 10 });
      await reopen();
      const list = (more: object = {}) =>
        store.listPastHolds({
          ...{ senderDomain: 'shop.example', lane: 'bulk', since: T0, until: T0 + 99, limit: 9 },
          ...more,
        });
      const was = [
        { ...lasting, releasedAt: null },
        { ...timed, releasedAt: null },
        { ...released, releasedAt: T0 + 10 },
      ];
      expect(await list()).toEqual(was);
      expect(await list({ limit: 1 })).toEqual(was.slice(0, 1));
      expect(await list({ since: T0 + 10 })).toHaveLength(3);
      expect(await list({ since: T0 + 11 })).toEqual(was.slice(0, 2));
      expect(await list({ since: T0 + 21 })).toEqual(was.slice(0, 1));
      expect(await list({ until: T0 + 1 })).toEqual(was.slice(2));
      expect(await purge({ before: T0 + 10 })).toBe(0);
      expect(await purge({ before: T0 + 21 }, 1)).toBe(1);
      expect(await purge({ before: T0 + 21 })).toBe(1);
      expect(await purge({ before: T0 + 21 })).toBe(0);
      expect(await list()).toEqual(was.slice(0, 1));
    });
  });
}
