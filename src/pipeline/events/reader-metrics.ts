/** Metrics of opens, clicks and unsubscribes. */
import { Counter, type Registry } from 'prom-client';

export interface ReaderMetrics {
  noted(kind: string, bot: boolean): void;
  dropped(count: number): void;
}

export function createReaderMetrics(registry: Registry): ReaderMetrics {
  const noted = new Counter({
    name: 'postrider_reader_facts_total',
    help: 'Opens, clicks and opt-outs that were told, by kind and whether a program did it',
    labelNames: ['kind', 'bot'],
    registers: [registry],
  });
  const dropped = new Counter({
    name: 'postrider_reader_facts_dropped_total',
    help: 'Opens and clicks that were dropped: too many at once, or about one copy',
    registers: [registry],
  });
  return {
    noted: (kind, bot) => noted.inc({ kind, bot: String(bot) }),
    dropped: (count) => dropped.inc(count),
  };
}
