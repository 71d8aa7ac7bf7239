/** Metric: how many sender domains the guard-rails warn or hold. */
import { Gauge, type Registry } from 'prom-client';
import type { GuardLevel } from '../../policy/limits/guard-rails.ts';

/** Adds the metrics to `registry`, once. `levels`: of every domain that was checked. */
export function createGuardMetrics(registry: Registry, levels: () => readonly GuardLevel[]): void {
  new Gauge({
    name: 'postrider_guarded_domains',
    help: 'Sender domains with too many bounces or complaints among their last 1000 outcomes, by level: warn, hold',
    labelNames: ['level'],
    registers: [registry],
    collect() {
      const now = levels();
      for (const level of ['warn', 'hold'] as const)
        this.set({ level }, now.filter((each) => each === level).length);
    },
  });
}
