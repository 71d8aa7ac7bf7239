/** metrics.md: the metrics that the parts register, which are created here as the composition root does it. */
import { type MetricObject, Registry } from 'prom-client';
import { createAcceptMetrics } from '../../src/pipeline/accept/accept-metrics.ts';
import { createRefusalMetrics } from '../../src/pipeline/accept/refusal-metrics.ts';
import { createAlertMetrics } from '../../src/pipeline/alerts/alert-metrics.ts';
import { createDeliverMetrics } from '../../src/pipeline/deliver/deliver-metrics.ts';
import { createTlsCounter } from '../../src/pipeline/deliver/tls/counters.ts';
import { createGuardMetrics } from '../../src/pipeline/events/guard-metrics.ts';
import { createReaderMetrics } from '../../src/pipeline/events/reader-metrics.ts';
import { createReturnMetrics } from '../../src/pipeline/events/returns-metrics.ts';
import { createNoticeMetrics } from '../../src/pipeline/notices/notice-metrics.ts';
import {
  createNodeMetrics,
  createQueueMetrics,
  createStoreMetrics,
} from '../../src/pipeline/queue/queue-metrics.ts';
import { createWebhookMetrics } from '../../src/pipeline/webhooks/metrics.ts';
import { page, table } from './markdown.ts';

export async function metricsPage(): Promise<string> {
  const registry = new Registry();
  createAcceptMetrics(registry);
  createRefusalMetrics(registry);
  createDeliverMetrics(registry);
  createTlsCounter(registry);
  createWebhookMetrics(registry);
  createReaderMetrics(registry);
  createReturnMetrics(registry);
  createGuardMetrics(registry, () => []);
  createAlertMetrics(registry);
  createNoticeMetrics(registry);
  createStoreMetrics(registry);
  // They give values when metrics are read, which does not happen here.
  createQueueMetrics(registry, {} as Parameters<typeof createQueueMetrics>[1]);
  createNodeMetrics(registry, {} as Parameters<typeof createNodeMetrics>[1]);
  const rows = registry
    .getMetricsAsArray()
    .map((metric) => metric as MetricObject & { type: string; labelNames?: readonly string[] })
    .map(({ name, type, labelNames = [], help }) => [
      `\`${name}\``,
      type,
      labelNames.length === 0 ? '–' : labelNames.map((label) => `\`${label}\``).join(' '),
      help,
    ])
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return page('Metrics', INTRODUCTION, table(['Name', 'Kind', 'Labels', 'Meaning'], rows));
}

const INTRODUCTION = `\`GET /metrics\` answers in the Prometheus text format: with a token that has the scope
\`admin\` for all domains, or without one to the addresses of [\`metrics-from\`](config.md), unless the request came through a
proxy. Seconds and octets, never milliseconds.
Beside these stand the figures of the process itself, whose names begin with \`process_\` and \`nodejs_\`.`;
