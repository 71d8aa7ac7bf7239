import { expect, it } from 'vitest';
import { silentLogger } from '../../../lib/log.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { soleLease } from '../../../model/node.ts';
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
