/**
 * A job that only one of several nodes does at a time: its services run here while this node holds the lease with the
 * job's name. The services are started in order, and stopped in reverse, each time the lease comes and goes.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Service } from '../../lib/service.ts';
import type { Lease } from './leases.ts';
import type { Membership } from './membership.ts';

/** How long a service may take to end when another node continues. */
const HAND_OVER_MS = 1_000;
/** The wait before a service that could not be started or stopped is tried again. */
const RETRY_MS = 5_000;

/** `services` must be able to start again after a stop. */
export function createSingletonJob(
  deps: { membership: Pick<Membership, 'want'>; clock: Clock; log: Logger },
  name: string,
  services: readonly Service[],
): Service {
  let lease: Lease | null = null;
  let wanted = false;
  let stopping = false;
  let retry: Timer | null = null;
  const running = new Set<Service>();
  let working: Promise<void> = Promise.resolve();

  /** Runs after the current change; only the last wish counts. */
  function settle(deadlineMs: number): Promise<void> {
    retry?.cancel();
    retry = null;
    working = working.then(async () => {
      if (wanted) {
        for (const service of services) {
          if (running.has(service)) continue;
          await service.start();
          running.add(service);
        }
        return;
      }
      for (const service of [...running].reverse()) {
        await service.stop(deadlineMs);
        running.delete(service);
      }
    });
    working = working.catch((err: unknown) => {
      deps.log.error({ err, job: name }, 'a service of this node could not be started or stopped');
      if (lease !== null) retry = deps.clock.setTimer(RETRY_MS, () => void settle(HAND_OVER_MS));
    });
    return working;
  }

  return {
    async start() {
      stopping = false;
      lease = deps.membership.want(name, {
        changed(state) {
          wanted = state === 'held' && !stopping;
          void settle(HAND_OVER_MS);
        },
      });
    },
    async stop(deadlineMs) {
      stopping = true;
      wanted = false;
      await settle(deadlineMs);
      retry?.cancel();
      lease?.end();
      lease = null;
    },
  };
}
