/** Metrics of acceptance. */
import { Counter, type Registry } from 'prom-client';
import { LANES, type Lane } from '../../model/message.ts';

export interface AcceptMetrics {
  accepted(lane: Lane, recipients: number, bytes: number): void;
}

export function createAcceptMetrics(registry: Registry): AcceptMetrics {
  const messages = new Counter({
    name: 'postrider_messages_accepted_total',
    help: 'Messages stored and acknowledged, by lane',
    labelNames: ['lane'],
    registers: [registry],
  });
  const recipients = new Counter({
    name: 'postrider_recipients_accepted_total',
    help: 'Recipients of acknowledged messages',
    registers: [registry],
  });
  const bytes = new Counter({
    name: 'postrider_accepted_bytes_total',
    help: 'Composed octets of acknowledged messages',
    registers: [registry],
  });
  const byLane = new Map(LANES.map((lane) => [lane, messages.labels(lane)]));
  return {
    accepted(lane, count, size) {
      byLane.get(lane)?.inc();
      recipients.inc(count);
      bytes.inc(size);
    },
  };
}
