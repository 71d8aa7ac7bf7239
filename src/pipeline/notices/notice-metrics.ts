/** Metrics of notices to senders. */
import { Counter, type Registry } from 'prom-client';

export interface NoticeMetrics {
  count(result: 'written' | 'put_off' | 'dropped'): void;
}

/** Adds the metrics to `registry`, once. */
export function createNoticeMetrics(registry: Registry): NoticeMetrics {
  const notices = new Counter({
    name: 'postrider_notices_total',
    help: 'Notices to senders of SMTP mail: written, put_off (the sender had enough of them this hour), dropped (never to be written)',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of ['written', 'put_off', 'dropped']) notices.inc({ result }, 0);
  return { count: (result) => notices.inc({ result }) };
}
