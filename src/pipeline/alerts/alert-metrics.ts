/** Metrics of alerts: how many are open, by kind. */
import { Gauge, type Registry } from 'prom-client';
import type { AlertKey } from '../../store/topics/alerts.ts';

export interface AlertMetrics {
  /** These are open now. */
  open(alerts: readonly AlertKey[]): void;
}

const KINDS = ['server', 'relay', 'domain', 'guard-rail'] as const;

/** Adds the metrics to `registry`, once. */
export function createAlertMetrics(registry: Registry): AlertMetrics {
  const gauge = new Gauge({
    name: 'postrider_alerts_open',
    help: 'What the operator was alerted of and is not over, by kind; of several processes, one counts them',
    labelNames: ['kind'],
    registers: [registry],
  });
  const set = (alerts: readonly AlertKey[]) => {
    for (const kind of KINDS) gauge.set({ kind }, alerts.filter((alert) => alert.kind === kind).length);
  };
  set([]);
  return { open: set };
}
