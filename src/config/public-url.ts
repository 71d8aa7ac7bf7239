/** The URL at which clients reach the API. */
import type { ListenAddress } from './forms.ts';
import type { Config } from './table.ts';

type Keys = Pick<Config, 'public-url' | 'hostname' | 'http-certificate'>;

/** `public-url`, or made from the listener's real address. Without trailing slash. */
export function publicUrl(config: Keys, listening: ListenAddress): string {
  const known = knownUrl(config, listening.port);
  if (known !== null) return known;
  const host = listening.host === '0.0.0.0' || listening.host === '::' ? config.hostname : listening.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${listening.port}`;
}

/** The URL where one is configured: `public-url`, or the host name that the certificate of the listener is for; else null. */
export function knownUrl(config: Keys, port: number): string | null {
  if (config['public-url'] !== null) return config['public-url'];
  if (config['http-certificate'] === null) return null;
  return `https://${config.hostname}${port === 443 ? '' : `:${port}`}`;
}
