/**
 * Builds webhooks: the part that the API uses to change them, and the sender, which is woken when events were stored.
 * No calls are made before the sender is started.
 */
import type { Registry } from 'prom-client';
import type { Config } from './config/table.ts';
import type { Clock } from './lib/clock.ts';
import type { Loggers } from './lib/log.ts';
import type { Random } from './lib/random.ts';
import type { Sealer } from './lib/seal.ts';
import type { NodeLease } from './model/node.ts';
import type { GuardedHttp } from './net/guarded-http.ts';
import { createWebhookMetrics } from './pipeline/webhooks/metrics.ts';
import { createWebhookSender, type WebhookSender } from './pipeline/webhooks/sender.ts';
import { createWebhookService } from './pipeline/webhooks/webhooks.ts';
import type { Store } from './store/store.ts';

/** The webhooks of one process. */
export interface WebhookParts {
  service: ReturnType<typeof createWebhookService>;
  sender: WebhookSender;
  /** Calls may be due: the sender looks soon. */
  wake(): void;
}

/** Calls start at the latest this long after their event; the sender is woken once for all events of this time. */
const WAKE_MS = 50;

/** No calls are made before the sender is started. */
export function createWebhooks(
  deps: {
    store: Store;
    http: GuardedHttp;
    clock: Clock;
    random: Random;
    sealer: Sealer;
    node: NodeLease;
    log: Loggers;
    registry: Registry;
    /** Nodes that make calls. */
    nodes(): number;
    suspectsClock(): boolean;
  },
  config: Config,
): WebhookParts {
  const allowHttp = config['webhook-allow-http'] ? 'always' : 'listed-networks';
  const sender = createWebhookSender(
    { ...deps, metrics: createWebhookMetrics(deps.registry) },
    {
      allowHttp,
      nodes: deps.nodes,
      ...(config['webhook-retry'] === null ? {} : { retryDelaysMs: config['webhook-retry'] }),
    },
  );
  return {
    service: createWebhookService(deps, { allowHttp }),
    sender,
    wake: coalesced(deps.clock, WAKE_MS, sender.wake),
  };
}

/** Calls `fire` once within `delayMs` of the first call, however many calls follow. */
function coalesced(clock: Clock, delayMs: number, fire: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    clock.setTimer(delayMs, () => {
      waiting = false;
      fire();
    });
  };
}
