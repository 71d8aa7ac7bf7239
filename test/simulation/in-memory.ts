/**
 * What must hold of mail that a process has in memory, looked at again and again: nothing stays there while its path is
 * closed, nothing is bound for long to a connection that does not answer, and nothing waits for ever for no reason but its turn. Given
 * one look after another; leaves sentences.
 */
import type { Engine } from '../../src/engine.ts';
import type { ReadyItem } from '../../src/pipeline/queue/ready-item.ts';

/** A claim or a connection's end may take this long to arrive. */
const CLOSED_MS = 20_000;
/** The longest that a far end may be silent before what waits behind it is taken back, and a look more. */
const BOUND_MS = 150_000;

export interface InMemory {
  look(engine: Engine, nowMs: number): string[];
}

export function createInMemory(): InMemory {
  let since = new Map<ReadyItem, { what: string; fromMs: number }>();

  return {
    look(engine, nowMs) {
      const wrong: string[] = [];
      const now: typeof since = new Map();
      for (const item of engine.queue.items()) {
        const { id } = item.delivery;
        if (item.underWay || item.withdrawn) continue;
        const [what, mostMs] = stateOf(engine, item);
        if (what === null) continue;
        // One that left and came back is another item, however often a look finds it.
        const before = since.get(item);
        const fromMs = before?.what === what ? before.fromMs : nowMs;
        now.set(item, { what, fromMs });
        if (nowMs - fromMs > mostMs) wrong.push(`delivery ${id} ${what} and stays in memory`);
      }
      since = now;
      return wrong;
    },
  };
}

function stateOf(engine: Engine, item: ReadyItem): [what: string | null, mostMs: number] {
  if (item.leaving) return ['is on its way to the store', CLOSED_MS];
  if (engine.blockedFor(item.delivery)?.path === item.site)
    return ['waits while its path is closed', CLOSED_MS];
  const reason = engine.deliver.waits.waitOf(item.delivery.id)?.reason ?? '';
  if (reason.includes('behind another message')) return ['waits behind another message', BOUND_MS];
  if (reason.startsWith('it is made ready')) return ['was taken and does not go', BOUND_MS];
  return [null, 0];
}
