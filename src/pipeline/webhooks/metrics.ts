/** Metrics of the webhook sender. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface WebhookMetrics {
  /** One try ended. */
  tried(result: 'success' | 'failure' | 'blocked', latencyMs: number): void;
  /** A call failed with its last try. */
  gaveUp(): void;
  disabled(reason: string): void;
  inFlight(count: number): void;
}

/** Adds the metrics to `registry`, once. */
export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const tries = new Counter({
    name: 'postrider_webhook_tries_total',
    help: 'Webhook calls tried, by result: success (2xx), failure, blocked (forbidden address)',
    labelNames: ['result'],
    registers,
  });
  const seconds = new Histogram({
    name: 'postrider_webhook_try_seconds',
    help: 'How long webhook receivers take to answer or fail',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const givenUp = new Counter({
    name: 'postrider_webhook_calls_failed_total',
    help: 'Webhook calls given up after their last try',
    registers,
  });
  const disabled = new Counter({
    name: 'postrider_webhooks_disabled_total',
    help: 'Webhooks disabled by the server, by reason: Gone, Failures, Blocked',
    labelNames: ['reason'],
    registers,
  });
  const inFlight = new Gauge({
    name: 'postrider_webhook_calls_in_flight',
    help: 'Webhook calls being made or recorded right now',
    registers,
  });
  return {
    tried(result, latencyMs) {
      tries.inc({ result });
      seconds.observe(latencyMs / 1000);
    },
    gaveUp: () => givenUp.inc(),
    disabled: (reason) => disabled.inc({ reason }),
    inFlight: (count) => inFlight.set(count),
  };
}
