/**
 * What prevents this server from accepting work, as /readyz shows it: a store that cannot write, a disk that is nearly
 * full.
 */
import { statfs } from 'node:fs/promises';
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import { createRounds } from './lib/rounds.ts';
import type { Service } from './lib/service.ts';
import type { Store } from './store/store.ts';

const DISK_CHECK_MS = 5_000;
const LEAST_FREE_SHARE = 0.05;

/** Each check with its problem. `suspicion`: why nothing, or nothing by some route, seems to leave this machine. */
export async function readiness(store: Store, refusing: () => string | null, suspicion: () => string | null) {
  const writable = store.writable();
  const failing = writable.ok ? (writable.failing ?? '') : writable.reason;
  const refused = refusing();
  return [
    { name: 'store', ok: failing === '', detail: failing },
    // Mail that does not need the damaged part goes on.
    { name: 'store-damage', ok: true, detail: writable.ok ? (writable.damage ?? '') : '' },
    { name: 'store-loss', ok: true, detail: writable.ok ? (writable.loss ?? '') : '' },
    { name: 'acceptance', ok: refused === null, detail: refused ?? '' },
    // Mail is still accepted and kept.
    { name: 'outgoing', ok: true, detail: suspicion() ?? '' },
  ];
}

/** Nothing is accepted while the disk is nearly full, because accepted mail still needs space to finish. */
export function createDiskWatch(
  { clock, log }: { clock: Clock; log: Pick<Logger, 'info' | 'warn' | 'error'> },
  folder: string,
): Service & { refusing(): string | null; freeBytes(): number | null } {
  let reason: string | null = null;
  let free: number | null = null;
  let isFailing = false;
  const rounds = createRounds({ clock, everyMs: DISK_CHECK_MS, work: check, failed });
  return {
    async start() {
      await check().catch(failed);
      await rounds.start();
    },
    stop: rounds.stop,
    refusing: () => reason,
    /** Bytes that can be accepted before everything is refused; null = unknown. */
    freeBytes: () => free,
  };

  async function check(): Promise<void> {
    const disk = await statfs(folder);
    free = Math.max(0, disk.bavail - disk.blocks * LEAST_FREE_SHARE) * disk.bsize;
    const share = disk.blocks === 0 ? 1 : disk.bavail / disk.blocks;
    const wasRefusing = reason !== null;
    reason =
      share < LEAST_FREE_SHARE
        ? `the disk of the data folder is nearly full (${(share * 100).toFixed(1)} % free)`
        : null;
    if (reason !== null && !wasRefusing)
      log.error({ reason, folder }, 'new mail is refused until the disk has room');
    if (reason === null && wasRefusing) log.info({ folder }, 'the disk has room again: new mail is accepted');
    isFailing = false;
  }

  function failed(err: unknown): void {
    [reason, free] = [null, null];
    if (!isFailing) log.warn({ err, folder }, 'the free space of the disk could not be read');
    isFailing = true;
  }
}
