/** What a path has made ready, and how long it believes what its sender's keys and settings were then. */
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import { testItem } from '../../queue/test-items.ts';
import type { Outcome } from '../outcome/outcome.ts';
import type { Prepared, PrepareResult } from '../prepare/prepared.ts';
import { createPathIntake } from './intake.ts';
import type { PathParts } from './parts.ts';
import { createPicker } from './picker.ts';

/** An intake over one connection that takes these items; `removed`: their sender domain is gone. */
function intakeOf(items: ReadyItem[], options: { demand: number; removed?: boolean }) {
  const clock = createVirtualClock();
  const ready = createPicker();
  const finished: string[] = [];
  const rest = {
    shared: null,
    note: null,
    requireTls: false,
    atMostOnce: false,
    asksForTls: false,
    eightBit: false,
  };
  const body = { mailFrom: '', prefix: new Uint8Array(0), content: new Uint8Array(1), dsn: {} };
  const parts = {
    name: 'site',
    queue: { take: (_: string, lane: string) => (lane === 'normal' ? items.shift() : null) ?? null },
    preparer: {
      async prepare(item: ReadyItem): Promise<PrepareResult> {
        const held = {
          kind: 'held',
          category: 'domain_not_verified',
          detail: 'no longer registered',
        } as const;
        if (options.removed) return { kind: 'outcome', outcome: held };
        return { kind: 'ready', prepared: { item, preparedAtMs: clock.monotonicMs(), ...body, ...rest } };
      },
      sharedBy() {},
      inSevenBit: async () => ({ kind: 'impossible', why: '' }) as const,
    },
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    ready,
    senderLimits: { mayTake: () => true, took() {}, refusedForMs: () => null },
    warm: { mayGo: () => true },
    notes: { met() {} },
    finish: (item: ReadyItem, outcome: Exclude<Outcome, { kind: 'again' }>) => {
      finished.push(`${item.delivery.id} ${outcome.kind}`);
    },
    capacity: { demand: () => options.demand },
    links: { size: () => 1 },
    alarm: { after() {} },
  } as unknown as PathParts;
  const intake = createPathIntake(parts, { prepared() {} });
  const settled = () => expect.poll(() => intake.preparing()).toBe(0);
  return { intake, ready, clock, finished, settled, left: () => items.length };
}

it('is taken in groups, but one by one where a connection has nothing to do', async () => {
  const { intake, ready, settled, left } = intakeOf(
    Array.from({ length: 20 }, (_, i) => testItem({ id: i })),
    { demand: 64 },
  );
  const sent = (count: number) => {
    for (let n = 0; n < count; n += 1) ready.took(ready.heads()[0] as Prepared);
  };
  intake.take(null);
  await settled();
  // Twice one connection and two more.
  expect([ready.size(), left()]).toEqual([6, 14]);
  sent(2);
  intake.take(null);
  expect(left()).toBe(14);
  intake.take(null, true);
  expect(left()).toBe(12);
  await settled();
  sent(3);
  intake.take(null);
  expect(left()).toBe(9);
  await settled();
  expect(ready.size()).toBe(6);
});

it('is made ready anew when it has waited for its turn: the domain may have been removed meanwhile', async () => {
  const options = { demand: 2, removed: false };
  const items = [testItem({ id: 1 }), testItem({ id: 2 })];
  const { intake, ready, clock, finished, settled } = intakeOf(items, options);
  const ids = () =>
    ready
      .heads()
      .concat(ready.remove(() => false))
      .map((one: Prepared) => one.item.delivery.id);
  intake.take(null);
  await settled();
  const [first] = ready.heads();
  if (first === undefined) throw new Error('nothing is ready');
  await clock.advance(5_000);
  expect(intake.renewed(first)).toBe(false);
  await clock.advance(1);
  expect(intake.renewed(first)).toBe(true);
  expect(ready.size()).toBe(1);
  await settled();
  // It keeps its turn.
  expect([ready.size(), ...ids()]).toEqual([2, 1]);
  await clock.advance(5_001);
  options.removed = true;
  const [again] = ready.heads();
  expect(again === undefined || intake.renewed(again)).toBe(true);
  await settled();
  expect([ready.size(), ...finished]).toEqual([1, '1 held']);
});
