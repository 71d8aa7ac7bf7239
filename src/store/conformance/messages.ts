/** Conformance: reading one message with its recipients, and lists by every filter. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { EventFilter } from '../topics/events.ts';
import type { MessageFilter } from '../topics/messages.ts';
import {
  claim,
  commit,
  commitOne,
  delivered,
  event,
  HOUR,
  keptSamples,
  message,
  messagesOf,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `getMessage` and `listMessages`. */
export function describeMessages({ store }: Suite): void {
  describe('messages', () => {
    it('are listed for one sender domain while many lists of another are asked for', async () => {
      for (let n = 0; n < 3; n++) await commitOne(store);
      const ended: string[] = [];
      const list = async (domain: string): Promise<void> => {
        await store.listMessages({ domains: [domain], limit: 10, look: 10 });
        ended.push(domain);
      };
      await Promise.all([...Array.from({ length: 40 }, () => list('example.com')), list('other.example')]);
      expect(ended.indexOf('other.example')).toBeLessThan(10);
    });

    it('come back as they were accepted, with their recipients in order', async () => {
      const sent = message({
        tags: ['x'],
        metadata: { a: 'b' },
        sandbox: true,
        recipients: [
          recipient({ address: 'a@example.net', waitReason: 'scheduled', dueAt: T0 + 9 }),
          recipient({ address: 'b@example.net', kind: 'BCC', state: 'suppressed' }),
        ],
      });
      const { seq, deliveries } = only(await commit(store, [sent]));
      const view = await store.getMessage({ id: sent.id });
      expect(view).toEqual({
        seq,
        id: sent.id,
        domain: 'example.com',
        lane: 'normal',
        lists: sent.lists,
        subject: 'Hello',
        tags: ['x'],
        metadata: { a: 'b' },
        sandbox: true,
        listUnsubscribe: false,
        size: sent.content.length,
        createdAt: sent.createdAt,
        sendAt: null,
        expiresAt: sent.expiresAt,
        expiryGiven: false,
        recipients: [
          {
            deliveryId: deliveries[0]?.id,
            address: 'a@example.net',
            kind: 'To',
            state: 'queued',
            routeKey: '',
            attempts: 0,
            dueAt: T0 + 9,
            expiresAt: sent.expiresAt,
            waitReason: 'scheduled',
            lastCode: 0,
            lastReply: null,
            lastCategory: null,
            route: null,
            mayBeDuplicate: false,
            causeId: null,
            updatedAt: T0,
          },
          expect.objectContaining({ deliveryId: deliveries[1]?.id, kind: 'BCC', state: 'suppressed' }),
        ],
      });
    });

    it('come back with every field that is kept as it was given', async () => {
      const kept = keptSamples('Grüße "x", \\ and {}');
      const sent = message(kept);
      await commit(store, [sent]);
      expect(await store.getMessage({ id: sent.id })).toMatchObject(kept);
    });

    it('are not found under unknown ids or in other domains', async () => {
      const sent = message();
      await commit(store, [sent]);
      const get = (id: string, domains: string[]) => store.getMessage({ id, domains });
      expect(await get(sent.id, ['example.com'])).not.toBeNull();
      expect(await get(sent.id, ['example.org'])).toBeNull();
      expect(await get(sent.id, [])).toBeNull();
      expect(await store.getMessage({ id: '01990000-0000-7000-8000-999999999999' })).toBeNull();
      expect(await store.getMessage({ id: 'not an id' })).toBeNull();
    });

    it('are listed newest first and paged by seq', async () => {
      const seqs: number[] = [];
      for (const domain of ['example.com', 'example.org', 'example.com', 'example.org']) {
        seqs.push((await commitOne(store, { domain })).seq);
      }
      const list = async (more: { domains?: string[]; beforeSeq?: number; limit?: number }) =>
        (await messagesOf(store, { limit: 10, ...more })).map((one) => one.seq);
      const newest = [...seqs].reverse();
      expect(await list({})).toEqual(newest);
      expect(await list({ domains: ['example.org', 'example.com'] })).toEqual(newest);
      expect(await list({ domains: ['example.org', 'example.com'], limit: 3 })).toEqual(newest.slice(0, 3));
      expect(await list({ domains: ['example.org'] })).toEqual([seqs[3], seqs[1]]);
      expect(await list({ domains: [] })).toEqual([]);
      expect(await list({ beforeSeq: seqs[2] ?? 0 })).toEqual([seqs[1], seqs[0]]);
    });

    it('are found by sender, recipient, subject, tag, lane, state and time', async () => {
      const a = await commitOne(store, {
        subject: 'Überraschung 50 % _off',
        tags: ['sale'],
        createdAt: T0 + 10,
        recipients: [recipient({ address: 'a@example.net' })],
      });
      const lists = { ...message().lists, from: { name: '', address: 'other@example.com' } };
      const b = await commitOne(store, { lists, lane: 'critical' });
      await claim(store, b.queueId);
      await store.settle({ now: T0, settlements: [delivered(b.id)] });
      const list = async (more: object) =>
        (await messagesOf(store, { limit: 10, ...more })).map((one) => one.seq);
      expect(await list({ from: 'other@example.com' })).toEqual([b.seq]);
      expect(await list({ from: 'Other@example.com' })).toEqual([b.seq]);
      expect(await list({ to: 'a@example.net' })).toEqual([a.seq]);
      expect(await list({ to: 'A@example.net' })).toEqual([a.seq]);
      expect(await list({ subject: 'üBERRASCHUNG' })).toEqual([a.seq]);
      expect(await list({ subject: '% _OFF' })).toEqual([a.seq]);
      expect(await list({ subject: '%' })).toEqual([a.seq]);
      expect(await list({ subject: 'nothing like it' })).toEqual([]);
      expect(await list({ tag: 'sale' })).toEqual([a.seq]);
      expect(await list({ lane: 'critical' })).toEqual([b.seq]);
      expect(await list({ lane: 'bulk' })).toEqual([]);
      expect(await list({ states: ['delivered'] })).toEqual([b.seq]);
      expect(await list({ states: ['queued', 'delivered'] })).toEqual([b.seq, a.seq]);
      expect(await list({ states: [] })).toEqual([]);
      expect(await list({ since: T0 + 10 })).toEqual([a.seq]);
      expect(await list({ until: T0 + 10 })).toEqual([b.seq]);
      expect(await list({ to: 'a@example.net', tag: 'other' })).toEqual([]);
    });

    it('are found by the domain of a recipient, and by the state of that recipient', async () => {
      const [org, net] = ['example.org', 'example.net'];
      const to = (local: string, domain: string, more = {}) =>
        recipient({ address: `${local}@${domain}`, domain, ...more });
      const gone = { state: 'suppressed' } as const;
      const quoted = to(`"bob@${org}"`, 'example.com');
      const [a, b] = await commit(store, [
        message({ recipients: [to('ann', org), to('bob', net, gone)] }),
        message({ recipients: [to('ann', net), to('eve', net, gone), to('bob', `not-${org}`), quoted] }),
      ]);
      if (a === undefined || b === undefined) throw new Error('Nothing was committed');
      const list = async (more: Partial<MessageFilter>) =>
        (await messagesOf(store, more)).map((one) => one.seq);
      expect(await list({ recipientDomain: org })).toEqual([a.seq]);
      expect(await list({ recipientDomain: net })).toEqual([b.seq, a.seq]);
      expect(await list({ recipientDomain: 'xample.net' })).toEqual([]);
      expect(await list({ recipientDomain: '%' })).toEqual([]);
      expect(await list({ recipientDomain: 'example.com' })).toEqual([b.seq]);
      expect(await list({ recipientDomain: net, states: ['queued'] })).toEqual([b.seq]);
      expect(await list({ recipientDomain: org, states: ['suppressed'] })).toEqual([]);
      expect(await list({ recipientDomain: net, states: ['queued'], mixed: true })).toEqual([b.seq]);
      expect(await list({ recipientDomain: org, states: ['queued'], mixed: true })).toEqual([]);
      expect(await list({ recipientDomain: org, to: `bob@${net}` })).toEqual([]);
      expect(await list({ to: `bob@${net}`, states: ['queued'] })).toEqual([]);
      for (const more of [{}, { domains: ['example.com', 'example.org'] }]) {
        const step = { ...more, recipientDomain: net, limit: 10, look: 1 };
        const found: number[] = [];
        for (let place: number | null = a.seq + b.seq; place !== null; ) {
          const { messages, nextSeq } = await store.listMessages({ ...step, beforeSeq: place });
          found.push(...messages.map(({ seq }) => seq));
          place = nextSeq;
        }
        expect(found).toEqual([b.seq, a.seq]);
      }
    });

    it('are looked at so many at a time, whether they match or not', async () => {
      const wanted = await commitOne(store, { subject: 'Wanted', createdAt: T0 });
      for (let n = 0; n < 5; n += 1) await commitOne(store, { createdAt: T0 + n });
      const found: number[] = [];
      let looks = 0;
      for (let next: number | null = Number.MAX_SAFE_INTEGER; next !== null; looks += 1) {
        const filter = { subject: 'wanted', domains: ['example.com', 'example.org'], limit: 10, look: 2 };
        const page: Awaited<ReturnType<Store['listMessages']>> = await store.listMessages({
          ...filter,
          beforeSeq: next,
        });
        found.push(...page.messages.map((one) => one.seq));
        next = page.nextSeq;
      }
      expect([found, looks]).toEqual([[wanted.seq], 4]);
    });

    it('to one recipient are found, and their events, whether they are indexed or not, and no more once erased', async () => {
      const to = (address: string) =>
        recipient({ address, state: 'suppressed', events: [event('suppressed')] });
      const send = async (addresses: readonly string[], domain = 'example.com') =>
        only(await commit(store, [message({ domain, recipients: addresses.map(to) })]));
      const first = await send(['Ann@example.net', 'bob@example.net']);
      const second = await send(['ann@example.net'], 'other.example');
      await send(['joann@example.net']);
      const many = Array.from({ length: 50 }, (_, n) => `r${n}@example.net`);
      const wide = await send(many);
      const found = async (more: Partial<MessageFilter>) => {
        const seqs: number[] = [];
        let beforeSeq: number | null | undefined;
        while (beforeSeq !== null) {
          const place = beforeSeq === undefined ? {} : { beforeSeq };
          const page = await store.listMessages({ limit: 1, look: 1, ...more, ...place });
          seqs.push(...page.messages.map(({ seq }) => seq));
          beforeSeq = page.nextSeq;
        }
        return seqs;
      };
      const eventsTo = async (recipient: string, more: Partial<EventFilter> = {}) => {
        const asked = { recipient, newestFirst: true, look: 100, limit: 100, ...more };
        return (await store.findEvents(asked)).events.length;
      };
      const check = async (seqs: readonly number[]) => {
        expect(await found({ to: 'ANN@example.net' })).toEqual(seqs);
        expect(await found({ to: 'ann@example.net', domains: ['other.example'] })).toEqual([second.seq]);
        expect(await found({ to: 'nobody@example.net' })).toEqual([]);
        expect(await eventsTo('ann@example.net')).toBe(seqs.length - 1);
        expect(await eventsTo('ann@example.net', { domains: ['other.example'] })).toBe(1);
        expect(await eventsTo('ann@example.net', { newestFirst: false, afterSeq: 0 })).toBe(seqs.length - 1);
        expect(await eventsTo('ann@example.net', { kinds: ['delivered'] })).toBe(0);
      };
      await check([second.seq, first.seq]);
      // Portions end within a message.
      while (await store.indexRecipients({ limit: 3 }));
      await check([second.seq, first.seq]);
      for (const address of many) expect(await found({ to: address })).toEqual([wide.seq]);
      const last = await send(['ann@example.net']);
      await check([last.seq, second.seq, first.seq]);
      const lastTwo = { to: 'ann@example.net', since: T0 - HOUR, until: T0 + HOUR, limit: 2 };
      expect(await found(lastTwo)).toEqual([last.seq, second.seq, first.seq]);
      expect(await found({ to: 'ann@example.net', recipientDomain: 'example.com' })).toEqual([]);
      const all = [last.seq, second.seq, first.seq];
      await store.eraseMessages({ address: 'ann@example.net', seqs: all });
      expect(await found({ to: 'ann@example.net' })).toEqual([]);
      expect(await found({ to: 'erased@erased.invalid' })).toEqual(all);
      expect(await found({ to: 'bob@example.net' })).toEqual([first.seq]);
      await store.purgeMessages({ seqs: [first.seq], maxRows: 100 });
      expect(await found({ to: 'bob@example.net' })).toEqual([]);
      expect(await found({ to: 'erased@erased.invalid' })).toEqual([last.seq, second.seq]);
    });

    it('outside of the time that is asked for are not looked at', async () => {
      const day = 24 * HOUR;
      const seqs: number[] = [];
      for (let n = 0; n < 9; n += 1) seqs.push((await commitOne(store, { createdAt: T0 + n * day })).seq);
      const filter = { since: T0 + 3 * day, until: T0 + 5 * day, limit: 10, look: 3 };
      const page = await store.listMessages(filter);
      expect(page.messages.map((one) => one.seq)).toEqual([seqs[4], seqs[3]]);
    });

    it('are found by what waits among their recipients, and by recipients in several states', async () => {
      const scheduled = recipient({ waitReason: 'scheduled', dueAt: T0 + 9 });
      const a = await commitOne(store, { recipients: [scheduled] });
      await commitOne(store);
      const suppressed = recipient({ state: 'suppressed' });
      const [both] = await commit(store, [message({ recipients: [recipient(), suppressed] })]);
      const list = async (more: Partial<MessageFilter>) =>
        (await messagesOf(store, { states: ['queued'], ...more })).map((one) => one.seq);
      expect(await list({ waiting: 'scheduled' })).toEqual([a.seq]);
      expect(await list({ waiting: 'tried' })).toEqual([]);
      expect(await list({ mixed: true })).toEqual([both?.seq]);
    });

    it('are found by the way their recipients were reached', async () => {
      const [left, kept] = [await commitOne(store), await commitOne(store)];
      await claim(store, left.queueId);
      await store.settle({
        now: T0,
        settlements: [delivered(left.id), { ...delivered(kept.id), route: 'sandbox' }],
      });
      const list = async (route: 'mx' | 'sandbox') =>
        (await messagesOf(store, { states: ['delivered'], route })).map((one) => one.seq);
      expect(await list('mx')).toEqual([left.seq]);
      expect(await list('sandbox')).toEqual([kept.seq]);
    });
  });
}
