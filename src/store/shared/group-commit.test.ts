import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../sqlite/test-support.ts';
import { createGroupCommit, type GroupCommitLimits, type Operation } from './group-commit.ts';

const LIMITS = { maxOperations: 4, maxBytes: 100, maxRows: 50, patienceMs: 20, patienceRows: 8 };

/** A group commit over commits that end when told, in order, and what they were given. */
function setUp(limits: GroupCommitLimits = LIMITS) {
  const clock = createManualClock();
  const batches: string[][] = [];
  const settled: string[] = [];
  const running: (() => void)[] = [];
  const group = createGroupCommit<string, string>(
    {
      clock,
      commit: (batch) => {
        batches.push(batch.map((operation) => operation.call));
        return new Promise((resolve) => {
          running.push(() => resolve(batch.map((operation) => `${operation.call} done`)));
        });
      },
    },
    limits,
  );
  const add = (call: string, more: Partial<Operation<string, string>> = {}) =>
    group.add({
      call,
      bytes: 1,
      rows: 1,
      portion: false,
      synced: true,
      patientRows: null,
      settle: (result) => settled.push(result),
      ...more,
    });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    clock,
    group,
    batches,
    settled,
    add,
    turn,
    async endCommit() {
      const end = running.shift();
      end?.();
      await turn();
      return end !== undefined;
    },
  };
}

describe('group commit', () => {
  it('commits everything of one turn together, without waiting for a timer', async () => {
    const { add, batches, turn } = setUp();
    add('a');
    add('b');
    await turn();
    expect(batches).toEqual([['a', 'b']]);
  });

  it('makes the next batch of what arrives meanwhile, and answers each after its own commit', async () => {
    const { add, batches, settled, endCommit, turn } = setUp();
    add('a');
    await turn();
    add('b');
    add('c');
    await turn();
    expect(batches).toEqual([['a']]);
    expect(settled).toEqual([]);
    await endCommit();
    expect(settled).toEqual(['a done']);
    expect(batches).toEqual([['a'], ['b', 'c']]);
    await endCommit();
    expect(settled).toEqual(['a done', 'b done', 'c done']);
  });

  it('gives an engine that takes it the next batch ahead, if it is not much smaller, and never a third', async () => {
    const { add, batches, settled, endCommit, turn } = setUp({ ...LIMITS, maxOperations: 20, ahead: true });
    const many = (name: string, count: number) => {
      for (let i = 0; i < count; i += 1) add(`${name}${i}`);
    };
    many('a', 12);
    await turn();
    many('b', 8);
    await turn();
    expect(batches.map(({ length }) => length)).toEqual([12]);
    many('c', 1);
    await turn();
    expect(batches.map(({ length }) => length)).toEqual([12, 9]);
    many('d', 15);
    await turn();
    expect(batches).toHaveLength(2);
    expect(settled).toEqual([]);
    await endCommit();
    expect(settled).toHaveLength(12);
    expect(batches.map(({ length }) => length)).toEqual([12, 9, 15]);
    while (await endCommit());
    expect(settled).toEqual(batches.flat().map((call) => `${call} done`));
  });

  it('sends nothing ahead behind many rows, or while a portion waits', async () => {
    const limits = { ...LIMITS, maxOperations: 20, maxRows: 1_000, ahead: true };
    for (const first of [{ rows: 500 }, { rows: 1, portion: true }]) {
      const { add, batches, endCommit, turn } = setUp(limits);
      add('a', first);
      await turn();
      if (first.portion) add('p', first);
      for (let i = 0; i < 12; i += 1) add(`b${i}`);
      await turn();
      expect(batches).toHaveLength(1);
      await endCommit();
      expect(batches[1]?.filter((call) => call.startsWith('b'))).toHaveLength(12);
    }
  });

  it('lets few operations wait for the end of the running batch also there', async () => {
    const { add, batches, endCommit, turn } = setUp({ ...LIMITS, maxOperations: 20, ahead: true });
    add('a');
    await turn();
    for (const call of ['b', 'c', 'd']) add(call);
    await turn();
    expect(batches).toEqual([['a']]);
    await endCommit();
    expect(batches).toEqual([['a'], ['b', 'c', 'd']]);
  });

  it('keeps a batch within its rows, but lets one large operation go alone', async () => {
    const { add, batches, endCommit, turn } = setUp();
    add('a', { rows: 30 });
    add('b', { rows: 30 });
    add('c', { rows: 20 });
    add('large', { rows: 1000 });
    await turn();
    while (await endCommit());
    expect(batches).toEqual([['a'], ['b', 'c'], ['large']]);
  });

  it('takes one portion of longer work into each batch, behind everything that waits', async () => {
    const { add, batches, settled, endCommit, turn, group } = setUp();
    for (const call of ['p1', 'p2', 'p3']) add(call, { rows: 500, portion: true });
    for (const call of ['a', 'b', 'c', 'd', 'e']) add(call);
    const drained = group.drain();
    await turn();
    expect(batches).toEqual([['a', 'b', 'c', 'd', 'p1']]);
    await endCommit();
    expect(batches[1]).toEqual(['e', 'p2']);
    while (await endCommit());
    expect(batches[2]).toEqual(['p3']);
    await drained;
    expect(settled).toHaveLength(8);
  });

  it('keeps a batch within its operations and bytes, but lets one large operation go alone', async () => {
    const { add, batches, endCommit, turn } = setUp();
    for (const call of ['a', 'b', 'c', 'd', 'e']) add(call);
    add('f', { bytes: 60 });
    add('g', { bytes: 60 });
    add('h', { bytes: 500 });
    add('i');
    await turn();
    while (await endCommit());
    expect(batches).toEqual([['a', 'b', 'c', 'd'], ['e', 'f'], ['g'], ['h'], ['i']]);
  });

  it('lets patient operations wait for company', async () => {
    const { add, batches, turn } = setUp();
    add('outcome', { patientRows: 1 });
    await turn();
    expect(batches).toEqual([]);
    add('accept');
    await turn();
    expect(batches).toEqual([['outcome', 'accept']]);
  });

  it('commits patient operations alone after their time, or once there are many rows of them', async () => {
    const { add, batches, clock, endCommit, turn } = setUp();
    add('a', { patientRows: 1 });
    clock.advance(19);
    await turn();
    expect(batches).toEqual([]);
    clock.advance(1);
    await turn();
    expect(batches).toEqual([['a']]);
    await endCommit();
    add('b', { patientRows: 7 });
    await turn();
    expect(batches).toHaveLength(1);
    add('c', { patientRows: 1 });
    await turn();
    expect(batches[1]).toEqual(['b', 'c']);
    await endCommit();
    add('d', { patientRows: 1 });
    await turn();
    expect(batches).toHaveLength(2);
  });

  it('drains: nothing waits for company any more, and the wait ends with the last answer', async () => {
    const { add, group, batches, settled, endCommit, turn } = setUp();
    await group.drain();
    add('a', { patientRows: 1 });
    let drained = false;
    const draining = group.drain().then(() => {
      drained = true;
    });
    await turn();
    expect(batches).toEqual([['a']]);
    expect(drained).toBe(false);
    await endCommit();
    await draining;
    expect(settled).toEqual(['a done']);
  });

  it('answers every operation once, in order of arrival, whatever comes when', async () => {
    const step = fc.oneof(
      fc.record({ patient: fc.boolean(), bytes: fc.integer({ min: 0, max: 150 }) }),
      fc.constant('end' as const),
      fc.constant('wait' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, ahead) => {
        const limits = { ...LIMITS, maxOperations: 16, ahead };
        const { add, batches, settled, clock, endCommit, group, turn } = setUp(limits);
        const added: string[] = [];
        for (const one of steps) {
          if (one === 'end') await endCommit();
          else if (one === 'wait') clock.advance(25);
          else {
            added.push(`${added.length}`);
            add(`${added.length - 1}`, { bytes: one.bytes, patientRows: one.patient ? 3 : null });
          }
        }
        const draining = group.drain();
        await turn();
        while (await endCommit());
        await draining;
        expect(batches.flat()).toEqual(added);
        expect(settled).toEqual(added.map((call) => `${call} done`));
        expect(batches.every((batch) => batch.length > 0 && batch.length <= limits.maxOperations)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
