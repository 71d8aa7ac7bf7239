import { beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../lib/virtual-clock.ts';
import type { Store } from '../store/store.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { readPlan } from './plan/read-plan.ts';

type Settlement = Parameters<Store['settle']>[0]['settlements'][number];

const END = { simulated: 10, interrupted: false, tookMs: 0 };
const DEFERRED = { state: 'queued', lastReply: '451 later' } as const;

describe('the figures of a plan', () => {
  let clock: VirtualClock;
  let ledger: Ledger;
  let store: Store;
  const read = readPlan(JSON.stringify({ mail: [{ provider: 'google', recipients: 100 }] }), 'p', null);
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  const { plan } = read;
  const [mail] = plan.mail;
  if (mail === undefined) throw new Error('no mail');

  beforeEach(() => {
    clock = createVirtualClock();
    ledger = createLedger(plan, { clock, weight: 10, habits: new Map() });
    store = ledger.watch({ settle: async () => [] } as unknown as Store, 0);
  });

  const accept = (count: number, ok = true) => {
    ledger.accepts(mail, 'gmail.com', count, 0);
    ledger.accepted(mail, count, 0, ok);
  };
  const settle = (deliveryId: number, how: Partial<Settlement>) =>
    store.settle({ settlements: [{ deliveryId, ...how } as Settlement], now: clock.now() });
  const group = () => ledger.forecast(END).groups[0];

  it('are those of the recipients that were accepted, whose ids a refused message does not take', async () => {
    accept(2, false);
    accept(3);
    await clock.advance(1000);
    await settle(3, { state: 'delivered' });
    await clock.advance(1000);
    await settle(1, { state: 'suppressed' });
    await settle(2, { state: 'bounced' });
    await settle(2, { state: 'delivered' });
    expect([ledger.waiting(), ledger.ended()]).toEqual([0, 5]);
    expect(group()).toMatchObject({ recipients: 100, delivered: 20, bounced: 40, refused: 40, waiting: 0 });
    expect(group()).toMatchObject({ lastAtMs: 2000, delivery: { halfMs: 1000, longestMs: 1000 } });
    expect(ledger.forecast(END).doneAtMs).toBe(2000);
  });

  it('count mail as deferred until it ends, once', async () => {
    accept(10);
    for (const id of [1, 2, 2, 3]) await settle(id, DEFERRED);
    await settle(3, { state: 'delivered' });
    ledger.look([], true);
    expect(ledger.forecast(END).waits).toMatchObject([
      { reason: 'tried again later, after: 451 later', peak: 20 },
    ]);
    expect(group()?.peak.waiting).toBe(90);
    expect(ledger.forecast(END).doneAtMs).toBeNull();
  });

  it('over time are limited in number, however long the plan is', async () => {
    accept(10);
    for (let i = 0; i < 5000; i++) {
      ledger.look([], true);
      await clock.advance(10);
    }
    const { atMs, accepted, waiting } = ledger.forecast(END).series;
    expect(atMs.length).toBeLessThanOrEqual(1200);
    expect([accepted.length, waiting[0]?.counts.length]).toEqual([atMs.length, atMs.length]);
    expect(atMs.at(-1)).toBeGreaterThan(49_000);
  });
});
