/**
 * The delivery of sandbox mail: takes its rows, prepares each as if it were sent, and settles it with the simulated
 * result. Limited in concurrency. When it stops, it finishes the current rows.
 */
import { atMost, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { SandboxRules } from '../../policy/sandbox/sandbox-rules.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import type { SettlementRules } from './outcome/settlement.ts';
import type { Preparer } from './prepare/prepared.ts';
import { SANDBOX_SITE } from './routing/routes.ts';
import type { SandboxRoute } from './sandbox.ts';

interface SandboxWorker {
  /** There may be work. */
  wake(): void;
  stop(deadlineMs: number): Promise<void>;
}

interface Deps {
  clock: Clock;
  log: Logger;
  mailLog: Logger;
  metrics: Pick<DeliverMetrics, 'attempted'>;
  queue: Pick<Queue, 'take' | 'settle' | 'giveBack'>;
  preparer: Pick<Preparer, 'prepare'>;
  rules: Pick<SettlementRules, 'settle'>;
  sandbox: SandboxRoute;
  sandboxRules: Pick<SandboxRules, 'ruleFor'>;
}

const AT_ONCE = 32;
const SIMULATED = { progress: () => 'on its way to the sandbox' };
const STORE_RETRY_MS = 500;

export function createSandboxWorker(deps: Deps): SandboxWorker {
  const { clock, log, mailLog, metrics, queue, preparer, rules, sandbox, sandboxRules } = deps;
  let playing = 0;
  let stopping = false;
  let idle: (() => void) | null = null;

  return {
    wake,
    /** If an outcome cannot be stored, stopping does not wait: the next start reclaims its lease. */
    stop(deadlineMs) {
      stopping = true;
      if (playing === 0) return Promise.resolve();
      const finished = new Promise<void>((resolve) => {
        idle = resolve;
      });
      return atMost(clock, deadlineMs, finished);
    },
  };

  function wake(): void {
    while (!stopping && playing < AT_ONCE) {
      const item = queue.take(SANDBOX_SITE);
      if (item === null) break;
      playing += 1;
      item.underWay = SIMULATED;
      void simulate(item).then(() => {
        playing -= 1;
        wake();
        if (playing === 0) idle?.();
      });
    }
  }

  async function simulate(item: ReadyItem): Promise<void> {
    const { delivery } = item;
    try {
      // A result requested by name or by a simulator address is not changed by a rule.
      const inUse = delivery.sandbox === 'deliver' ? await sandboxRules.ruleFor(delivery) : null;
      const delayedUntil = inUse === null ? 0 : inUse.since + inUse.rule.delayMs;
      if (delayedUntil > clock.now()) {
        queue.giveBack(item, Math.min(delayedUntil, delivery.expiresAt), 'delayed by a sandbox rule');
        return;
      }
      const result = await preparer.prepare(item);
      const settlement =
        result.kind === 'ready'
          ? sandbox.simulate(delivery, result.prepared, inUse?.rule ?? null)
          : rules.settle(delivery, result.outcome);
      const { state } = settlement;
      metrics.attempted(state, 0);
      const { messageId, id, address } = delivery;
      const word = state === 'queued' ? 'deferred' : state;
      mailLog.info({ messageId, deliveryId: id, to: address, route: 'sandbox' }, word);
      await queue.settle(item, settlement);
    } catch (cause) {
      log.warn({ err: cause, deliveryId: delivery.id }, 'a sandbox delivery failed; it will be tried again');
      queue.giveBack(item, clock.now() + STORE_RETRY_MS, null);
    }
  }
}
