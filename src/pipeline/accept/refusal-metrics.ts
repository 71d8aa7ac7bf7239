/** The metric of refused requests and SMTP commands. */
import { Counter, type Registry } from 'prom-client';

/** Counts one refusal; `name` null: a reply of the SMTP protocol itself. */
export function createRefusalMetrics(registry: Registry): (via: string, name: string | null) => void {
  const refused = new Counter({
    name: 'postrider_refused_total',
    help: 'Requests and SMTP commands that were refused, by interface and name of the error (`protocol`: a reply of SMTP itself)',
    labelNames: ['via', 'name'],
    registers: [registry],
  });
  return (via, name) => refused.labels(via, name ?? 'protocol').inc();
}
