/** Metrics of the queue and of this node, read on request. While the database cannot be reached, its figures are left out. */
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../lib/clock.ts';
import { createSharedWork } from '../../lib/shared-work.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { QueueCounts } from '../../store/topics/queue.ts';
import type { Membership } from './membership.ts';
import type { Queue } from './queue.ts';

export function createQueueMetrics(
  registry: Registry,
  {
    store,
    queue,
    clock,
  }: { store: Pick<Store, 'queueCounts'>; queue: Pick<Queue, 'inMemory'>; clock: Clock },
): void {
  const counting = createSharedWork<QueueCounts | null>();

  /** One count for all gauges of a request; null while the database cannot be asked. */
  const count = (): Promise<QueueCounts | null> =>
    counting.of('counts', () =>
      store.queueCounts({ now: clock.now() }).catch((cause: unknown) => {
        if (cause instanceof StoreUnavailable) return null;
        throw cause;
      }),
    );

  /** Left out while the database cannot be asked: a zero would be wrong, and the other metrics are needed then. */
  function counted(name: string, help: string, read: (counts: QueueCounts) => number): void {
    new Gauge({
      ...{ name, help, registers: [registry] },
      async collect() {
        const counts = await count();
        if (counts === null) this.remove();
        else this.set(read(counts));
      },
    });
  }

  counted('postrider_queue_sending', 'Recipients leased to a node', ({ sending }) => sending);
  counted(
    'postrider_queue_oldest_due_seconds',
    'How long the oldest due recipient has waited; 0 where none is due',
    ({ oldestDueAt }) => (oldestDueAt === null ? 0 : Math.max(0, (clock.now() - oldestDueAt) / 1000)),
  );
  counted('postrider_webhook_calls_pending', 'Webhook calls that wait for a try', (of) => of.pendingCalls);
  counted('postrider_queue_waiting', 'Recipients that wait for their next attempt', ({ queued }) => queued);
  new Gauge({
    name: 'postrider_window_rows',
    help: 'Recipients held in memory, of all that wait',
    registers: [registry],
    collect() {
      this.set(queue.inMemory().rows);
    },
  });
  new Gauge({
    name: 'postrider_window_bytes',
    help: 'Bytes of messages held in memory',
    registers: [registry],
    collect() {
      this.set(queue.inMemory().bytes);
    },
  });
}

/** Metrics of the store; returns what is told of each commit. */
export function createStoreMetrics(registry: Registry): (durationMs: number) => void {
  const commits = new Histogram({
    name: 'postrider_store_commit_seconds',
    help: 'How long a commit of the database takes, with all operations that share it',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  return (durationMs) => commits.observe(durationMs / 1000);
}

/** Metrics of a node among others. */
export function createNodeMetrics(registry: Registry, membership: Membership): void {
  new Gauge({
    name: 'postrider_node_info',
    help: 'Always 1: the name of this node and the version of its program',
    labelNames: ['node', 'version'],
    registers: [registry],
    collect() {
      const { host, version } = membership.about;
      this.set({ node: host, version }, 1);
    },
  });
  new Gauge({
    name: 'postrider_node_others',
    help: 'Other running nodes, as this one sees it',
    registers: [registry],
    collect() {
      this.set(membership.others().length);
    },
  });
  new Gauge({
    name: 'postrider_node_leases',
    help: 'Leases of this node: shared sources to a site, upkeep',
    registers: [registry],
    collect() {
      this.set(membership.held().length);
    },
  });
  new Gauge({
    name: 'postrider_node_in_doubt',
    help: '1 while this node cannot update its heartbeat, and therefore starts no deliveries',
    registers: [registry],
    collect() {
      this.set(membership.valid ? 0 : 1);
    },
  });
  new Gauge({
    name: 'postrider_node_fencings',
    help: 'Times other nodes ended this process’s epoch, so that it began a new one',
    registers: [registry],
    collect() {
      this.set(membership.newEpochs);
    },
  });
}
