import { expect, it } from 'vitest';
import { silentLogger } from '../../../lib/log.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { soleLease } from '../../../model/node.ts';
import type { Store } from '../../../store/store.ts';
import { createWarmup } from './warmup.ts';

it('stops though what is left of a portion cannot be given back', async () => {
  let writable = true;
  const saved: string[] = [];
  const warmup = createWarmup(
    {
      store: {
        listWarmups: async () => [],
        async saveWarmup({ provider }) {
          if (!writable) throw new Error('the disk is full');
          saved.push(provider);
          return true;
        },
      },
      node: soleLease(1),
      clock: createVirtualClock(),
      log: silentLogger,
    },
    { sources: ['new'] },
  );
  await warmup.start();
  for (const provider of ['a', 'b']) {
    const ready = new Promise<void>((resolve) => warmup.onReady('new', provider, 'path', resolve));
    expect(warmup.take('new', provider, 'normal')).toMatchObject({ kind: 'wait', until: null });
    await ready;
    warmup.giveBack('new', provider);
  }
  writable = false;
  await warmup.stop();
  expect(saved).toEqual(['a', 'b']);
});

it('knows what another process has used of a source after the state was read again, and says that it matters', async () => {
  const rows = new Map<string, Parameters<Store['saveWarmup']>[0]>();
  const open = async () => {
    const warmup = createWarmup(
      {
        store: {
          listWarmups: async () => structuredClone([...rows.values()]),
          async saveWarmup(row) {
            rows.set(`${row.source} ${row.provider}`, structuredClone(row));
            return true;
          },
        },
        node: soleLease(1),
        clock,
        log: silentLogger,
      },
      { sources: ['new'] },
    );
    await warmup.start();
    return warmup;
  };
  const clock = createVirtualClock();
  const [one, two] = [await open(), await open()];
  expect(await two.reread(() => true)).toBe(false);
  let sent = 0;
  for (let n = 0; n < 100 && !one.isFull('new', 'big', 'normal'); n++) {
    if (one.take('new', 'big', 'normal').kind === 'go') sent += 1;
    else await new Promise(setImmediate);
  }
  expect(sent).toBeGreaterThan(0);
  expect(two.isFull('new', 'big', 'normal')).toBe(false);
  expect(await two.reread(() => false)).toBe(false);
  expect(two.isFull('new', 'big', 'normal')).toBe(false);
  expect(await two.reread(() => true)).toBe(true);
  expect(two.isFull('new', 'big', 'normal')).toBe(true);
  expect(await two.reread(() => true)).toBe(false);
});
