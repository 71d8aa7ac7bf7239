/** Conformance: causes are created by settling, counted, left after a delivery or retry, and deleted when empty. */
import { describe, expect, it } from 'vitest';
import type { NewCause } from '../topics/causes.ts';
import { commitOne, delivered, newId, recipient, type Suite, T0 } from './fixtures.ts';

const CAUSE: NewCause = {
  category: 'ip_blocklisted',
  scope: 'path',
  site: 'example.net',
  senderDomain: '',
  shape: '550 5.7.1 <ip> blocked',
  reply: '550 5.7.1 192.0.2.7 blocked',
};

/** Tests of `settle` with a cause, `listCauses`, `getCause`, `causeMembers`, `purgeCauses`. */
export function describeCauses({ store }: Suite): void {
  describe('cause groups', () => {
    async function failing(cause: NewCause, state: 'queued' | 'bounced' | 'failed', now = T0) {
      const address = `${state}-${now - T0}@example.net`;
      const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending', address })] });
      await settleWith(id, cause, state, now);
      return id;
    }

    async function settleWith(
      deliveryId: number,
      cause: NewCause,
      state: 'queued' | 'bounced' | 'failed',
      now = T0,
    ) {
      await store.settle({
        now,
        settlements: [
          { deliveryId, epoch: 1, state, dueAt: now + 60_000, countAttempt: true, events: [], cause },
        ],
      });
    }

    const list = () => store.listCauses({ limit: 10, countUpTo: 100 });

    it('groups what failed or waits for the same reason, whatever was said word for word', async () => {
      await failing(CAUSE, 'queued');
      await failing({ ...CAUSE, reply: 'another address' }, 'bounced', T0 + 5);
      await failing(CAUSE, 'failed', T0 + 60_000);
      await failing(CAUSE, 'queued', T0 + 60_000);
      await failing({ ...CAUSE, senderDomain: 'example.com', scope: 'sender_domain' }, 'bounced');
      const causes = await list();
      expect(causes).toHaveLength(2);
      expect(causes[0]).toMatchObject({
        ...CAUSE,
        waiting: 2,
        failed: 2,
        firstSeen: T0,
        lastSeen: T0 + 60_000,
        example: { recipient: 'queued-60000@example.net' },
      });
      expect(causes[1]).toMatchObject({ senderDomain: 'example.com', waiting: 0, failed: 1 });
    });

    it('finds the messages of a group, and names it to each of its recipients', async () => {
      await failing(CAUSE, 'queued');
      await failing({ ...CAUSE, site: 'other.example' }, 'bounced', T0 + 5);
      const [, first] = await list();
      const found = await store.listMessages({ cause: first?.id ?? 0, limit: 10, look: 100 });
      expect(found.messages.map(({ recipients }) => recipients.map(({ causeId }) => causeId))).toEqual([
        [first?.id],
      ]);
      await commitOne(store);
      const all = await store.listMessages({ limit: 10, look: 100 });
      expect(all.messages[0]?.recipients[0]?.causeId).toBeNull();
    });

    it('lists what lies behind a place, also where several were seen at once', async () => {
      for (const site of ['a.example', 'b.example', 'c.example'])
        await failing({ ...CAUSE, site }, 'bounced');
      await failing({ ...CAUSE, site: 'd.example' }, 'bounced', T0 + 1);
      const seen: string[] = [];
      for (let before: { lastSeen: number; id: number } | undefined; ; ) {
        const [cause] = await store.listCauses({ ...(before && { before }), limit: 1, countUpTo: 1 });
        if (cause === undefined) break;
        seen.push(cause.site);
        before = cause;
      }
      expect(seen).toEqual(['d.example', 'c.example', 'b.example', 'a.example']);
    });

    it('counts up to a bound, and gives the members in order', async () => {
      const ids: number[] = [];
      for (let i = 0; i < 5; i++) ids.push(await failing(CAUSE, 'bounced'));
      const [cause] = await store.listCauses({ limit: 1, countUpTo: 3 });
      expect(cause?.failed).toBe(3);
      const id = cause?.id ?? 0;
      const first = await store.causeMembers({ id, afterId: 0, limit: 2 });
      const rest = await store.causeMembers({ id, afterId: ids[1] ?? 0, limit: 10 });
      expect([...first, ...rest].map(({ deliveryId }) => deliveryId)).toEqual(ids);
      expect(first[0]).toMatchObject({
        domain: 'example.com',
        lane: 'normal',
        sandbox: false,
        routeKey: '',
      });
    });

    it('is left by a delivery and by a new try; an outcome without a cause keeps the last one', async () => {
      const one = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      await settleWith(one.id, CAUSE, 'queued');
      const two = await failing(CAUSE, 'bounced');
      const id = (await list())[0]?.id ?? 0;
      const [again] = await store.claimDue({
        queueId: one.queueId,
        epoch: 1,
        now: T0 + 60_000,
        limit: 1,
        maxBytes: 1e6,
        eventId: newId(),
      });
      expect(again?.id).toBe(one.id);
      await store.settle({ now: T0, settlements: [delivered(one.id)] });
      expect(await store.getCause({ id, countUpTo: 10 })).toMatchObject({ waiting: 0, failed: 1 });
      const members = await store.causeMembers({ id, afterId: 0, limit: 10 });
      await store.requeue({
        messageSeq: members[0]?.messageSeq ?? 0,
        now: T0,
        expiresAt: T0 + 1e6,
        recipients: [{ deliveryId: two, event: { id: newId(), kind: 'requeued', at: T0, detail: null } }],
      });
      expect(await store.getCause({ id, countUpTo: 10 })).toBeNull();
      expect(await list()).toEqual([]);
    });

    it('is forgotten when nobody is left in it and it is old', async () => {
      const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      await settleWith(id, CAUSE, 'bounced', T0);
      expect(await store.purgeCauses({ before: T0 + 1, limit: 10 })).toBe(0);
      const [cause] = await list();
      const [member] = await store.causeMembers({ id: cause?.id ?? 0, afterId: 0, limit: 1 });
      await store.requeue({
        messageSeq: member?.messageSeq ?? 0,
        now: T0,
        expiresAt: T0 + 1e6,
        recipients: [{ deliveryId: id, event: { id: newId(), kind: 'requeued', at: T0, detail: null } }],
      });
      expect(await store.purgeCauses({ before: T0, limit: 10 })).toBe(0);
      expect(await store.purgeCauses({ before: T0 + 1, limit: 10 })).toBe(1);
    });
  });
}
