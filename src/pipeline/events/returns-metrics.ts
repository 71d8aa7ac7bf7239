/** Metrics of returned mail. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReturnResult } from '../../store/topics/returns.ts';

type ReturnedKind =
  | 'bounce'
  | 'note'
  | 'auto_reply'
  | 'unknown'
  | 'complaint'
  | 'not_spam'
  | 'unsubscribe'
  | 'unattributed'
  | 'report'
  | 'operator'
  | 'ignored';

export interface ReturnMetrics {
  /** A message was recognised as this. */
  took(kind: ReturnedKind): void;
  /** The store's result for a fact. */
  recorded(result: ReturnResult): void;
  /** A message was accepted at the port, or refused. */
  received(result: 'taken' | 'refused' | 'full'): void;
  /** Messages that wait to be read. */
  waiting(count: number): void;
  quarantined(): void;
}

/** Adds the metrics to `registry`, once. */
export function createReturnMetrics(registry: Registry): ReturnMetrics {
  const registers = [registry];
  const took = new Counter({
    name: 'postrider_returns_read_total',
    help: 'Returned mail read, by what it was: bounce, note, auto_reply, unknown, complaint, not_spam, unsubscribe, unattributed, report, operator, ignored',
    labelNames: ['kind'],
    registers,
  });
  const recorded = new Counter({
    name: 'postrider_returns_recorded_total',
    help: 'Facts from returned mail, by result: recorded, noted (changes nothing), repeated, under-way, nothing',
    labelNames: ['result'],
    registers,
  });
  const received = new Counter({
    name: 'postrider_returns_received_total',
    help: 'Recipients and messages at the returns port, by result: taken, refused (no address of ours), full (no room)',
    labelNames: ['result'],
    registers,
  });
  const waiting = new Gauge({
    name: 'postrider_returns_waiting',
    help: 'Returned messages in the spool that are not read yet',
    registers,
  });
  const quarantined = new Counter({
    name: 'postrider_returns_quarantined_total',
    help: 'Returned messages that could not be read and were quarantined',
    registers,
  });
  return {
    took: (kind) => took.inc({ kind }),
    recorded: (result) => recorded.inc({ result }),
    received: (result) => received.inc({ result }),
    waiting: (count) => waiting.set(count),
    quarantined: () => quarantined.inc(),
  };
}
