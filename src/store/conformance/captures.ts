/** Conformance: captured mail: found by filter and by id, deleted. */
import { describe, expect, it } from 'vitest';
import type { NewMessage } from '../topics/acceptance.ts';
import { commit, delivered, message, newId, only, recipient, type Suite, T0, token } from './fixtures.ts';
import { credential } from './smtp-credentials.ts';

/** Tests of `findCaptures`, `markCaptures`, `capturesSince`, `getCapture`, `releaseFacts`, `listInboxes`, `deleteCaptures`. */
export function describeCaptures({ store }: Suite): void {
  describe('captures', () => {
    /** Accepts and captures one message; the capture's id. */
    async function capture(more: Partial<NewMessage> = {}, inbox = 'main', at = T0): Promise<string> {
      const sending = recipient({ state: 'sending', sandbox: 'deliver', address: `${inbox}@example.net` });
      const { deliveries } = only(await commit(store, [message({ recipients: [sending], ...more })]));
      const id = newId();
      const copy = { id, at, envelopeFrom: 'bounce@example.com', inbox, prefix: new Uint8Array([1]) };
      await store.settle({ now: T0, settlements: [delivered(only(deliveries).id, 1, { capture: copy })] });
      return id;
    }
    const list = async (more: object) =>
      (await store.findCaptures({ limit: 10, look: 100, ...more })).captures.map((one) => one.id);

    it('may have any subject that mail can have', async () => {
      const letters = Array.from({ length: 998 }, (_, i) =>
        String.fromCodePoint(0x20000 + ((i * 7919) % 40_000)),
      );
      const id = await capture({ subject: letters.join('') });
      expect(await list({ inbox: 'main', subject: letters.slice(0, 300).join('') })).toEqual([id]);
    });

    const unreadSeqs = async () =>
      (await store.unreadCaptures({ limit: 10 })).map(({ messageSeq }) => messageSeq);
    const erase = async (which: object) => (await store.deleteCaptures({ limit: 100, ...which })).deleted;

    it('show the copy with its message', async () => {
      const sent = message({ tags: ['t'], recipients: [recipient({ state: 'sending' })] });
      const id = await capture({ ...sent });
      expect(await store.getCapture({ id })).toEqual({
        seq: expect.any(Number),
        id,
        messageId: sent.id,
        messageSeq: expect.any(Number),
        domain: 'example.com',
        inbox: 'main',
        at: T0,
        envelopeFrom: 'bounce@example.com',
        envelopeTo: 'reader@example.net',
        lists: sent.lists,
        subject: 'Hello',
        size: sent.content.length,
        tags: ['t'],
        prefix: new Uint8Array([1]),
        fill: null,
        released: null,
        seenAt: null,
      });
      expect(await store.getCapture({ id, domains: ['example.com'] })).not.toBeNull();
      expect(await store.getCapture({ id, domains: ['example.org'] })).toBeNull();
      expect(await store.getCapture({ id: 'nothing' })).toBeNull();
    });

    it('are marked as seen and as not, within the domains, and counted so', async () => {
      const a = await capture();
      const b = await capture({}, 'other');
      const c = await capture({ domain: 'example.org' });
      const mark = (which: object, seenAt: number | null = T0 + 1) =>
        store.markCaptures({ limit: 100, seenAt, ...which });
      const unseen = async () => (await store.listInboxes({ limit: 9 })).map((one) => one.unseen);
      expect(await unseen()).toEqual([1, 1, 1]);
      expect(await mark({ ids: [a, c, 'nothing'], domains: ['example.com'] })).toEqual({
        changed: 1,
        next: null,
      });
      expect(await mark({ ids: [a] }, T0 + 9)).toEqual({ changed: 0, next: null });
      expect((await store.getCapture({ id: a }))?.seenAt).toBe(T0 + 1);
      expect((await store.getCapture({ id: c }))?.seenAt).toBeNull();
      expect(await list({ seen: true })).toEqual([a]);
      expect(await list({ seen: false })).toEqual([c, b]);
      expect(await unseen()).toEqual([0, 1, 1]);
      const { changed, next } = await mark({ limit: 2 });
      expect(changed).toBe(2);
      expect(await mark({ limit: 2, beforeSeq: next })).toEqual({ changed: 0, next: null });
      expect(await unseen()).toEqual([0, 0, 0]);
      expect((await mark({ inbox: 'other' }, null)).changed).toBe(1);
      expect(await list({ seen: false })).toEqual([b]);
      await erase({ inbox: 'other' });
      expect(await unseen()).toEqual([0, 0]);
    });

    it('know what a release of their message needs, until it is gone', async () => {
      const id = await capture({ eightBit: true, keepContent: false, dateOffset: 7 });
      const { messageSeq = 0 } = (await store.getCapture({ id })) ?? {};
      expect(await store.releaseFacts({ messageSeq })).toEqual({
        keepContent: false,
        bodyOffset: 18,
        needsSmtpUtf8: false,
        eightBit: true,
        dateOffset: 7,
      });
      expect(await store.releaseFacts({ messageSeq: messageSeq + 1 })).toBeNull();
    });

    it('can be followed from one look to the next', async () => {
      const since = (afterSeq: number, more: object = {}) =>
        store.capturesSince({ afterSeq, limit: 10, look: 100, ...more });
      const ids = (result: Awaited<ReturnType<typeof since>>) => result.captures.map((one) => one.id);
      expect(await since(0)).toEqual({ captures: [], lastSeq: 0, more: false });
      const a = await capture();
      const b = await capture({ domain: 'example.org' }, 'other');
      const first = await since(0);
      expect(ids(first)).toEqual([a, b]);
      expect(ids(await since(first.lastSeq))).toEqual([]);
      expect((await since(first.lastSeq)).lastSeq).toBe(first.lastSeq);
      const none = await since(0, { inbox: 'nobody' });
      expect(none).toEqual({ captures: [], lastSeq: first.lastSeq, more: false });
      const c = await capture({}, 'other');
      expect(ids(await since(none.lastSeq, { inbox: 'other' }))).toEqual([c]);
      const page = await since(0, { limit: 1, domains: ['example.com'] });
      expect(ids(page)).toEqual([a]);
      expect(ids(await since(page.lastSeq, { domains: ['example.com'] }))).toEqual([c]);
      expect(ids(await since(Number.MAX_SAFE_INTEGER))).toEqual([]);
    });

    it('are followed so many at a time, whether they match or not', async () => {
      for (let n = 0; n < 3; n += 1) await capture();
      const wanted = await capture({ subject: 'Wanted' });
      const ask = (afterSeq: number) =>
        store.capturesSince({ afterSeq, subject: 'wanted', limit: 10, look: 2 });
      const first = await ask(0);
      expect([first.captures.length, first.more]).toEqual([0, true]);
      const second = await ask(first.lastSeq);
      expect([second.captures.map(({ id }) => id), second.more]).toEqual([[wanted], false]);
    });

    it('are listed newest first by every filter and paged by id', async () => {
      const a = await capture({ subject: 'Ärger', tags: ['x'] }, 'main', T0 + 5);
      const b = await capture({ domain: 'example.org' }, 'other');
      expect(await list({})).toEqual([b, a]);
      expect(await list({ limit: 1 })).toEqual([b]);
      const page = await store.findCaptures({ limit: 1, look: 100 });
      expect(await list({ beforeSeq: page.nextSeq ?? 0 })).toEqual([a]);
      expect(await list({ domains: ['example.org'] })).toEqual([b]);
      expect(await list({ domains: [] })).toEqual([]);
      expect(await list({ inbox: 'other' })).toEqual([b]);
      expect(await list({ to: 'Main@Example.net' })).toEqual([a]);
      expect(await list({ inbox: 'main', to: 'MAIN@example.net' })).toEqual([a]);
      expect(await list({ from: 'Sender@example.com' })).toEqual([b, a]);
      expect(await list({ from: 'nobody@example.com' })).toEqual([]);
      expect(await list({ subject: 'ärg' })).toEqual([a]);
      expect(await list({ tag: 'x' })).toEqual([a]);
      expect(await list({ since: T0 + 5 })).toEqual([a]);
      expect(await list({ until: T0 + 5 })).toEqual([b]);
      expect(await list({ inbox: 'other', tag: 'x' })).toEqual([]);
    });

    it('are paged by a place that stays while mail comes and goes', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await capture());
      const first = await store.findCaptures({ limit: 2, look: 100 });
      expect(first.captures.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
      await erase({ ids: [ids[3] ?? '', ids[2] ?? ''] });
      await capture();
      const beforeSeq = first.nextSeq ?? 0;
      const second = await store.findCaptures({ beforeSeq, limit: 2, look: 100 });
      expect(second.captures.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    });

    it('are looked at so many at a time', async () => {
      await capture({ subject: 'Old' });
      for (let n = 0; n < 3; n += 1) await capture();
      const wanted = { inbox: 'main', subject: 'old', limit: 10, look: 2 };
      const first = await store.findCaptures(wanted);
      expect([first.captures.length, first.nextSeq === null]).toEqual([0, false]);
      const second = await store.findCaptures({ ...wanted, beforeSeq: first.nextSeq ?? 0 });
      expect(second.captures.map(({ subject }) => subject)).toEqual(['Old']);
      const third = await store.findCaptures({ ...wanted, beforeSeq: second.nextSeq ?? 0 });
      expect(third).toEqual({ captures: [], unread: [], nextSeq: null });
    });

    it('are found by what was read in them, and by nothing before', async () => {
      const a = await capture({ subject: 'First word' });
      const b = await capture();
      const find = async (more: object) => {
        const { captures, unread } = await store.findCaptures({ limit: 10, look: 100, ...more });
        return { ids: captures.map(({ id }) => id), unread: unread.length };
      };
      expect(await find({ text: 'hidden' })).toEqual({ ids: [b, a], unread: 2 });
      const unread = await unreadSeqs();
      expect(unread).toHaveLength(2);
      const [newer = 0, older = 0] = unread;
      await store.putCaptureTexts({
        texts: [
          { messageSeq: older, hasFiles: true, text: 'what is hidden' },
          { messageSeq: 999_999, hasFiles: true, text: 'of no capture' },
        ],
      });
      expect(await unreadSeqs()).toEqual([newer]);
      expect(await find({ text: 'hidden' })).toEqual({ ids: [b, a], unread: 1 });
      await store.putCaptureTexts({ texts: [{ messageSeq: newer, hasFiles: false, text: '' }] });
      expect(await find({ text: 'hidden' })).toEqual({ ids: [a], unread: 0 });
      expect(await find({ text: 'first w' })).toEqual({ ids: [a], unread: 0 });
      expect(await find({ hasFiles: false })).toEqual({ ids: [b], unread: 0 });
      expect(await find({ hasFiles: true, inbox: 'main', text: 'what is' })).toEqual({ ids: [a], unread: 0 });
      expect(await find({ text: 'hidden', to: 'main@example.net' })).toEqual({ ids: [a], unread: 0 });
      expect((await find({ domains: ['example.com'], text: 'hidden' })).ids).toEqual([a]);
    });

    it('that were not indexed are told by domain, at most so many domains and of each so many, newest first', async () => {
      for (const domain of ['example.com', 'example.com', 'example.com', 'example.org', 'example.net']) {
        await capture({ domain });
      }
      const all = await store.unreadCaptures({ limit: 10 });
      const domains = [...new Set(all.map(({ domainId }) => domainId))];
      expect([all.length, domains.length]).toEqual([5, 3]);
      expect(all).toEqual([...all].sort((a, b) => a.domainId - b.domainId || b.messageSeq - a.messageSeq));
      const of = (domain: number | undefined, count: number) =>
        all.filter(({ domainId }) => domainId === domain).slice(0, count);
      const [first, second, third] = domains;
      expect(await store.unreadCaptures({ limit: 2 })).toEqual([...of(first, 2), ...of(second, 2)]);
      expect(await store.unreadCaptures({ limit: 2, afterDomain: second ?? 0 })).toEqual(of(third, 2));
    });

    it('take what was read in them along, with the last copy of their message', async () => {
      const one = await capture();
      const two = await capture();
      const [newer = 0, older = 0] = await unreadSeqs();
      await store.putCaptureTexts({ texts: [{ messageSeq: older, hasFiles: false, text: 'gone' }] });
      await erase({ ids: [one] });
      await erase({ ids: [two] });
      expect(await unreadSeqs()).toEqual([]);
      // Nothing is left to find it by, and a text that comes later is not stored.
      await store.putCaptureTexts({ texts: [{ messageSeq: newer, hasFiles: false, text: 'late' }] });
      expect(await list({ text: 'gone' })).toEqual([]);
      expect(await list({ text: 'late' })).toEqual([]);
    });

    it('are told when they are committed, before their settlement is, in order', async () => {
      const told: string[] = [];
      const leave = store.onCaptured((captures) => {
        for (const { id, seq, inbox, subject } of captures) told.push(`${id} ${seq > 0} ${inbox} ${subject}`);
      });
      const a = await capture({ subject: 'One' });
      expect(told).toEqual([`${a} true main One`]);
      const seen = await store.getCapture({ id: a });
      const b = await capture({ subject: 'Two' }, 'other');
      leave();
      await capture();
      expect(told).toEqual([`${a} true main One`, `${b} true other Two`]);
      expect(seen).not.toBeNull();
    });

    it('are told with their octets where those were given, which are not stored twice', async () => {
      const told: (Uint8Array | undefined)[] = [];
      const leave = store.onCaptured((captures) => void told.push(...captures.map(({ content }) => content)));
      const sending = recipient({ state: 'sending', sandbox: 'deliver' });
      const { deliveries } = only(await commit(store, [message({ recipients: [sending] })]));
      const content = new TextEncoder().encode('in memory');
      const copy = {
        id: newId(),
        at: T0,
        envelopeFrom: '',
        inbox: 'main',
        prefix: new Uint8Array(),
        content,
      };
      const settlement = delivered(only(deliveries).id, 1, { capture: copy });
      await store.settle({ now: T0, settlements: [settlement] });
      leave();
      expect(told).toEqual([content]);
      expect(await store.getCapture({ id: copy.id })).not.toHaveProperty('content');
    });

    it('stand in inboxes, named after their sender where they have no other name', async () => {
      const captured = async (tokenId: string, more: object = {}) => {
        const sending = recipient({ state: 'sending', sandbox: 'deliver' });
        const sent = message({ recipients: [sending], tokenId, ...more });
        const { deliveries } = only(await commit(store, [sent]));
        const copy = { id: newId(), at: T0, envelopeFrom: '', inbox: null, prefix: new Uint8Array() };
        await store.settle({ now: T0, settlements: [delivered(only(deliveries).id, 1, { capture: copy })] });
        return copy.id;
      };
      await store.addToken({ maxPerDomain: 1000, token: token({ id: 'ci', name: 'Run-7 Ä' }) });
      await store.addSmtpCredential({
        maxPerDomain: 1000,
        credential: credential({ id: 'smtp', name: 'App' }),
      });
      await captured('ci');
      const a = await captured('ci', { subject: 'Newest' });
      const b = await captured('smtp', { domain: 'example.org' });
      const c = await captured(newId());
      const d = await captured('notices', { domain: 'example.org' });
      const inboxes = (more: object = {}) => store.listInboxes({ limit: 10, ...more });
      const latest = (id: string, subject = 'Hello') => ({ id, at: T0, subject });
      const none = { domain: 'example.com', inbox: '', count: 1, unseen: 1, latest: latest(c) };
      const app = { domain: 'example.org', inbox: 'app', count: 1, unseen: 1, latest: latest(b) };
      const part = { domain: 'example.org', inbox: 'notices', count: 1, unseen: 1, latest: latest(d) };
      const run = {
        domain: 'example.com',
        inbox: 'run-7 ä',
        count: 2,
        unseen: 2,
        latest: latest(a, 'Newest'),
      };
      expect(await inboxes()).toEqual([none, app, part, run]);
      expect(await inboxes({ limit: 1 })).toEqual([none]);
      expect(await inboxes({ domains: ['example.com'] })).toEqual([none, run]);
      expect(await inboxes({ domains: [] })).toEqual([]);
      expect(await inboxes({ after: { inbox: '', domain: 'example.com' } })).toEqual([app, part, run]);
      expect(await inboxes({ after: { inbox: 'app', domain: 'example.net' } })).toEqual([app, part, run]);
      expect(await erase({ inbox: 'run-7 ä', domains: ['example.org'] })).toBe(0);
      expect(await erase({ inbox: 'run-7 ä' })).toBe(2);
      expect(await inboxes()).toEqual([none, app, part]);
    });

    it('of one large message are deleted at once, as its content is deleted once', async () => {
      const recipients = [1, 2, 3].map(() => recipient({ state: 'sending', sandbox: 'deliver' }));
      const large = message({ recipients, keepContent: false, content: Buffer.alloc(9e6, 'x') });
      const { deliveries } = only(await commit(store, [large]));
      const copy = { at: T0, envelopeFrom: 'bounce@example.com', inbox: 'main', prefix: new Uint8Array([1]) };
      const settlements = deliveries.map(({ id }) => delivered(id, 1, { capture: { ...copy, id: newId() } }));
      await store.settle({ now: T0, settlements });
      expect(await store.deleteCaptures({ limit: 100 })).toEqual({ deleted: 3, next: null });
    });

    it('are deleted in portions that go on, and leave what comes meanwhile', async () => {
      for (let n = 0; n < 5; n += 1) await capture();
      const elsewhere = await capture({ domain: 'example.org' });
      let late: string | null = null;
      const deleted: number[] = [];
      for (let next: number | null = Number.MAX_SAFE_INTEGER; next !== null; ) {
        const done = await store.deleteCaptures({
          ...{ inbox: 'main', domains: ['example.com'], beforeSeq: next, limit: 2 },
        });
        deleted.push(done.deleted);
        late ??= await capture();
        next = done.next;
      }
      expect(deleted).toEqual([2, 2, 1]);
      expect(await list({})).toEqual([late, elsewhere]);
      const inboxes = await store.listInboxes({ limit: 10 });
      expect(inboxes.map(({ domain, count }) => [domain, count])).toEqual([
        ['example.com', 1],
        ['example.org', 1],
      ]);
    });

    it('are deleted by id, by domain and altogether', async () => {
      const a = await capture();
      const b = await capture();
      await capture({ domain: 'example.org' });
      expect(await erase({ ids: [a], domains: ['example.org'] })).toBe(0);
      expect(await erase({ ids: [a, 'nothing'] })).toBe(1);
      expect(await erase({ ids: [] })).toBe(0);
      expect(await erase({ domains: ['example.org'] })).toBe(1);
      expect(await list({})).toEqual([b]);
      expect(await erase({})).toBe(1);
      expect(await list({})).toEqual([]);
    });
  });
}
