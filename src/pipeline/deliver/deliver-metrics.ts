/** Metrics of delivery. */
import { Counter, Histogram, type Registry } from 'prom-client';

export interface DeliverMetrics {
  attempted(outcome: string, latencyMs: number): void;
  opened(result: 'open' | 'failed', durationMs: number): void;
  blocked(): void;
}

export function createDeliverMetrics(registry: Registry): DeliverMetrics {
  const attempts = new Counter({
    name: 'postrider_delivery_attempts_total',
    help: 'Ended delivery attempts, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'postrider_delivery_attempt_seconds',
    help: 'From the first octet of the envelope to the last reply',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300],
    registers: [registry],
  });
  const connections = new Counter({
    name: 'postrider_smtp_connections_total',
    help: 'Outgoing SMTP connections, by how opening ended',
    labelNames: ['result'],
    registers: [registry],
  });
  const blocks = new Counter({
    name: 'postrider_site_blocks_total',
    help: 'Times a path was closed for a while after failures',
    registers: [registry],
  });
  const byOutcome = new Map<string, Counter.Internal>();
  return {
    attempted(outcome, latencyMs) {
      let counter = byOutcome.get(outcome);
      if (counter === undefined) {
        counter = attempts.labels(outcome);
        byOutcome.set(outcome, counter);
      }
      counter.inc();
      seconds.observe(latencyMs / 1000);
    },
    opened: (result) => connections.labels(result).inc(),
    blocked: () => blocks.inc(),
  };
}
