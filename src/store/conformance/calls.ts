/** Conformance: webhook calls: claiming them fairly, settling tries, switching webhooks off, replaying. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { CallSettlement, ClaimedCall } from '../topics/webhooks.ts';
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

/** Tests of `claimCalls`, `settleCalls`, `nextCallDueAt`, `listCalls`, `getCall`, `replayCalls`. */
export function describeCalls({ store }: Suite): void {
  /** A webhook with one claimed call. */
  async function claimedCall(): Promise<ClaimedCall> {
    await createWebhook(store);
    await commitOne(store);
    return only(await claimCalls(store));
  }

  describe('claiming calls', () => {
    it('gives the webhook, the event and the tries so far, once', async () => {
      const call = await claimedCall();
      expect(call).toMatchObject({ tries: 0, webhook: { domain: 'example.com', events: ['all'] } });
      expect(call.webhook.secretSealed).toEqual(new Uint8Array([1, 2, 3]));
      expect(call.event).toMatchObject({ kind: 'accepted', recipient: 'reader@example.net' });
      expect(await claimCalls(store)).toEqual([]);
    });

    it('waits for the due time of a call', async () => {
      await createWebhook(store);
      expect(await store.nextCallDueAt()).toBeNull();
      await commitOne(store, { recipients: [recipient({ events: [event('accepted', T0 + 50)] })] });
      expect(await store.nextCallDueAt()).toBe(T0 + 50);
      expect(await claimCalls(store, { now: T0 + 49 })).toEqual([]);
      expect(await claimCalls(store, { now: T0 + 50 })).toHaveLength(1);
    });

    it('leaves out the webhooks named, and shares its room among the others', async () => {
      const busy = await createWebhook(store, { events: ['accept'] });
      for (let i = 0; i < 20; i++) await commitOne(store);
      const late = await createWebhook(store, { events: ['accept'] });
      await commitOne(store);
      const calls = await claimCalls(store, { limit: 10 });
      expect(calls).toHaveLength(10);
      expect(calls.filter((call) => call.webhook.id === late)).toHaveLength(1);
      expect(await claimCalls(store, { exclude: [busy] })).toEqual([]);
      expect(await claimCalls(store)).toHaveLength(12);
    });

    it('lets domains take turns, however many webhooks one has, and leaves out the domains named', async () => {
      for (let i = 0; i < 10; i += 1) await createWebhook(store, { events: ['accept'] });
      for (let i = 0; i < 3; i += 1) await commitOne(store);
      const late = await createWebhook(store, { events: ['accept'], domain: 'example.org' });
      await commitOne(store, { domain: 'example.org' });
      const exclude = { limit: 4, excludeDomains: ['example.com', 'unknown.example'] };
      const calls = await claimCalls(store, { limit: 4 });
      expect(calls.map((call) => call.webhook.domain).sort()).toEqual([
        'example.com',
        'example.com',
        'example.com',
        'example.org',
      ]);
      await commitOne(store, { domain: 'example.org' });
      expect((await claimCalls(store, exclude)).map((call) => call.webhook.id)).toEqual([late]);
    });
  });

  describe('settling calls', () => {
    it('records a success as the last response and forgets the failures before it', async () => {
      const call = await claimedCall();
      await settle(call, {
        state: 'pending',
        tryNumber: 1,
        responseCode: 500,
        responseBody: 'no',
        dueAt: T0,
      });
      const again = only(await claimCalls(store));
      expect(again).toMatchObject({
        id: call.id,
        tries: 1,
        webhook: { failedTries: 1, failingSince: T0 + 100 },
      });
      await settle(again, {
        tryNumber: 2,
        responseCode: 204,
        responseBody: '',
        latencyMs: 12.4,
        at: T0 + 200,
      });
      expect(await hookOf(store)).toMatchObject({
        lastResponseCode: 204,
        lastResponseBody: '',
        lastResponseAt: T0 + 200,
        lastResponseTry: 2,
        lastError: '',
        lastLatencyMs: 12,
        failingSince: null,
        failedTries: 0,
        blockedTries: 0,
        updatedAt: T0,
      });
      expect(await claimCalls(store)).toEqual([]);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ pendingCalls: 0 });
    });

    it('keeps the last answer of a call and how long each try took, anew where the call is made again', async () => {
      const first = await claimedCall();
      const facts = async () => {
        const { webhook, id } = first;
        const { responseCode, responseBody, latenciesMs } =
          (await store.getCall({ webhookId: webhook.id, callId: id })) ?? {};
        return [responseCode, responseBody, latenciesMs];
      };
      expect(await facts()).toEqual([0, '', []]);
      await settle(first, {
        state: 'pending',
        responseCode: 500,
        responseBody: 'busy',
        latencyMs: 7.6,
        dueAt: T0,
      });
      expect(await facts()).toEqual([500, 'busy', [8]]);
      const second = only(await claimCalls(store));
      await settle(second, { state: 'pending', tryNumber: 0, dueAt: T0 });
      const third = only(await claimCalls(store));
      await settle(third, { tryNumber: 2, responseCode: 204, responseBody: '', latencyMs: 12 });
      expect(await facts()).toEqual([204, '', [8, 12]]);
      const again = {
        callIds: [first.id],
        since: 0,
        until: T0 * 2,
        onlyFailed: false,
        now: T0 + 300,
        limit: 10,
      };
      await store.replayCalls({ webhookId: first.webhook.id, ...again });
      const replayed = only(await claimCalls(store, { now: T0 + 300 }));
      await settle(replayed, { tryNumber: 1, responseBody: 'fine', latencyMs: 3 });
      expect(await facts()).toEqual([200, 'fine', [3]]);
    });

    it('describes a try without an answer as such, whatever was answered before', async () => {
      const call = await claimedCall();
      await settle(call, { state: 'pending', responseCode: 503, responseBody: 'busy', dueAt: T0 });
      await settle(only(await claimCalls(store)), {
        state: 'failed',
        tryNumber: 2,
        responseCode: 0,
        responseBody: 'ignored',
        error: 'connection refused',
        at: T0 + 300,
      });
      expect(await hookOf(store)).toMatchObject({
        lastResponseCode: 0,
        lastResponseBody: '',
        lastResponseAt: null,
        lastResponseTry: 2,
        lastError: 'connection refused',
        failingSince: T0 + 100,
        failedTries: 2,
      });
    });

    it('counts blocked tries in a row, until one is not blocked', async () => {
      const call = await claimedCall();
      const failing = { state: 'pending', responseCode: 0, dueAt: T0 } as const;
      await settle(call, { ...failing, blocked: true });
      await settle(only(await claimCalls(store)), { ...failing, blocked: true });
      expect(await hookOf(store)).toMatchObject({ blockedTries: 2, failedTries: 2 });
      await settle(only(await claimCalls(store)), { ...failing, blocked: false });
      expect(await hookOf(store)).toMatchObject({ blockedTries: 0, failedTries: 3 });
    });

    it('gives a lease back without a trace of a try', async () => {
      const call = await claimedCall();
      await settle(call, {
        state: 'pending',
        tryNumber: 0,
        responseCode: 0,
        error: 'stopping',
        dueAt: T0 + 9,
      });
      expect(await hookOf(store)).toMatchObject({
        lastResponseTry: 0,
        failedTries: 0,
        lastError: '',
      });
      expect(await store.nextCallDueAt()).toBe(T0 + 9);
      expect(only(await claimCalls(store))).toMatchObject({ id: call.id, tries: 0 });
    });

    it('ignores a call whose lease is lost, or that went with its webhook', async () => {
      const call = await claimedCall();
      await settle(call, { epoch: 9, state: 'failed', responseCode: 500 });
      expect(await hookOf(store)).toMatchObject({ lastResponseCode: 0, failedTries: 0 });
      await store.deleteWebhook({ id: call.webhook.id });
      await settle(call, { state: 'succeeded' });
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ pendingCalls: 0 });
    });

    it('switches a webhook off with an event for the others of its domain', async () => {
      const call = await claimedCall();
      const system = await createWebhook(store, { events: ['system'] });
      await createWebhook(store, { events: ['delivery'] });
      await createWebhook(store, { events: ['system'], domain: 'example.org' });
      await commitOne(store);
      const disabled = event('webhook.disabled', T0 + HOUR, { detail: { webhookId: call.webhook.id } });
      await settle(call, {
        state: 'failed',
        responseCode: 410,
        disable: { reason: 'Gone', event: disabled },
      });
      expect(await hookOf(store)).toMatchObject({
        status: 'Disabled',
        disabledReason: 'Gone',
        updatedAt: T0 + 100,
        lastResponseCode: 410,
      });
      const told = only(await claimCalls(store));
      expect(told.webhook.id).toBe(system);
      expect(told.event).toMatchObject({ kind: 'webhook.disabled', detail: { webhookId: call.webhook.id } });
    });

    it('tells which webhooks fail or were switched off, but not by a person', async () => {
      const failing = async (more: object = {}) =>
        (await store.failingWebhooks({ limit: 10, ...more })).map(({ id, waiting }) => [id, waiting]);
      const call = await claimedCall();
      expect(await failing()).toEqual([]);
      const first = { responseCode: 500, responseBody: 'busy', latencyMs: 12.4 };
      await settle(call, { state: 'pending', dueAt: T0 + 200, ...first });
      expect(await failing()).toEqual([[call.webhook.id, 1]]);
      expect(await failing({ domains: ['example.com'] })).toHaveLength(1);
      expect(await failing({ domains: ['example.org'] })).toEqual([]);
      const [again] = await claimCalls(store, { now: T0 + 300 });
      if (again === undefined) throw new Error('Expected a call');
      await settle(again, {
        ...{ state: 'failed', responseCode: 410 },
        disable: { reason: 'Gone', event: event('webhook.disabled', T0 + 100) },
      });
      expect(await failing()).toEqual([[call.webhook.id, 0]]);
      const switched = { id: call.webhook.id, now: T0 + 400, resumeSince: T0 };
      await store.updateWebhook({ ...switched, status: 'Enabled' });
      await store.updateWebhook({ ...switched, status: 'Disabled' });
      expect(await failing()).toEqual([]);
    });

    it('keeps the pending calls of a webhook that is off, claims none, makes no new ones', async () => {
      const id = await createWebhook(store);
      await commitOne(store);
      await commitOne(store);
      const [first] = await claimCalls(store, { limit: 1 });
      if (first === undefined) throw new Error('Expected a call');
      const off = { reason: 'Failures', event: event('webhook.disabled') } as const;
      await settle(first, { state: 'failed', responseCode: 500, disable: off });
      await commitOne(store);
      expect(await claimCalls(store)).toEqual([]);
      expect(await store.nextCallDueAt()).toBeNull();
      const log = await store.listCalls({ webhookId: id, limit: 10 });
      expect(log.map((call) => call.state)).toEqual(['pending', 'failed']);
    });
  });

  describe('the call log', () => {
    it('lists the calls of the newest events first', async () => {
      const call = await claimedCall();
      await settle(call, { state: 'failed', tryNumber: 10, responseCode: 500, error: 'gave up' });
      await commitOne(store);
      const log = await store.listCalls({ webhookId: call.webhook.id, limit: 10 });
      expect(log[0]).toMatchObject({ state: 'pending', tries: 0, responseCode: 0, createdAt: T0, dueAt: T0 });
      expect(log[1]).toEqual({
        id: call.id,
        eventSeq: call.event.seq,
        eventId: call.event.id,
        eventKind: 'accepted',
        messageId: call.event.message?.id,
        recipient: call.event.recipient,
        state: 'failed',
        tries: 10,
        responseCode: 500,
        responseBody: 'ok',
        latenciesMs: [5],
        error: 'gave up',
        createdAt: T0,
        updatedAt: T0 + 100,
        dueAt: expect.any(Number),
      });
      expect(await store.listCalls({ webhookId: call.webhook.id, limit: 1 })).toHaveLength(1);
      const rest = { webhookId: call.webhook.id, beforeEventSeq: log[0]?.eventSeq ?? 0, limit: 10 };
      expect((await store.listCalls(rest)).map(({ id }) => id)).toEqual([call.id]);
      const again = { since: 0, until: 0, onlyFailed: false, now: T0 + 200, limit: 10 };
      const replay = async (webhookId: number) =>
        (await store.replayCalls({ webhookId, callIds: [call.id, log[0]?.id ?? 0, 999], ...again })).made;
      // A pending call is not replayed, and nobody else's calls are.
      expect([await replay(999), await replay(call.webhook.id)]).toEqual([0, 1]);
      expect(await store.listCalls({ webhookId: 999, limit: 10 })).toEqual([]);
    });

    it('shows one call with its event, of its own webhook alone', async () => {
      const call = await claimedCall();
      await settle(call, { state: 'failed', tryNumber: 10, responseCode: 500, error: 'gave up' });
      const webhookId = call.webhook.id;
      const [entry] = await store.listCalls({ webhookId, limit: 1 });
      expect(await store.getCall({ webhookId, callId: call.id })).toEqual({
        ...entry,
        event: call.event,
      });
      expect(await store.getCall({ webhookId, callId: call.id + 1 })).toBeNull();
      expect(await store.getCall({ webhookId: webhookId + 1, callId: call.id })).toBeNull();
    });

    it('replays past events of the kinds it listens to, as new calls from the first try', async () => {
      await commitOne(store, {
        recipients: [recipient({ events: [event('accepted'), event('held'), event('deferred', T0 + 5)] })],
      });
      await commitOne(store, { domain: 'example.org' });
      const all = await createWebhook(store);
      const delays = await createWebhook(store, { events: ['delay'] });
      expect(await replay(all, {})).toBe(2);
      expect(await replay(delays, {})).toBe(1);
      expect(await replay(delays, { until: T0 + 5 })).toBe(0);
      expect(await replay(999, {})).toBe(0);
      const calls = await claimCalls(store);
      expect(calls.map((call) => call.event.kind).sort()).toEqual(['accepted', 'deferred', 'deferred']);
    });

    it('replays no call that is still on its way, and no more than asked', async () => {
      const call = await claimedCall();
      expect(await replay(call.webhook.id, {})).toBe(0);
      await settle(call, { tryNumber: 3 });
      await commitOne(store);
      expect(await replay(call.webhook.id, { limit: 0 })).toBe(0);
      expect(await replay(call.webhook.id, {})).toBe(1);
      const calls = await claimCalls(store);
      expect(calls.map(({ tries }) => tries)).toEqual([0, 0]);
    });

    it('replays in portions, the oldest event first whatever its kind, each once', async () => {
      const hook = await createWebhook(store);
      for (let i = 0; i < 5; i++) {
        const at = T0 + Math.floor(i / 2);
        const events = [event('accepted', at), event('deferred', at)];
        await commitOne(store, { recipients: [recipient({ events })] });
      }
      const made = await claimCalls(store);
      for (const call of made) await settle(call, {});
      const range = { webhookId: hook, since: 0, until: T0 + HOUR, onlyFailed: false, now: T0, limit: 3 };
      const counts: number[] = [];
      const order: string[] = [];
      for (let after: { at: number; seq: number } | null | undefined; after !== null; ) {
        const done = await store.replayCalls({ ...range, ...(after === undefined ? {} : { after }) });
        counts.push(done.made);
        after = done.next;
        const calls = await claimCalls(store);
        order.push(...calls.map(({ event: { at, seq } }) => `${at} ${String(seq).padStart(6, '0')}`).sort());
      }
      expect(counts.reduce((a, b) => a + b, 0)).toBe(made.length);
      expect(Math.max(...counts)).toBe(3);
      expect(new Set(order).size).toBe(made.length);
      expect(order).toEqual([...order].sort());
    });

    it('replays only what failed, if asked so', async () => {
      await createWebhook(store);
      for (let i = 0; i < 3; i++) await commitOne(store);
      const [a, b, c] = await claimCalls(store);
      if (a === undefined || b === undefined || c === undefined) throw new Error('Expected three calls');
      await settle(a, {});
      await settle(b, { state: 'failed', tryNumber: 10, responseCode: 500 });
      expect(await replay(a.webhook.id, { onlyFailed: true })).toBe(1);
      expect(only(await claimCalls(store)).event.id).toBe(b.event.id);
      expect(await replay(a.webhook.id, { onlyFailed: true })).toBe(0);
    });
  });

  function settle(call: ClaimedCall, more: Partial<CallSettlement>): Promise<void> {
    const settlement: CallSettlement = {
      callId: call.id,
      epoch: 1,
      webhookId: call.webhook.id,
      state: 'succeeded',
      tryNumber: call.tries + 1,
      at: T0 + 100,
      responseCode: 200,
      responseBody: 'ok',
      error: '',
      latencyMs: 5,
      blocked: false,
      ...more,
    };
    return store.settleCalls({ settlements: [settlement] });
  }

  async function replay(
    webhookId: number,
    more: { until?: number; onlyFailed?: boolean; limit?: number },
  ): Promise<number> {
    const { made } = await store.replayCalls({
      webhookId,
      since: T0 - HOUR,
      until: T0 + HOUR,
      onlyFailed: false,
      now: T0 + 500,
      limit: 100,
      ...more,
    });
    return made;
  }
}

/** The first webhook. */
async function hookOf(store: Store) {
  const [hook] = await store.listWebhooks({ limit: 100 });
  return hook;
}
