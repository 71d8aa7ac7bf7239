/** Conformance: alerts of the operator begin and end once, with their events, webhook calls and mail. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import { event, everyEvent, newId, type Suite, T0 } from './fixtures.ts';

/** Tests of `listAlerts`, `changeAlerts`, `listAlertMails`, `removeAlertMail`. */
export function describeAlerts({ store, reopen }: Suite): void {
  const relay = { kind: 'relay', subject: 'a.example:587', message: 'It fails.', since: T0 };
  const disk = { kind: 'server', subject: 'disk', message: 'It is full.', since: T0 + 1 };
  const mail = (at = T0) => ({ id: newId(), at, subject: 'One alert', text: 'The relay fails.' });
  const change = (more: Partial<Parameters<Store['changeAlerts']>[0]>, epoch = 1) =>
    store.changeAlerts({ epoch, began: [], ended: [], domain: '*', events: [], mail: null, ...more });

  describe('alerts', () => {
    it('are kept with their events and mail until they end, over a restart', async () => {
      const first = mail();
      const told = event('operator.alert');
      expect(await change({ began: [disk, relay], events: [told], mail: first })).toBe(true);
      await reopen();
      expect(await store.listAlerts()).toEqual([relay, disk]);
      expect(await store.listAlertMails({ limit: 5 })).toEqual([first]);
      const { events } = await store.findEvents(everyEvent({ kinds: ['operator.alert'] }));
      expect(events).toMatchObject([{ id: told.id, domain: '*', message: null }]);
      await store.removeAlertMail({ id: first.id });
      expect(await change({ ended: [relay] })).toBe(true);
      expect(await store.listAlerts()).toEqual([disk]);
      expect(await store.listAlertMails({ limit: 5 })).toEqual([]);
    });

    it('are not told again by somebody whose picture is old, nor by a node whose epoch others have ended', async () => {
      const paused = await store.beginEpoch({ nodeId: 'a', now: T0 });
      const successor = await store.beginEpoch({ nodeId: 'b', now: T0 });
      expect(await change({ began: [relay] }, successor)).toBe(true);
      const again = { began: [disk, relay], events: [event('operator.alert')], mail: mail() };
      expect(await change(again, successor)).toBe(false);
      expect(await change({ ended: [disk], mail: mail() }, successor)).toBe(false);
      await store.endEpoch({ epoch: paused, now: T0 });
      expect(await change({ began: [disk] }, paused)).toBe(false);
      expect(await store.listAlerts()).toEqual([relay]);
      expect(await store.listAlertMails({ limit: 5 })).toEqual([]);
      expect((await store.findEvents(everyEvent({ kinds: ['operator.alert'] }))).events).toEqual([]);
    });

    it('call the webhooks of their domain and no others', async () => {
      const hook = (domain: string) =>
        store.createWebhook({
          ...{
            domain,
            domainId: null,
            events: ['all'],
            url: 'https://example.com/',
            description: '',
            createdBy: null,
          },
          ...{ secretSealed: new Uint8Array(1), createdAt: T0, maxPerDomain: 5 },
        });
      await hook('example.com');
      const own = await hook('*');
      await change({ began: [relay], events: [event('operator.alert')] });
      const calls = await store.claimCalls({ epoch: 1, now: T0, limit: 9, excludeWebhooks: [] });
      expect(calls.map(({ webhook }) => webhook.id)).toEqual([own.kind === 'created' ? own.id : null]);
    });
  });
}
