/** Conformance: returned mail is recorded once, changes only its own recipient, and has the described effects. */
import { describe, expect, it } from 'vitest';
import type { ReturnFact } from '../topics/returns.ts';
import {
  claim,
  claimCalls,
  commitOne,
  createWebhook,
  delivered,
  event,
  everyEvent,
  HOUR,
  kindsOf,
  only,
  recipient,
  type Suite,
  signal,
  T0,
} from './fixtures.ts';

/** Tests of the return operations. */
export function describeReturns({ store, reopen }: Suite): void {
  const ADDRESS = 'reader@example.net';
  const bounce = (
    deliveryId: number,
    more: Partial<Extract<ReturnFact, { kind: 'bounce' }>> = {},
  ): ReturnFact => ({
    kind: 'bounce',
    deliveryId,
    class: 'recipient_invalid',
    event: event('bounced'),
    note: event('return_noted'),
    lastReply: '550 5.1.1 No such user',
    lastCode: 550,
    suppress: signal(),
    shared: false,
    mayWait: true,
    ...more,
  });
  const complaint = (deliveryId: number, at = T0 + HOUR): ReturnFact => ({
    kind: 'complaint',
    deliveryId,
    event: event('complained', at),
    suppress: signal({ reason: 'Complaint' }),
  });
  const notSpam = (deliveryId: number): ReturnFact => ({
    kind: 'not-spam',
    deliveryId,
    event: event('complaint_withdrawn'),
  });
  const record = (fact: ReturnFact, now = T0 + HOUR) => store.recordReturn({ fact, now });
  const reasons = async () =>
    (await store.suppressedAmong({ domain: 'example.com', addresses: [ADDRESS], now: T0 + HOUR })).map(
      ({ suppression }) => suppression.reason,
    );
  const deliver = async (more: Parameters<typeof delivered>[2] = {}, address = ADDRESS) => {
    const made = await commitOne(store, { recipients: [recipient({ state: 'sending', address })] });
    const settlements = [delivered(made.id, 1, more)];
    expect(await store.settle({ now: T0 + 1, settlements })).toEqual(['settled']);
    return made;
  };
  const subject = async (deliveryId: number) => only(await store.returnSubjects({ deliveryId }));
  /** Of a delivery whose message has no other. */
  const state = async (deliveryId: number) => {
    const { messageId } = await subject(deliveryId);
    return only((await store.getMessage({ id: messageId }))?.recipients ?? []).state;
  };

  describe('what comes back', () => {
    it('finds its recipient by delivery, by message number and by message id', async () => {
      const { id, seq } = await deliver();
      const found = await subject(id);
      expect(found).toMatchObject({
        deliveryId: id,
        address: ADDRESS,
        route: 'mx',
        sandbox: false,
        sentAt: T0 + 1,
      });
      expect(await store.returnSubjects({ messageSeq: seq })).toEqual([found]);
      expect(await store.returnSubjects({ messageId: found.messageId })).toEqual([found]);
      expect(await store.returnSubjects({ deliveryId: id + 1000 })).toEqual([]);
      expect(await store.returnSubjects({ messageId: 'nonsense' })).toEqual([]);
    });

    it('turns delivered into bounced with event, call and suppression, once, also after a restart', async () => {
      await createWebhook(store);
      const { id } = await deliver();
      await claimCalls(store);
      expect(await record(bounce(id))).toBe('recorded');
      expect(await state(id)).toBe('bounced');
      expect(await reasons()).toEqual(['Bounce']);
      const calls = await claimCalls(store, { now: T0 + 2 * HOUR });
      expect(calls.map(({ event: { kind } }) => kind)).toEqual(['bounced']);
      await reopen();
      expect(await record(bounce(id))).toBe('repeated');
      expect(await kindsOf(store, { kinds: ['bounced', 'suppression_added', 'return_noted'] })).toEqual([
        'bounced',
        'suppression_added',
      ]);
    });

    it('of another class after that is a note and suppresses nobody', async () => {
      const { id } = await deliver();
      await record(bounce(id, { class: 'mailbox_full', suppress: null }));
      expect(await record(bounce(id))).toBe('noted');
      expect(await reasons()).toEqual([]);
      expect(await kindsOf(store, { kinds: ['bounced', 'return_noted'] })).toEqual([
        'bounced',
        'return_noted',
      ]);
    });

    it('waits for a delivery that is being made, unless it has waited long enough', async () => {
      const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      expect(await record(bounce(id))).toBe('under-way');
      expect(await record(bounce(id, { mayWait: false }))).toBe('noted');
      expect(await state(id)).toBe('sending');
    });

    it('acts again after the recipient was sent to again', async () => {
      const { id, seq, queueId } = await deliver();
      await record(bounce(id, { suppress: null }));
      const again = { deliveryId: id, event: event('requeued') };
      await store.requeue({ messageSeq: seq, now: T0, expiresAt: T0 + HOUR, recipients: [again] });
      expect(await claim(store, queueId)).toHaveLength(1);
      await store.settle({ now: T0 + 2, settlements: [delivered(id)] });
      expect(await record(bounce(id, { suppress: null }))).toBe('recorded');
      expect(await state(id)).toBe('bounced');
    });

    it('complains once; not-spam takes back what that made, and nothing else', async () => {
      const { id } = await deliver();
      const other = await deliver();
      expect(await record(notSpam(id))).toBe('nothing');
      expect(await record(complaint(id))).toBe('recorded');
      expect(await record(complaint(id))).toBe('repeated');
      expect(await reasons()).toEqual(['Complaint']);
      expect(await record(notSpam(other.id))).toBe('nothing');
      expect(await reasons()).toEqual(['Complaint']);
      const told: unknown[] = [];
      const stop = store.onSuppressed((changes) => told.push(...changes));
      expect(await record(notSpam(id))).toBe('recorded');
      stop();
      expect(told).toEqual([
        { senderDomain: 'example.com', key: ADDRESS, reason: 'Complaint', lifted: true },
      ]);
      expect(await record(notSpam(id))).toBe('repeated');
      expect(await reasons()).toEqual([]);
      expect(await record(complaint(id))).toBe('repeated');
      expect(await reasons()).toEqual([]);
      expect(await state(id)).toBe('delivered');
    });

    it('keeps somebody on the list whose other complaint stands, until that is taken back too', async () => {
      const entry = async () =>
        (await store.suppressedAmong({ domain: 'example.com', addresses: [ADDRESS], now: T0 })).map(
          ({ suppression }) => suppression.source?.messageId,
        );
      const lift = () => store.removeSuppressions({ domain: 'example.com', address: ADDRESS, now: T0 });
      const first = await deliver();
      const second = await deliver({}, 'Reader@example.net');
      const third = await deliver();
      const stranger = await deliver({}, 'other@example.net');
      for (const { id } of [first, stranger, second]) await record(complaint(id));
      const told: unknown[] = [];
      const stop = store.onSuppressed((changes) => told.push(...changes));
      expect(await record(notSpam(first.id))).toBe('recorded');
      expect(await entry()).toEqual([(await subject(second.id)).messageId]);
      expect(told).toEqual([]);
      // What is withdrawn does not count, in whatever order.
      await record(complaint(third.id));
      await record(notSpam(third.id));
      expect(await entry()).toEqual([(await subject(second.id)).messageId]);
      await record(notSpam(second.id));
      stop();
      expect(await entry()).toEqual([]);
      expect(told).toEqual([
        { senderDomain: 'example.com', key: ADDRESS, reason: 'Complaint', lifted: true },
      ]);
      // Whom somebody has taken off the list is not put back for a complaint of before.
      const before = await deliver();
      const after = await deliver();
      const at = T0 + 24 * HOUR;
      await record(complaint(before.id));
      expect(await lift()).toBe(1);
      await record(complaint(after.id, at), at);
      expect(await record(notSpam(after.id), at + 1)).toBe('recorded');
      expect(await entry()).toEqual([]);
    });

    it('notes once for each class, and knows no delivery that is not there', async () => {
      const { id } = await deliver();
      const note = (of: string): ReturnFact => ({
        kind: 'note',
        deliveryId: id,
        class: of,
        event: event('auto_reply'),
      });
      expect([await record(note('a')), await record(note('b')), await record(note('a'))]).toEqual([
        'recorded',
        'recorded',
        'repeated',
      ]);
      expect(await record(bounce(id + 1000))).toBe('nothing');
      const { events } = await store.findEvents(everyEvent({ kinds: ['auto_reply'] }));
      expect(events.map(({ deliveryId }) => deliveryId)).toEqual([id, id]);
    });
  });

  describe('the rates of a sender domain', () => {
    it('count the newest outcomes, without the sandbox, and complaints that stand', async () => {
      const ids: number[] = [];
      for (let i = 0; i < 4; i += 1) ids.push((await deliver({ events: [event('delivered', T0 + i)] })).id);
      await record(bounce(ids[1] as number, { suppress: null }));
      await record({ ...complaint(ids[2] as number), suppress: null } as ReturnFact);
      await record({ ...complaint(ids[3] as number), suppress: null } as ReturnFact);
      await record(notSpam(ids[3] as number));
      const { id } = await commitOne(store, {
        recipients: [recipient({ state: 'sending', sandbox: 'bounce' })],
      });
      await store.settle({
        now: T0,
        settlements: [
          delivered(id, 1, {
            state: 'bounced',
            events: [event('bounced', T0 + 9), event('complained', T0 + 9)],
          }),
        ],
      });
      const rates = (window: number) => store.outcomeRates({ domain: 'example.com', window });
      expect(await rates(100)).toEqual({ outcomes: 4, bounced: 1, complained: 1 });
      // One that another recipient could have written is a bounce, and does not count.
      expect(await record(bounce(ids[0] as number, { suppress: null, shared: true }))).toBe('recorded');
      expect(await state(ids[0] as number)).toBe('bounced');
      expect(await rates(100)).toEqual({ outcomes: 4, bounced: 1, complained: 1 });
      expect((await rates(2)).outcomes).toBe(2);
      expect(await store.outcomeRates({ domain: 'none.example', window: 9 })).toEqual({
        outcomes: 0,
        bounced: 0,
        complained: 0,
      });
      // What is sent at one person's request counts once, and so do its addresses after a plus sign.
      for (const address of [
        'You@example.net',
        'you+a@example.net',
        'you+b@example.net',
        '+you@example.net',
      ]) {
        const { id: of } = await deliver({}, address);
        await record({ ...complaint(of), suppress: null } as ReturnFact);
        await record(bounce(of, { suppress: null }));
      }
      expect(await rates(100)).toEqual({ outcomes: 8, bounced: 3, complained: 3 });
      const look = { afterSeq: 0, look: 100 };
      expect(await store.returnedDomains(look)).toEqual({ domains: ['example.com'], nextSeq: null });
      const found: string[] = [];
      let looks = 0;
      for (let afterSeq: number | null = 0; afterSeq !== null; looks += 1) {
        const part = await store.returnedDomains({ afterSeq, look: 1 });
        found.push(...part.domains);
        afterSeq = part.nextSeq;
      }
      expect(new Set(found)).toEqual(new Set(['example.com']));
      expect(looks).toBeGreaterThan(2);
      const afterSeq = await store.lastEventSeq();
      expect((await store.returnedDomains({ afterSeq, look: 100 })).domains).toEqual([]);
    });
  });
}
