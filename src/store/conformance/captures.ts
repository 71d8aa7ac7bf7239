/** Conformance: the sandbox's inbox: captures by filter, by id, deleted. */
import { describe, expect, it } from 'vitest';
import type { NewMessage } from '../topics/acceptance.ts';
import { commit, delivered, message, newId, only, recipient, type Suite, T0, token } from './fixtures.ts';
import { credential } from './smtp-credentials.ts';

/** Tests of `listCaptures`, `capturesSince`, `getCapture`, `listInboxes`, `deleteCaptures`. */
export function describeCaptures(suite: Suite): void {
  describe('captures', () => {
    /** Accepts and captures one message; the capture's id. */
    async function capture(more: Partial<NewMessage> = {}, inbox = 'main', at = T0): Promise<string> {
      const sending = recipient({ state: 'sending', sandbox: 'deliver', address: `${inbox}@example.net` });
      const { deliveries } = only(await commit(suite.store(), [message({ recipients: [sending], ...more })]));
      const id = newId();
      const copy = { id, at, envelopeFrom: 'bounce@example.com', inbox, prefix: new Uint8Array([1]) };
      await suite
        .store()
        .settle({ now: T0, settlements: [delivered(only(deliveries).id, 1, { capture: copy })] });
      return id;
    }
    const list = async (more: object) =>
      (await suite.store().listCaptures({ limit: 10, ...more })).map((one) => one.id);

    it('show the copy with its message', async () => {
      const sent = message({ tags: ['t'], recipients: [recipient({ state: 'sending' })] });
      const id = await capture({ ...sent });
      expect(await suite.store().getCapture({ id })).toEqual({
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
      });
      expect(await suite.store().getCapture({ id, domains: ['example.com'] })).not.toBeNull();
      expect(await suite.store().getCapture({ id, domains: ['example.org'] })).toBeNull();
      expect(await suite.store().getCapture({ id: 'nothing' })).toBeNull();
    });

    it('can be followed from one look to the next', async () => {
      const since = (afterSeq: number, more: object = {}) =>
        suite.store().capturesSince({ afterSeq, limit: 10, ...more });
      const ids = (result: Awaited<ReturnType<typeof since>>) => result.captures.map((one) => one.id);
      expect(await since(0)).toEqual({ captures: [], lastSeq: 0 });
      const a = await capture();
      const b = await capture({ domain: 'example.org' }, 'other');
      const first = await since(0);
      expect(ids(first)).toEqual([a, b]);
      expect(ids(await since(first.lastSeq))).toEqual([]);
      expect((await since(first.lastSeq)).lastSeq).toBe(first.lastSeq);
      const none = await since(0, { inbox: 'nobody' });
      expect(none).toEqual({ captures: [], lastSeq: first.lastSeq });
      const c = await capture({}, 'other');
      expect(ids(await since(none.lastSeq, { inbox: 'other' }))).toEqual([c]);
      const page = await since(0, { limit: 1, domains: ['example.com'] });
      expect(ids(page)).toEqual([a]);
      expect(ids(await since(page.lastSeq, { domains: ['example.com'] }))).toEqual([c]);
      expect(ids(await since(Number.MAX_SAFE_INTEGER))).toEqual([]);
    });

    it('are listed newest first by every filter and paged by id', async () => {
      const a = await capture({ subject: 'Ärger', tags: ['x'] }, 'main', T0 + 5);
      const b = await capture({ domain: 'example.org' }, 'other');
      expect(await list({})).toEqual([b, a]);
      expect(await list({ limit: 1 })).toEqual([b]);
      expect(await list({ beforeId: b })).toEqual([a]);
      expect(await list({ domains: ['example.org'] })).toEqual([b]);
      expect(await list({ domains: [] })).toEqual([]);
      expect(await list({ inbox: 'other' })).toEqual([b]);
      expect(await list({ to: 'main@example.net' })).toEqual([a]);
      expect(await list({ from: 'sender@example.com' })).toEqual([b, a]);
      expect(await list({ from: 'nobody@example.com' })).toEqual([]);
      expect(await list({ subject: 'äRG' })).toEqual([a]);
      expect(await list({ tag: 'x' })).toEqual([a]);
      expect(await list({ since: T0 + 5 })).toEqual([a]);
      expect(await list({ until: T0 + 5 })).toEqual([b]);
      expect(await list({ inbox: 'other', tag: 'x' })).toEqual([]);
    });

    it('stand in inboxes, named after their sender where they have no other name', async () => {
      const captured = async (tokenId: string, more: object = {}) => {
        const sending = recipient({ state: 'sending', sandbox: 'deliver' });
        const sent = message({ recipients: [sending], tokenId, ...more });
        const { deliveries } = only(await commit(suite.store(), [sent]));
        const copy = { id: newId(), at: T0, envelopeFrom: '', inbox: null, prefix: new Uint8Array() };
        await suite
          .store()
          .settle({ now: T0, settlements: [delivered(only(deliveries).id, 1, { capture: copy })] });
        return copy.id;
      };
      await suite.store().addToken({ token: token({ id: 'ci', name: 'Run-7 Ä' }) });
      await suite.store().addSmtpCredential({ credential: credential({ id: 'smtp', name: 'App' }) });
      await captured('ci');
      const a = await captured('ci', { subject: 'Newest' });
      const b = await captured('smtp', { domain: 'example.org' });
      const c = await captured('nobody knows');
      const inboxes = (more: object = {}) => suite.store().listInboxes({ limit: 10, ...more });
      const latest = (id: string, subject = 'Hello') => ({ id, at: T0, subject });
      const none = { domain: 'example.com', inbox: '', count: 1, latest: latest(c) };
      const app = { domain: 'example.org', inbox: 'app', count: 1, latest: latest(b) };
      const run = { domain: 'example.com', inbox: 'run-7 ä', count: 2, latest: latest(a, 'Newest') };
      expect(await inboxes()).toEqual([none, app, run]);
      expect(await inboxes({ limit: 1 })).toEqual([none]);
      expect(await inboxes({ domains: ['example.com'] })).toEqual([none, run]);
      expect(await inboxes({ domains: [] })).toEqual([]);
      expect(await inboxes({ after: { inbox: '', domain: 'example.com' } })).toEqual([app, run]);
      expect(await inboxes({ after: { inbox: 'app', domain: 'example.net' } })).toEqual([app, run]);
      expect(await suite.store().deleteCaptures({ inbox: 'run-7 ä', domains: ['example.org'] })).toBe(0);
      expect(await suite.store().deleteCaptures({ inbox: 'run-7 ä' })).toBe(2);
      expect(await inboxes()).toEqual([none, app]);
    });

    it('are deleted by id, by domain and altogether', async () => {
      const a = await capture();
      const b = await capture();
      await capture({ domain: 'example.org' });
      expect(await suite.store().deleteCaptures({ ids: [a], domains: ['example.org'] })).toBe(0);
      expect(await suite.store().deleteCaptures({ ids: [a, 'nothing'] })).toBe(1);
      expect(await suite.store().deleteCaptures({ ids: [] })).toBe(0);
      expect(await suite.store().deleteCaptures({ domains: ['example.org'] })).toBe(1);
      expect(await list({})).toEqual([b]);
      expect(await suite.store().deleteCaptures({})).toBe(1);
      expect(await list({})).toEqual([]);
    });
  });
}
