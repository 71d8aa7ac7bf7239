/** What some parts of the server take from the configuration: the engine, and signing in by an identity provider. */

import type { Mode } from './config/key-facts.ts';
import type { LoadedConfig } from './config.ts';
import { isShared } from './database.ts';
import { type EngineOptions, MOST_CONNECTIONS_IN_ALL } from './engine.ts';
import { openFileLimit } from './lib/open-files.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpOptions } from './listeners/http/deps.ts';
import { allTargets } from './model/route.ts';
import { QUEUE_DEFAULTS } from './pipeline/queue/queue.ts';
import type { IdentitySettings } from './policy/access/identity-provider.ts';

/** How long an Idempotency-Key is remembered. */
export const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;
const SHARED_SWEEP_MS = 1_000;

/** To far ends at once: half of what the process may have open. */
export function connectionsInAll(openFiles = openFileLimit()): number {
  return Math.max(1, Math.min(MOST_CONNECTIONS_IN_ALL, Math.floor(openFiles / 2)));
}

/** Of clients of the API, in all and of one address: they leave open files to delivery and the database. */
export function httpConnections(
  openFiles = openFileLimit(),
): Pick<HttpOptions, 'maxConnections' | 'maxConnectionsPerAddress'> {
  const { maxConnections, maxConnectionsPerAddress } = DEFAULT_HTTP_OPTIONS;
  return {
    maxConnections: Math.min(maxConnections, Math.max(64, Math.floor(openFiles / 4))),
    maxConnectionsPerAddress: Math.min(maxConnectionsPerAddress, Math.max(32, Math.floor(openFiles / 8))),
  };
}

/** The parts of the configuration that the engine uses. */
export function engineOptions(
  { config, routing }: LoadedConfig,
  mode: Mode,
  folder: string,
  { openFiles, trust }: { openFiles?: number; trust?: { mtaStsPort: number } },
): EngineOptions {
  const bounceDomain = config['bounce-domain'] ?? config.hostname;
  return {
    folder,
    // A command that reads data must not fail because of a file that only delivery uses.
    strict: config.roles.includes('deliver'),
    rules: routing.routes,
    targets: config.route,
    sources: routing.sources,
    maxConnections: config['max-connections'],
    transactionsInFlight: config['transactions-in-flight'],
    retry: config.retry,
    queue: {
      ...QUEUE_DEFAULTS,
      highWaterMark: config['queue-limit'],
      // Rows that other nodes accept or release are found by searching.
      ...(isShared(config) ? { lookAheadWithoutHintsMs: SHARED_SWEEP_MS } : {}),
    },
    accept: {
      // An unsubscribe address is useful only if its mail is read.
      mailtoDomain: config.returns === null ? null : bounceDomain,
      testLinks:
        mode === 'dev' || allTargets(config.route, routing.routes).every(({ kind }) => kind === 'sandbox'),
      maxMessageBytes: config['max-message-bytes'],
      simulatorDomain: config['simulator-domain'],
      maxAgeMs: config['max-age'],
      idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS,
    },
    deliver: {
      ...{ heloName: config.hostname, bounceDomain, mxPort: config['mx-port'], ipv6: config.ipv6 },
      maxConnectionsInAll: connectionsInAll(openFiles),
    },
    ...(trust === undefined ? {} : { mtaStsPort: trust.mtaStsPort }),
  };
}

/** null: people sign in by passwords only. */
export function identitySettings(config: LoadedConfig['config']): IdentitySettings | null {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'public-url': url } = config;
  if (issuer === null || clientId === null || url === null) return null;
  return {
    ...{ issuer, clientId, clientSecret: config['oidc-client-secret'] },
    name: config['oidc-name'] ?? new URL(issuer).hostname,
    required: config['oidc-require'],
    redirectUri: `${new URL(url).origin}/sign-in`,
  };
}
