import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/log.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { ReturnTarget } from '../../pipeline/events/return-target.ts';
import type { Disposition } from '../../pipeline/events/returned-mail.ts';
import { createReturnMetrics } from '../../pipeline/events/returns-metrics.ts';
import { createReadingLoop } from './reading-loop.ts';
import { openSpool, type Spool } from './spool.ts';

const ID = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const UNDER_WAY = { kind: 'delivery', deliveryId: 7 } as const;
let folder: string;
let clock: VirtualClock;
let spool: Spool;
let looks: number[];
let underWay: boolean;

function createLoop(timed: Clock = clock, metrics = createReturnMetrics(new Registry())) {
  return createReadingLoop({
    reader: {
      async take({ targets }): Promise<Disposition> {
        const about = targets.filter((target) => target.kind === 'delivery' && target.deliveryId === 7);
        if (about.length > 0) looks.push(clock.monotonicMs());
        return underWay && about.length > 0 ? { kind: 'later', about } : { kind: 'done' };
      },
    },
    operatorMail: { passOn: async () => null },
    spool,
    clock: timed,
    log: silentLogger,
    metrics,
  });
}

const put = (n: number, ...deliveries: number[]) =>
  spool.put(ID(n), {
    targets: deliveries.map((deliveryId) => ({ kind: 'delivery', deliveryId })),
    from: null,
    ip: '192.0.2.1',
    receivedAt: clock.now(),
    bytes: new Uint8Array(10),
  });

beforeEach(async () => {
  clock = createVirtualClock();
  folder = mkdtempSync(join(tmpdir(), 'postrider-reading-'));
  spool = await openSpool(folder, clock);
  looks = [];
  underWay = true;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a report whose delivery is under way', () => {
  it('is looked at after growing pauses, and those behind it not at all', async () => {
    const loop = createLoop();
    for (const n of [1, 2, 3]) await put(n, 7);
    await put(4, 8);
    loop.wake();
    await loop.idle();
    expect(spool.waiting()).toEqual([ID(1), ID(2), ID(3)]);
    expect(looks).toHaveLength(1);
    for (let second = 0; second < 600; second += 1) {
      await clock.advance(1_000);
      // Mail that arrives wakes the loop, and changes nothing of the pauses.
      loop.wake();
      await loop.idle();
    }
    const pauses = looks.slice(1).map((at, i) => (at - (looks[i] ?? 0)) / 1_000);
    expect(pauses.slice(0, 6)).toEqual([2, 4, 8, 16, 32, 60]);
    expect(looks.length).toBeLessThan(17);
    expect(spool.refusal({ ip: '192.0.2.2', targets: [UNDER_WAY] })).toBe('delivery');
    underWay = false;
    await clock.advance(60_000);
    await loop.idle();
    expect(spool.waiting()).toEqual([]);
    expect(spool.refusal({ ip: '192.0.2.2', targets: [UNDER_WAY] })).toBeNull();
    await loop.stop();
  });

  it('is looked at again also where its timer fired a moment too early', async () => {
    let passedMs = 0;
    const timed: Clock = {
      ...clock,
      monotonicMs: () => clock.monotonicMs() + passedMs,
      setTimer: (ms, fn) => clock.setTimer(Math.max(0, ms - 1), fn),
    };
    const metrics = createReturnMetrics(new Registry());
    const loop = createLoop(timed, {
      ...metrics,
      // Called after all were looked at.
      waiting(count) {
        passedMs += 1;
        metrics.waiting(count);
      },
    });
    await put(1, 7);
    loop.wake();
    await loop.idle();
    underWay = false;
    for (let second = 0; second < 4; second += 1) {
      await clock.advance(1_000);
      await loop.idle();
    }
    expect(spool.waiting()).toEqual([]);
    await loop.stop();
  });

  it('holds up no report about another delivery that it also names', async () => {
    const loop = createLoop();
    await put(1, 7, 8);
    loop.wake();
    await loop.idle();
    await put(2, 8);
    loop.wake();
    await loop.idle();
    expect(spool.waiting()).toEqual([ID(1)]);
    await loop.stop();
  });
});

describe('mail to an address for reports', () => {
  it('is read in turns of its senders, and keeps no other mail waiting', async () => {
    const read: string[] = [];
    const held: (() => void)[] = [];
    const loop = createReadingLoop({
      reader: {
        async take({ targets: [target], bytes }) {
          read.push(Buffer.from(bytes).toString());
          if (target?.kind === 'reports') await new Promise<void>((resolve) => held.push(resolve));
          return { kind: 'done' };
        },
      },
      ...{ operatorMail: { passOn: async () => null }, spool, clock, log: silentLogger },
      metrics: createReturnMetrics(new Registry()),
    });
    const putFrom = (n: number, ip: string, target: ReturnTarget) =>
      spool.put(ID(n), {
        ...{ targets: [target], from: null, ip, receivedAt: clock.now() },
        bytes: Buffer.from(`${n} ${ip}`),
      });
    const reports = { kind: 'reports', name: 'dmarc' } as const;
    for (const n of [1, 2, 3]) await putFrom(n, '192.0.2.1', reports);
    await putFrom(4, '198.51.100.1', reports);
    await putFrom(5, '203.0.113.1', { kind: 'operator', name: 'abuse' });
    loop.wake();
    await expect.poll(() => spool.waiting()).not.toContain(ID(5));
    expect(spool.waiting()).toHaveLength(4);
    for (let n = 0; n < 6; n += 1) {
      await expect.poll(() => held).toHaveLength(n + 1);
      // Others who have sent nothing before.
      if (n === 1 || n === 2) await putFrom(5 + n, `203.0.113.${5 + n}`, reports);
      held[n]?.();
    }
    await loop.idle();
    expect(read.filter((one) => !one.startsWith('5'))).toEqual([
      ...['1 192.0.2.1', '4 198.51.100.1', '2 192.0.2.1', '6 203.0.113.6', '3 192.0.2.1', '7 203.0.113.7'],
    ]);
    await loop.stop();
  });

  it('is not looked for again where it was read while older mail was', async () => {
    let release = (): void => {};
    const loop = createReadingLoop({
      reader: {
        async take({ targets: [target] }) {
          if (target?.kind === 'operator') await new Promise<void>((resolve) => (release = resolve));
          return { kind: 'done' };
        },
      },
      ...{ operatorMail: { passOn: async () => null }, spool, clock, log: silentLogger },
      metrics: createReturnMetrics(new Registry()),
    });
    const names = [
      { kind: 'operator', name: 'abuse' },
      { kind: 'reports', name: 'dmarc' },
    ] as const;
    const facts = { from: null, ip: '192.0.2.1', receivedAt: clock.now(), bytes: new Uint8Array(10) };
    for (const [n, target] of names.entries()) await spool.put(ID(n), { ...facts, targets: [target] });
    loop.wake();
    await expect.poll(() => spool.waiting()).toEqual([ID(0)]);
    release();
    await loop.idle();
    expect(readdirSync(join(folder, 'quarantine'))).toEqual([]);
    await loop.stop();
  });
});
