/**
 * What nodes on one database should have alike in their configuration: each stores a digest of each value, and compares.
 * The digest is keyed by the instance secret, because some values contain passwords.
 */
import { createHmac } from 'node:crypto';
import type { LoadedConfig } from '../config.ts';
import { CONFIG_NAMES, type ConfigKey } from './table.ts';

/** Keys that depend on the machine, or that a node may well have for itself. */
const OWN: ReadonlySet<ConfigKey> = new Set<ConfigKey>([
  ...(['data', 'node-name', 'roles', 'hostname', 'database', 'database-password', 'shared-store'] as const),
  ...(['http', 'http-certificate', 'http-certificate-key', 'trusted-proxies', 'metrics-from'] as const),
  ...(['submission', 'submission-tls', 'submission-starttls', 'expose', 'returns'] as const),
  ...(['tls-cert', 'tls-key', 'dns', 'dns-trusted', 'ipv6', 'max-connections', 'log-level'] as const),
  ...(['doctor-probe', 'doctor-clock', 'doctor-dnsbl', 'operator-address', 'spamassassin'] as const),
  // Compared before anything starts.
  'secret-key',
]);
const DIGEST_CHARS = 12;

/** By key; also of `routes`, which only the file can contain. `key`: at least 16 octets, the same on every node. */
export function settingDigests(
  { origins, routing }: Pick<LoadedConfig, 'origins' | 'routing'>,
  key: Uint8Array,
): Record<string, string> {
  const values: [string, unknown][] = [
    ...CONFIG_NAMES.filter((name) => !OWN.has(name)).map(
      (name) => [name, origins[name].text] as [string, unknown],
    ),
    ['routes', routing.routes],
  ];
  return Object.fromEntries(
    values.map(([name, value]) => {
      const text = `${name}\0${JSON.stringify(value)}`;
      return [name, createHmac('sha256', key).update(text).digest('base64url').slice(0, DIGEST_CHARS)];
    }),
  );
}
