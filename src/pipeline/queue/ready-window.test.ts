/** Order and bounds of the window, by example and against a plain model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane, MessageId } from '../../model/message.ts';
import { createReadyWindow, type ReadyItem } from './ready-window.ts';

const LIMITS = { maxRows: 1000, maxBytes: 10_000, maxRowsPerSite: 500 };

function item(id: number, lane: Lane = 'normal', site = 'a', heldBytes = 10): ReadyItem {
  const delivery: ClaimedDelivery = {
    id,
    queueId: 1,
    messageSeq: id,
    messageId: `m${id}` as MessageId,
    senderDomain: 'example.com',
    from: 'sender@example.com',
    lane,
    address: `r${id}@example.net`,
    recipientDomain: 'example.net',
    kind: 'To',
    attempts: 0,
    createdAt: 0,
    expiresAt: 1,
    size: heldBytes,
    bodyOffset: 0,
    needsSmtpUtf8: false,
    eightBit: false,
    sandbox: null,
    mayBeDuplicate: false,
    firstDeferredAt: null,
    lastDeferredEventAt: null,
    lastReply: null,
    lastCategory: null,
  };
  return { delivery, content: null, site, heldBytes, redispatched: 0 };
}

describe('the window', () => {
  it('lets critical mail go first, and shares 8:2 between normal and bulk', () => {
    const window = createReadyWindow(LIMITS);
    for (let id = 0; id < 40; id++) window.add(item(id, id % 2 === 0 ? 'normal' : 'bulk'));
    window.add(item(100, 'critical'));
    const lanes = Array.from({ length: 21 }, () => window.take('a')?.delivery.lane);
    expect(lanes[0]).toBe('critical');
    expect(lanes.slice(1, 11).filter((lane) => lane === 'normal')).toHaveLength(8);
    expect(lanes.slice(11, 21).filter((lane) => lane === 'bulk')).toHaveLength(2);
  });

  it('counts what was taken until it is done, and forgets empty sites', () => {
    const window = createReadyWindow({ maxRows: 3, maxBytes: 100, maxRowsPerSite: 2 });
    const first = item(1);
    window.add(first);
    window.add(item(2));
    expect(window.take('a')).toBe(first);
    expect(window.hasRoom('a', 1, 1)).toBe(false);
    expect(window.hasRoom('b', 1, 1)).toBe(true);
    expect(window.room('a')).toEqual({ rows: 0, bytes: 80 });
    window.done(first);
    expect(window.hasRoom('a', 1, 1)).toBe(true);
    for (const left of window.drain('a')) window.done(left);
    expect(window.sites()).toEqual([]);
    expect([window.rows, window.bytes]).toEqual([0, 0]);
  });

  it('takes one item larger than all its room where it is empty', () => {
    const window = createReadyWindow({ maxRows: 3, maxBytes: 100, maxRowsPerSite: 2 });
    expect(window.hasRoom('a', 1, 1_000)).toBe(true);
    window.add(item(1, 'normal', 'a', 1_000));
    expect(window.hasRoom('b', 1, 1)).toBe(false);
    expect(window.room('b')).toEqual({ rows: 2, bytes: 0 });
  });

  it('does not take one after the other as the only one while the first are still being stored', () => {
    const window = createReadyWindow({ maxRows: 10, maxBytes: 100, maxRowsPerSite: 10 });
    expect(window.hasRoom('a', 1, 80)).toBe(true);
    // The second with the first reserved: 160 in all.
    expect(window.hasRoom('a', 2, 160)).toBe(false);
  });

  it('counts the content that several share once, until the last of them is done', () => {
    const window = createReadyWindow(LIMITS);
    const content = new Uint8Array(1_000);
    const items = [1, 2, 3].map((id) => ({ ...item(id), content }));
    for (const each of items) window.add(each);
    expect(window.bytes).toBe(1_030);
    const last = items.pop();
    for (const each of items) window.done(each);
    expect(window.bytes).toBe(1_010);
    if (last !== undefined) window.done(last);
    expect(window.bytes).toBe(0);
  });

  it('keeps order within a lane, and its counts, whatever is done to it', () => {
    const lane = fc.constantFrom<Lane>('critical', 'normal', 'bulk');
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), lane }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('take', 'putBack', 'done') }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('drain' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const window = createReadyWindow(LIMITS);
        const waiting: Record<Lane, number[]> = { critical: [], normal: [], bulk: [] };
        const taken: ReadyItem[] = [];
        let next = 0;
        for (const one of steps) {
          if (one.do === 'add' && 'lane' in one) {
            waiting[one.lane].push(next);
            window.add(item(next++, one.lane));
          } else if (one.do === 'take') {
            const got = window.take('a');
            const left = waiting.critical.length + waiting.normal.length + waiting.bulk.length;
            expect(got === null).toBe(left === 0);
            if (got === null) continue;
            if (waiting.critical.length > 0) expect(got.delivery.lane).toBe('critical');
            expect(waiting[got.delivery.lane].shift()).toBe(got.delivery.id);
            taken.push(got);
          } else if (one.do === 'putBack') {
            const back = taken.pop();
            if (back === undefined) continue;
            waiting[back.delivery.lane].unshift(back.delivery.id);
            window.putBack(back);
          } else if (one.do === 'done') {
            const over = taken.pop();
            if (over !== undefined) window.done(over);
          } else {
            const drained = window.drain('a').map((left) => left.delivery.id);
            expect(drained).toEqual([...waiting.critical, ...waiting.normal, ...waiting.bulk]);
            for (const id of drained) window.done(item(id));
            waiting.critical = [];
            waiting.normal = [];
            waiting.bulk = [];
          }
          const held = waiting.critical.length + waiting.normal.length + waiting.bulk.length;
          expect(window.waiting('a')).toBe(held);
          expect(window.rows).toBe(held + taken.length);
          expect(window.bytes).toBe(10 * (held + taken.length));
        }
      }),
    );
  });
});
