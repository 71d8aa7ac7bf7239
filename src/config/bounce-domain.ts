/** The domain of return paths: bounces go to its MX. */
import type { Config } from './table.ts';

export function bounceDomainOf(config: Pick<Config, 'bounce-domain' | 'hostname'>): string {
  return config['bounce-domain'] ?? config.hostname;
}
