/** Conformance: facts to report to senders of SMTP mail: each is stored with its change and reported once. */
import { describe, expect, it } from 'vitest';
import type { NewMessage, ToldNotice } from '../topics/acceptance.ts';
import type { EventDetail } from '../topics/events.ts';
import type { DueNotice } from '../topics/notices.ts';
import type { Settlement } from '../topics/queue.ts';
import {
  claim,
  commit,
  delivered,
  event,
  HOUR,
  message,
  messagesOf,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

const SENDER = 'ann@example.com';

/** Tests of `dueNotices`, `putOffNotices`, and of the member `tells` of `commitAccepted`. */
export function describeNotices({ store, reopen }: Suite): void {
  const due = (dueBefore = T0 + HOUR, more: { limit?: number; maxRecipients?: number } = {}) =>
    store.dueNotices({ dueBefore, now: dueBefore, limit: 10, maxRecipients: 100, ...more });
  const bounced = (deliveryId: number, more: Partial<Settlement> = {}): Settlement => ({
    deliveryId,
    epoch: 1,
    state: 'bounced',
    countAttempt: true,
    events: [event('bounced', T0 + 5, { detail: DETAIL })],
    ...more,
  });
  const settle = (settlements: Settlement[], now = T0 + 5) => store.settle({ settlements, now });
  const sending = (address = 'reader@example.net', more: Parameters<typeof recipient>[0] = {}) =>
    recipient({ address, state: 'sending', notify: ['failure'], ...more });
  const mail = (more: Partial<NewMessage> = {}) =>
    message({ notice: { sender: SENDER, ret: 'FULL', envid: 'QQ1' }, recipients: [sending()], ...more });
  const one = async (more: Partial<NewMessage> = {}) => {
    const { seq, deliveries } = only(await commit(store, [mail(more)]));
    return { seq, ids: deliveries.map(({ id }) => id), id: deliveries[0]?.id ?? -1 };
  };
  const tellsOf = (notice: DueNotice, now = T0 + HOUR): ToldNotice => ({
    messageSeq: notice.messageSeq,
    upToId: notice.upToId,
    sender: notice.sender,
    now,
  });
  const tell = (tells: ToldNotice, more: Partial<NewMessage> = {}) =>
    store.commitAccepted({ messages: [message(more)], epoch: 1, idempotency: null, tells });

  describe('notices', () => {
    it('tell of a failure with its facts, once it is due', async () => {
      const { seq, id } = await one({
        recipients: [sending('reader@example.net', { orcpt: 'rfc822;first@example.org' })],
        subject: 'Offer',
      });
      await settle([bounced(id, { lastReply: '550 5.1.1 No such user' })]);
      expect(await due(T0 + 4)).toEqual([]);
      expect(only(await due(T0 + 5))).toMatchObject({
        messageSeq: seq,
        sender: SENDER,
        ret: 'FULL',
        envid: 'QQ1',
        subject: 'Offer',
        sandbox: false,
        oldestAt: T0 + 5,
        more: 0,
        toldThisHour: 0,
        recipients: [
          {
            address: 'reader@example.net',
            orcpt: 'rfc822;first@example.org',
            kind: 'failure',
            state: 'bounced',
            at: T0 + 5,
            lastReply: '550 5.1.1 No such user',
            detail: DETAIL,
          },
        ],
      });
    });

    it('are written for those outcomes alone that were asked for', async () => {
      const { ids } = await one({
        recipients: [
          sending('a@example.net', { notify: [] }),
          sending('b@example.net', { notify: ['success'] }),
          sending('c@example.net', { notify: ['success', 'delay'] }),
          sending('d@example.net', { notify: ['failure'] }),
        ],
      });
      const [a = 0, b = 0, c = 0, d = 0] = ids;
      await settle([bounced(a), bounced(b), delivered(c), delivered(d)]);
      expect(only(await due()).recipients.map(({ address, kind }) => [address, kind])).toEqual([
        ['c@example.net', 'success'],
      ]);
    });

    it('are none for mail without a sender to tell', async () => {
      const plain = only(await commit(store, [message({ recipients: [sending()] })]));
      await settle([bounced(only(plain.deliveries).id)]);
      expect(await due()).toEqual([]);
    });

    it.each(['bounced', 'failed', 'suppressed', 'rejected'] as const)(
      'tell of %s as a failure',
      async (state) => {
        const { id } = await one();
        await settle([bounced(id, { state })]);
        expect(only(await due()).recipients).toMatchObject([{ kind: 'failure', state }]);
      },
    );

    it('tell of recipients that were suppressed at acceptance', async () => {
      await one({
        recipients: [
          sending('no@example.net', { state: 'suppressed', events: [event('suppressed')] }),
          sending('quiet@example.net', { state: 'suppressed', notify: [], events: [event('suppressed')] }),
        ],
      });
      expect(only(await due()).recipients).toMatchObject([
        { address: 'no@example.net', state: 'suppressed' },
      ]);
    });

    it('tell of a bounce that comes after delivery', async () => {
      const { id } = await one();
      await settle([delivered(id)]);
      expect(await due()).toEqual([]);
      await store.recordReturn({
        now: T0 + 9,
        fact: {
          kind: 'bounce',
          deliveryId: id,
          class: 'mailbox_full',
          event: event('bounced', T0 + 9, { detail: DETAIL }),
          note: event('return_noted', T0 + 9),
          lastReply: '552 5.2.2 Full',
          lastCode: 552,
          suppress: null,
          shared: false,
          mayWait: false,
        },
      });
      expect(only(await due()).recipients).toMatchObject([
        { kind: 'failure', state: 'bounced', detail: DETAIL },
      ]);
    });

    it('tell of a delay once, after half of the time it may wait, and not when it is over', async () => {
      const made = await one({ recipients: [sending('late@example.net', { notify: ['delay'] })] });
      const { queueId } = only((await commit(store, [message()]))[0]?.deliveries ?? []);
      const wait = async (at: number) => {
        const deferred = { dueAt: at + 1, events: [event('deferred', at, { detail: DETAIL })] };
        await settle([bounced(made.id, { state: 'queued', ...deferred })], at);
        const rows = await claim(store, queueId, { now: at + 1 });
        expect(rows.map(({ id }) => id)).toContain(made.id);
      };
      await wait(T0 + HOUR / 2 - 10);
      expect(await due()).toEqual([]);
      await wait(T0 + HOUR / 2);
      const first = only(await due());
      expect(first.recipients).toMatchObject([{ kind: 'delay', state: 'sending' }]);
      expect((await tell(tellsOf(first))).kind).toBe('committed');
      await wait(T0 + HOUR / 2 + 20);
      expect(await due()).toEqual([]);
    });

    it('leave out a delay that is over', async () => {
      const { id } = await one({ recipients: [sending('late@example.net', { notify: ['delay'] })] });
      await settle([bounced(id, { state: 'queued', dueAt: T0 + HOUR, events: [] })], T0 + HOUR / 2);
      expect(only(await due()).recipients).toMatchObject([{ kind: 'delay', detail: null }]);
      await store.cancelQueued({
        messageSeq: 1,
        now: T0 + HOUR,
        recipients: [{ deliveryId: id, event: event('canceled') }],
      });
      expect(only(await due()).recipients).toEqual([]);
    });

    it('list failures first, and say how many found no room', async () => {
      const recipients = Array.from({ length: 30 }, (_, i) =>
        sending(`r${i}@example.net`, { notify: ['failure', 'success'] }),
      );
      const { ids } = await one({ recipients });
      await settle(ids.map((id, i) => (i < 20 ? delivered(id) : bounced(id))));
      const found = only(await due(undefined, { maxRecipients: 12 }));
      expect(found.recipients.map(({ kind }) => kind)).toEqual([
        ...Array.from({ length: 10 }, () => 'failure'),
        'success',
        'success',
      ]);
      expect(found.more).toBe(18);
    });

    it('are told with the commit of the notice, and never twice', async () => {
      const { id } = await one();
      await settle([bounced(id)]);
      const notice = only(await due());
      const sent = { nullSender: true, subject: 'Undelivered mail' };
      expect((await tell(tellsOf(notice), sent)).kind).toBe('committed');
      expect(await due()).toEqual([]);
      const before = (await messagesOf(store, { limit: 100 })).length;
      expect(await tell(tellsOf(notice), sent)).toEqual({ kind: 'told' });
      expect((await messagesOf(store, { limit: 100 })).length).toBe(before);
      await reopen();
      expect(await due()).toEqual([]);
    });

    it('keep what happens after they were read', async () => {
      const { ids } = await one({ recipients: [sending('a@example.net'), sending('b@example.net')] });
      const [a = 0, b = 0] = ids;
      await settle([bounced(a)]);
      const notice = only(await due());
      await settle([bounced(b)]);
      await tell(tellsOf(notice));
      expect(only(await due()).recipients.map(({ address }) => address)).toEqual(['b@example.net']);
    });

    it('are counted for each sender and hour', async () => {
      for (const at of [T0, T0, T0 + HOUR]) {
        const { id } = await one();
        await settle([bounced(id)]);
        await tell(tellsOf(only(await due()), at));
      }
      const { id } = await one();
      await settle([bounced(id)]);
      const at = async (now: number) =>
        only(await store.dueNotices({ dueBefore: T0 + HOUR, now, limit: 10, maxRecipients: 1 }));
      expect((await at(T0)).toldThisHour).toBe(2);
      expect((await at(T0 + HOUR)).toldThisHour).toBe(1);
      expect((await at(T0 + 5 * HOUR)).toldThisHour).toBe(0);
    });

    it('can be put off, and given up', async () => {
      const { id } = await one();
      await settle([bounced(id)]);
      const { messageSeq, upToId } = only(await due());
      expect(await store.putOffNotices({ messageSeq, upToId, dueFrom: T0 + 2 * HOUR })).toBe(1);
      expect(await due(T0 + 2 * HOUR - 1)).toEqual([]);
      expect(await due(T0 + 2 * HOUR)).toHaveLength(1);
      expect(await store.putOffNotices({ messageSeq, upToId, dueFrom: null })).toBe(1);
      expect(await due(T0 + 9 * HOUR)).toEqual([]);
    });

    it('keep a content that is to go until they are told', async () => {
      const { seq, id } = await one({ keepContent: false });
      await settle([bounced(id)]);
      expect(await store.readContent({ messageSeq: seq })).not.toBeNull();
      await tell(tellsOf(only(await due())));
      expect(await store.readContent({ messageSeq: seq })).toBeNull();
    });

    it('go with their message, and with the person they are for', async () => {
      const first = await one();
      const second = await one({ notice: { sender: 'boss@example.com', ret: null, envid: null } });
      await settle([bounced(first.id), bounced(second.id)]);
      const { seqs } = await store.findMentions({ address: 'Boss@example.com', afterSeq: 0, limit: 10 });
      expect(seqs).toEqual([second.seq]);
      await store.eraseMessages({ address: 'boss@example.com', seqs });
      expect(only(await due()).messageSeq).toBe(first.seq);
    });

    it('say with a claim that a message has the null sender', async () => {
      const { deliveries } = only(await commit(store, [message({ nullSender: true })]));
      const [row] = await claim(store, only(deliveries).queueId);
      expect(row?.nullSender).toBe(true);
      const other = only(await commit(store, [message()]));
      const [plain] = await claim(store, only(other.deliveries).queueId);
      expect(plain?.nullSender).toBeUndefined();
    });
  });
}

const DETAIL: EventDetail = {
  reason: 'The address does not exist',
  bounce: {
    Type: 'Permanent',
    Class: 'RecipientInvalid',
    Scope: 'recipient',
    Phase: 'Session',
    SmtpCode: 550,
    EnhancedCode: '5.1.1',
    Diagnostic: '550 5.1.1 No such user',
    RemoteMta: 'mx.example.net',
  },
};
