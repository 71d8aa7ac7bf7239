/** The URL at which clients reach the API. */
import type { ListenAddress } from './forms.ts';
import type { Config } from './table.ts';

/** `public-url`, or made from the listener's real address. Without trailing slash. */
export function publicUrl(config: Pick<Config, 'public-url' | 'hostname'>, listening: ListenAddress): string {
  if (config['public-url'] !== null) return config['public-url'];
  const host = listening.host === '0.0.0.0' || listening.host === '::' ? config.hostname : listening.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`;
}
