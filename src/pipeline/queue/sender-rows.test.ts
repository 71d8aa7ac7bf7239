/** Fair turns between sender domains: equal shares, counted by size for large mail, and unused turns are not saved up. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSenderRows, turnCost } from './sender-rows.ts';
import { testItem } from './test-items.ts';

const KIB = 1024;
const any = () => true;

describe('turns', () => {
  it('let one message of a small sender pass the thousand of a large one', () => {
    const rows = createSenderRows();
    for (let id = 0; id < 1_000; id++) rows.push(testItem({ id, senderDomain: 'big.example' }));
    rows.shift(any);
    rows.push(testItem({ id: 5_000, senderDomain: 'small.example' }));
    const next = [rows.shift(any), rows.shift(any)].map((item) => item?.delivery.id);
    expect(next).toContain(5_000);
  });

  it('make large messages cost as many turns as they have steps of 64 KiB', () => {
    const rows = createSenderRows();
    for (let id = 0; id < 200; id++) rows.push(testItem({ id, senderDomain: 'small.example', size: KIB }));
    for (let id = 1_000; id < 1_010; id++)
      rows.push(testItem({ id, senderDomain: 'large.example', size: 640 * KIB }));
    const first = Array.from({ length: 110 }, () => rows.shift(any)?.delivery.senderDomain);
    const large = first.filter((domain) => domain === 'large.example').length;
    expect(turnCost(640 * KIB)).toBe(11);
    expect(large).toBeGreaterThanOrEqual(8);
    expect(large).toBeLessThanOrEqual(10);
  });

  it('are not saved up while a sender has nothing to send', () => {
    const rows = createSenderRows();
    rows.push(testItem({ id: 1, senderDomain: 'a.example' }));
    for (let id = 100; id < 200; id++) rows.push(testItem({ id, senderDomain: 'b.example' }));
    for (let n = 0; n < 51; n++) rows.shift(any);
    for (let id = 2; id < 12; id++) rows.push(testItem({ id, senderDomain: 'a.example' }));
    const next = Array.from({ length: 10 }, () => rows.shift(any)?.delivery.senderDomain);
    expect(next.filter((domain) => domain === 'a.example')).toHaveLength(5);
  });

  it('pass over a head that may not go now, and come back to it', () => {
    const rows = createSenderRows();
    rows.push(testItem({ id: 1, senderDomain: 'a.example', size: 9_000 * KIB }));
    rows.push(testItem({ id: 2, senderDomain: 'b.example' }));
    const small = (item: { delivery: { size: number } }) => item.delivery.size < 5_000 * KIB;
    expect(rows.shift(small)?.delivery.id).toBe(2);
    expect(rows.shift(small)).toBeNull();
    expect(rows.shift(any)?.delivery.id).toBe(1);
    expect(rows.size()).toBe(0);
  });

  it('lose and double nothing, and keep the order within a sender', () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          push: fc.integer({ min: 0, max: 4 }),
          size: fc.integer({ min: 1, max: 400 }),
        }),
      },
      { weight: 3, arbitrary: fc.constant('shift' as const) },
      { weight: 1, arbitrary: fc.constant('back' as const) },
      { weight: 1, arbitrary: fc.constant('remove' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const rows = createSenderRows();
        const model = new Map<string, number[]>();
        let last: ReturnType<typeof testItem> | null = null;
        let id = 0;
        const size = () => [...model.values()].reduce((sum, ids) => sum + ids.length, 0);
        for (const one of steps) {
          if (typeof one === 'object') {
            const senderDomain = `t${one.push}.example`;
            model.set(senderDomain, [...(model.get(senderDomain) ?? []), id]);
            rows.push(testItem({ id: id++, senderDomain, size: one.size * KIB }));
          } else if (one === 'shift') {
            const got = rows.shift(any);
            expect(got === null).toBe(size() === 0);
            if (got !== null) expect(model.get(got.delivery.senderDomain)?.shift()).toBe(got.delivery.id);
            last = got;
          } else if (one === 'back' && last !== null) {
            model.get(last.delivery.senderDomain)?.unshift(last.delivery.id);
            rows.unshift(last);
            last = null;
          } else if (one === 'remove') {
            const even = (item: { delivery: { id: number } }) => item.delivery.id % 2 === 0;
            const gone = rows.remove(even).map((item) => item.delivery.id);
            const expected = [...model.values()].flat().filter((n) => n % 2 === 0);
            expect(gone.sort()).toEqual(expected.sort());
            for (const [sender, ids] of model)
              model.set(
                sender,
                ids.filter((n) => n % 2 !== 0),
              );
            last = null;
          }
          expect(rows.size()).toBe(size());
        }
      }),
    );
  });
});
