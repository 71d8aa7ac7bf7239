/** Conformance: changing webhooks, switching them off and on, and what that does to their calls. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { CallSettlement } from '../topics/webhooks.ts';
import {
  claimCalls,
  commitOne,
  createWebhook,
  event,
  HOUR,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

type Change = Partial<Parameters<Store['updateWebhook']>[0]>;

/** Tests of `updateWebhook`, `countPendingCalls`. */
export function describeWebhookChanges({ store }: Suite): void {
  const update = (id: number, change: Change) =>
    store.updateWebhook({ id, now: T0 + 9, resumeSince: T0 - HOUR, ...change });
  const row = async (id: number) =>
    only((await store.listWebhooks({ limit: 100 })).filter((one) => one.id === id));
  const pending = (webhookId: number, countUpTo = 100) => store.countPendingCalls({ webhookId, countUpTo });
  const acceptedAt = (at: number) =>
    commitOne(store, { recipients: [recipient({ events: [event('accepted', at)] })] });
  /** Its first try, at T0; the next is five hours later. */
  const fails = (webhookId: number, callId: number, more: Partial<CallSettlement> = {}) =>
    store.settleCalls({
      settlements: [
        {
          ...{ callId, webhookId, epoch: 1, state: 'pending', dueAt: T0 + 5 * HOUR, tryNumber: 1, at: T0 },
          ...{ responseCode: 500, responseBody: '', error: '', latencyMs: 1, blocked: false, ...more },
        },
      ],
    });

  describe('changing a webhook', () => {
    it('sets what is given, keeps the rest, and moves UpdatedAt', async () => {
      const id = await createWebhook(store, { events: ['bounce'] });
      const other = await createWebhook(store);
      expect(await update(id, { url: 'https://new.example/' })).toBe(true);
      expect(await row(id)).toMatchObject({ url: 'https://new.example/', events: ['bounce'], createdAt: T0 });
      expect(await update(id, { events: ['delivery'], description: 'x', now: T0 + 10 })).toBe(true);
      expect(await row(id)).toMatchObject({
        url: 'https://new.example/',
        events: ['delivery'],
        description: 'x',
        status: 'Enabled',
        updatedAt: T0 + 10,
      });
      expect((await row(other)).updatedAt).toBe(T0);
    });

    it('is heard from the next event on', async () => {
      const id = await createWebhook(store, { events: ['bounce'] });
      await commitOne(store);
      await update(id, { events: ['accept'] });
      await commitOne(store);
      expect(await claimCalls(store)).toHaveLength(1);
    });

    it('finds none in other domains', async () => {
      const id = await createWebhook(store);
      expect(await update(id, { events: ['bounce'], domains: ['example.org'] })).toBe(false);
      expect(await update(id + 1, { events: ['bounce'] })).toBe(false);
      expect((await row(id)).events).toEqual(['all']);
    });
  });

  describe('rotating the secret of a webhook', () => {
    it('keeps the one before until its time, and only that one', async () => {
      const id = await createWebhook(store);
      const rotate = (secret: number, at: number, domains?: string[]) =>
        store.rotateWebhookSecret({
          id,
          secretSealed: new Uint8Array([secret]),
          previousUntil: at + HOUR,
          now: at,
          ...(domains === undefined ? {} : { domains }),
        });
      expect(await rotate(4, T0 + 1, ['example.org'])).toBe(false);
      expect(await rotate(4, T0 + 1, ['example.com'])).toBe(true);
      await commitOne(store);
      expect(only(await claimCalls(store)).webhook).toMatchObject({
        secretSealed: new Uint8Array([4]),
        previousSecretSealed: new Uint8Array([1, 2, 3]),
        previousSecretUntil: T0 + 1 + HOUR,
        updatedAt: T0 + 1,
      });
      await rotate(5, T0 + 2);
      expect((await row(id)).previousSecretSealed).toEqual(new Uint8Array([4]));
    });
  });

  describe('switching a webhook off and on', () => {
    it('queues no calls while it is off, and resumes those that waited', async () => {
      const id = await createWebhook(store);
      await acceptedAt(T0);
      await update(id, { status: 'Disabled' });
      expect(await row(id)).toMatchObject({ status: 'Disabled', disabledReason: 'User', updatedAt: T0 + 9 });
      await acceptedAt(T0 + 1);
      expect(await claimCalls(store)).toEqual([]);
      expect(await store.nextCallDueAt()).toBeNull();
      expect(await pending(id)).toBe(1);
      await update(id, { status: 'Enabled' });
      expect(await row(id)).toMatchObject({ status: 'Enabled', disabledReason: null });
      expect(only(await claimCalls(store)).event.at).toBe(T0);
      expect(await pending(id)).toBe(1);
      expect(await pending(id, 0)).toBe(0);
    });

    it('gives up calls that waited too long, so that they can be replayed', async () => {
      const id = await createWebhook(store);
      await acceptedAt(T0);
      await acceptedAt(T0 + 100);
      await update(id, { status: 'Disabled' });
      await update(id, { status: 'Enabled', resumeSince: T0 + 100 });
      expect(only(await claimCalls(store)).event.at).toBe(T0 + 100);
      const old = (await store.listCalls({ webhookId: id, limit: 9 })).find((call) => call.createdAt === T0);
      expect(old).toMatchObject({ state: 'failed', error: expect.stringContaining('switched off') });
      const range = { since: 0, until: T0 + HOUR, onlyFailed: true, now: T0 + HOUR, limit: 10 };
      expect((await store.replayCalls({ webhookId: id, ...range })).made).toBe(1);
    });

    it('gives up no call that was tried or replayed since, however old its event is', async () => {
      const id = await createWebhook(store);
      await acceptedAt(T0 - 2 * HOUR);
      await acceptedAt(T0 - HOUR);
      const [first, second] = await claimCalls(store);
      if (first === undefined || second === undefined) throw new Error('two calls are due');
      await fails(id, first.id, { dueAt: T0 + 1 });
      await fails(id, second.id, { state: 'failed', at: T0 - 100 });
      const replayed = { webhookId: id, since: 0, until: T0, onlyFailed: true, now: T0 + 2, limit: 9 };
      expect((await store.replayCalls(replayed)).made).toBe(1);
      await update(id, { status: 'Disabled' });
      await update(id, { status: 'Enabled', resumeSince: T0 });
      expect((await claimCalls(store, { now: T0 + 9 })).map((call) => call.id)).toEqual([
        first.id,
        second.id,
      ]);
    });

    it('starts the counters of failures anew, and brings calls forward', async () => {
      const id = await createWebhook(store);
      await acceptedAt(T0);
      const call = only(await claimCalls(store));
      const disable = { reason: 'Gone' as const, event: event('webhook.disabled') };
      await fails(id, call.id, { responseCode: 410, blocked: true, disable });
      expect(await update(id, { status: 'Disabled' })).toBe(true);
      expect(await row(id)).toMatchObject({ disabledReason: 'Gone', failedTries: 1, blockedTries: 1 });
      await update(id, { status: 'Enabled' });
      expect(await row(id)).toMatchObject({
        disabledReason: null,
        failingSince: null,
        failedTries: 0,
        blockedTries: 0,
        lastResponseCode: 410,
      });
      expect(await store.nextCallDueAt()).toBe(T0 + 9);
    });

    it('brings the calls of one that is on already forward, gives none up, and keeps its failures', async () => {
      const id = await createWebhook(store);
      await acceptedAt(T0);
      const call = only(await claimCalls(store));
      await fails(id, call.id);
      await update(id, { description: 'no switch' });
      expect(await store.nextCallDueAt()).toBe(T0 + 5 * HOUR);
      await update(id, { status: 'Enabled', resumeSince: T0 + 2 * HOUR });
      expect(await store.nextCallDueAt()).toBe(T0 + 9);
      expect(await row(id)).toMatchObject({ failingSince: T0, failedTries: 1 });
      expect(await pending(id)).toBe(1);
    });
  });
}
