/**
 * Sixty days of a new source, on a virtual clock and a real database: newsletters every morning, receipts all day,
 * one-time codes at any hour; one provider that likes it, one that keeps deferring, one that blocks twice. The process
 * dies now and then without a word. Counted are the messages that went, at their instants.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import type { Lane } from '../../src/model/message.ts';
import { soleLease } from '../../src/model/node.ts';
import { warmupPlan } from '../../src/policy/limits/warmup/plan.ts';
import { budgetOf } from '../../src/policy/limits/warmup/steps.ts';
import { createWarmup, type Warmup } from '../../src/policy/limits/warmup/warmup.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';

const DAYS = 60;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEP = HOUR / 4;
const T0 = Date.UTC(2026, 0, 5);
const SOURCE = 'out1';
const PROVIDERS = ['friendly', 'deferring', 'blocking'] as const;
const NEWSLETTER = 900;
const BLOCKED_ON = [10, 20];

interface Sent {
  at: number;
  lane: Lane;
  budget: number | null;
}

let folder: string;
let store: Store;
const sent: Record<string, Sent[]> = {};
const levels: Record<string, number[]> = {};
const codesHeldUp: string[] = [];
let crashes = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-warmup-'));
  // Its thread answers in real time; the warm-up itself knows only the virtual clock.
  store = await openSqliteStore({ path: join(folder, 'warmup.db'), clock: systemClock, patienceMs: 0 });
  await sixtyDays();
}, 120_000);

afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a warm-up over sixty days', () => {
  it('never lets more than the budget go within any 24 hours, a fifth more with critical mail', () => {
    for (const provider of PROVIDERS) {
      const all = sent[provider] ?? [];
      expect(all.length).toBeGreaterThan(300);
      let first = 0;
      all.forEach(({ at, lane, budget }, i) => {
        while ((all[first]?.at ?? at) <= at - DAY) first += 1;
        if (budget === null) return;
        const within = i - first + 1;
        expect(within, `${provider}, ${new Date(at).toISOString()}`).toBeLessThanOrEqual(
          lane === 'critical' ? budget * 1.2 : budget,
        );
      });
    }
    expect(crashes).toBeGreaterThan(5);
  });

  it('climbs as planned where the mail is liked, stays where it is deferred, falls where it is blocked', () => {
    const planned = warmupPlan({ perDay: NEWSLETTER, startAt: T0 }).days.length;
    const [friendly = [], deferring = [], blocking = []] = PROVIDERS.map((name) => levels[name]);
    // Crashes cost unused portions, never a day's step.
    expect(
      friendly.findIndex((level) => (budgetOf(level) ?? Number.POSITIVE_INFINITY) >= NEWSLETTER),
    ).toBeLessThanOrEqual(planned + 1);
    expect(Math.max(...deferring)).toBe(0);
    for (const day of BLOCKED_ON) expect(blocking[day] ?? 0).toBeLessThan(blocking[day - 1] ?? 0);
  });

  it('holds no critical mail up', () => {
    expect(codesHeldUp).toEqual([]);
  });

  it('spreads a newsletter over the day', () => {
    const perHour = new Map<number, number>();
    for (const { at } of sent.friendly ?? []) {
      if (at >= T0 + 2 * DAY && at < T0 + 3 * DAY) {
        perHour.set(Math.floor(at / HOUR), (perHour.get(Math.floor(at / HOUR)) ?? 0) + 1);
      }
    }
    const busiest = Math.max(...perHour.values());
    // The budget of the third day is 250: an hour's worth at once, then an hour's worth an hour.
    expect(busiest).toBeLessThanOrEqual(3 * Math.ceil(250 / 24));
  });
});

async function sixtyDays(): Promise<void> {
  const clock = createVirtualClock(T0);
  let warmup = await started(clock);
  const waiting: Record<string, Lane[]> = Object.fromEntries(PROVIDERS.map((name) => [name, []]));
  for (let step = 0; step < (DAYS * DAY) / STEP; step += 1) {
    const hour = Math.floor((step * STEP) / HOUR);
    const day = Math.floor(hour / 24);
    // A crash: the next process knows what is on disk, nothing else.
    if (step % 487 === 300) {
      warmup = await started(clock);
      crashes += 1;
    }
    for (const provider of PROVIDERS) {
      const queue = waiting[provider] ?? [];
      if (hour % 24 === 9 && step % 4 === 0) for (let i = 0; i < NEWSLETTER; i++) queue.push('bulk');
      if (step % 8 === 0) queue.push('normal');
      if (step % 16 === 3 && (await go(warmup, provider, 'critical', clock.now(), day)) !== 'went') {
        codesHeldUp.push(`${provider} at ${new Date(clock.now()).toISOString()}`);
      }
      while (queue.length > 0) {
        if ((await go(warmup, provider, queue[0] ?? 'bulk', clock.now(), day)) !== 'went') break;
        queue.shift();
      }
      // What is three days old is given up, as the queue would.
      if (queue.length > 3 * NEWSLETTER) queue.splice(0, queue.length - 3 * NEWSLETTER);
      if (hour % 24 === 23 && step % 4 === 3) {
        const view = warmup.list().find((entry) => entry.provider === provider);
        levels[provider] = [...(levels[provider] ?? []), view?.level ?? 0];
      }
    }
    await clock.advance(STEP);
  }
  await warmup.stop();
}

async function started(clock: ReturnType<typeof createVirtualClock>): Promise<Warmup> {
  const warmup = createWarmup({ store, node: soleLease(1), clock, log: silentLogger }, { sources: [SOURCE] });
  await warmup.start();
  return warmup;
}

async function go(
  warmup: Warmup,
  provider: string,
  lane: Lane,
  now: number,
  day: number,
): Promise<'went' | 'waits'> {
  for (;;) {
    const written = new Promise<void>((resolve) => warmup.onReady(SOURCE, provider, 'path', resolve));
    const answer = warmup.take(SOURCE, provider, lane);
    if (answer.kind === 'go') break;
    if (answer.until !== null) return 'waits';
    await written;
  }
  const view = warmup.list().find((entry) => entry.provider === provider);
  const log = sent[provider] ?? [];
  log.push({ at: now, lane, budget: view?.budget ?? null });
  sent[provider] = log;
  const blocked = provider === 'blocking' && BLOCKED_ON.includes(day) && log.length % 50 === 0;
  const deferred = provider === 'deferring' && log.length % 10 === 0;
  warmup.outcome(SOURCE, provider, blocked ? 'blocked' : deferred ? 'deferred' : 'accepted');
  return 'went';
}
