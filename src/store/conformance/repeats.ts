/**
 * Conformance of writes that are sent twice: the first answer was lost, so the caller repeats them. What has its own
 * ids is stored once, and answered in the same way.
 */
import { describe, expect, it } from 'vitest';
import {
  claimCalls,
  commitOne,
  createWebhook,
  delivered,
  event,
  idempotency,
  kindsOf,
  message,
  messagesOf,
  newId,
  only,
  recipient,
  type Suite,
  T0,
  token,
} from './fixtures.ts';
import { hold } from './limits.ts';
import { rule } from './sandbox-rules.ts';
import { credential } from './smtp-credentials.ts';

/** Tests of writes with ids. */
export function describeRepeats({ store }: Suite): void {
  /** Both answers, which must be equal. */
  async function twice<Answer>(write: () => Promise<Answer>): Promise<Answer> {
    const first = await write();
    expect(await write()).toEqual(first);
    return first;
  }

  describe('a write that is told twice', () => {
    const leased = () => commitOne(store, { recipients: [recipient({ state: 'sending' })] });

    it('accepts messages once: the same rows, charged once, under one key', async () => {
      const now = T0;
      const limits = { minute: null, hour: 2, day: null };
      const messages = [message({ recipients: [recipient(), recipient()] }), message()];
      const result = await twice(() =>
        store.commitAccepted({
          messages,
          epoch: 1,
          quotas: [{ domain: 'example.com', count: 2, limits, now }],
          idempotency: idempotency(),
        }),
      );
      expect(result.kind).toBe('committed');
      expect(await messagesOf(store)).toHaveLength(2);
      const uses = (await store.quotaUses({ domains: ['example.com'], now })).flat();
      expect(uses.find(({ period }) => period === 'hour')?.used).toBe(2);
      expect(await kindsOf(store)).toEqual(['accepted', 'accepted', 'accepted']);
    });

    it('settles an outcome once, with one event and one call', async () => {
      await createWebhook(store);
      const { id } = await leased();
      const settlements = [delivered(id)];
      expect(await twice(() => store.settle({ now: T0, settlements }))).toEqual(['settled']);
      expect(await kindsOf(store)).toEqual(['accepted', 'delivered']);
      expect(await claimCalls(store)).toHaveLength(2);
    });

    it('stores one late_outcome of an outcome that came too late', async () => {
      const { id } = await leased();
      const settlements = [delivered(id, 9)];
      expect(await twice(() => store.settle({ now: T0, settlements }))).toEqual(['lease-lost']);
      expect(await kindsOf(store)).toEqual(['accepted', 'late_outcome']);
    });

    it('appends an event once, of a message or of a domain', async () => {
      const { id } = await commitOne(store);
      const events = [id, null].map((deliveryId) => ({
        ...event('complained'),
        domain: 'example.com',
        deliveryId,
      }));
      await twice(() => store.appendEvents({ events }));
      const facts = [{ ...event('opened'), deliveryId: id }];
      expect(await twice(() => store.appendReaderFacts({ facts, quickMs: 0 }))).toBe(1);
      expect(await kindsOf(store)).toEqual(['accepted', 'complained', 'complained', 'opened']);
    });

    it('cancels and queues again once', async () => {
      const { seq: messageSeq, id: deliveryId } = await commitOne(store);
      const change = (kind: 'canceled' | 'requeued') => ({
        ...{ messageSeq, now: T0, expiresAt: T0 + 9, recipients: [{ deliveryId, event: event(kind) }] },
      });
      const cancel = change('canceled');
      expect(await twice(() => store.cancelQueued(cancel))).toEqual({
        changed: [deliveryId],
        tooLate: 0,
      });
      const failed = await leased();
      await store.settle({
        now: T0,
        settlements: [{ ...delivered(failed.id), state: 'failed', events: [] }],
      });
      const again = {
        ...change('requeued'),
        messageSeq: failed.seq,
        recipients: [{ deliveryId: failed.id, event: event('requeued') }],
      };
      expect(await twice(() => store.requeue(again))).toEqual({ kind: 'requeued', count: 1 });
      expect(await kindsOf(store)).toEqual(['accepted', 'canceled', 'accepted', 'requeued']);
    });

    it('makes a thing once, which stays as it was told first', async () => {
      const made = token();
      await twice(() => store.addToken({ maxPerDomain: 1000, token: made }));
      expect(await store.addToken({ maxPerDomain: 1000, token: { ...made, scopes: ['admin'] } })).toBe(
        'added',
      );
      expect(await store.getToken({ id: made.id })).toEqual(made);
      const rotated = token();
      const rotation = { oldId: made.id, oldEndsAt: T0, now: T0, token: rotated, maxPerDomain: 2 };
      expect(await twice(() => store.rotateToken(rotation))).toBe('rotated');
      const login = credential();
      expect(await twice(() => store.addSmtpCredential({ maxPerDomain: 1000, credential: login }))).toBe(
        'added',
      );
      const fault = { rule: rule(), now: T0, maxPerDomain: 1 };
      expect(await twice(() => store.addSandboxRule(fault))).toBe(true);
      const kept = hold();
      await twice(() => store.addHold({ hold: kept }));
      expect(only(await store.listHolds({ now: T0 }))).toEqual(kept);
      const key = { kid: 'one', privateSealed: new Uint8Array([1]), publicJwk: '{}', createdAt: T0 };
      await twice(() => store.addSigningKey(key));
      expect(await store.signingKeys()).toEqual([key]);
      const texts = { subject: 'Hello', html: null, text: 'Hello' };
      const template = { id: newId(), domain: 'example.com', name: 'hello', texts, now: T0, maxPerDomain: 1 };
      expect(await twice(() => store.addTemplate(template))).toBe('added');
      const domain = { name: 'example.com', status: 'Pending', verifiedBy: null, settings: {} } as const;
      const added = { ...domain, verifyToken: 'a'.repeat(32), keys: [], now: T0 };
      expect(await twice(() => store.addDomain(added))).toMatchObject({ kind: 'added' });
      expect(await store.addDomain({ ...added, verifyToken: 'b'.repeat(32) })).toEqual({ kind: 'exists' });
    });
  });
}
