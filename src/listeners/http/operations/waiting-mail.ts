/**
 * How many recipients wait, by queue and by path: stored counts of the queues that are due first, and what is in memory,
 * which is leased in the store and not counted there. Nothing is asked of the DNS, so a queue may have no known path.
 */
import type { Store } from '../../../store/store.ts';
import type { WaitingCount } from '../../../store/topics/queue.ts';
import type { Traffic } from './traffic.ts';

type Visible = Omit<Parameters<Store['waitingCounts']>[0], 'limit'>;

/** Queues whose waiting recipients are counted. */
const MAX_QUEUES = 5_000;

/** Without captured mail. `more`: there are queues that were not counted. */
export async function waitingMail(
  { store, traffic }: { store: Pick<Store, 'waitingCounts'>; traffic: Pick<Traffic, 'waits'> },
  visible: Visible = {},
): Promise<{ queues: readonly WaitingCount[]; more: boolean }> {
  const own = visible.domains === undefined ? null : new Set(visible.domains);
  const { queues, more } = await store.waitingCounts({ ...visible, limit: MAX_QUEUES });
  const inMemory = traffic.waits
    .queues(({ senderDomain }) => own?.has(senderDomain) ?? true)
    .map(({ createdAt, lane, senderDomain, recipientDomain, routeKey, sandbox }) => ({
      ...{ lane, senderDomain, recipientDomain, routeKey, sandbox, waiting: createdAt.length },
    }));
  return { queues: [...queues, ...inMemory].filter(({ sandbox }) => !sandbox), more };
}

/** By the key of the path. `unknown`: recipient domains whose path is not known yet. */
export function waitingByPath(
  queues: readonly WaitingCount[],
  traffic: Pick<Traffic, 'pathOf'>,
): { byPath: ReadonlyMap<string, number>; unknown: ReadonlySet<string> } {
  const byPath = new Map<string, number>();
  const unknown = new Set<string>();
  for (const queue of queues) {
    const path = traffic.pathOf(queue);
    if (path === null) unknown.add(queue.recipientDomain);
    else byPath.set(path, (byPath.get(path) ?? 0) + queue.waiting);
  }
  return { byPath, unknown };
}
