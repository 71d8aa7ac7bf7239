/** What the parts of the server take from the configuration. */

import { bounceDomainOf } from './config/bounce-domain.ts';
import type { Mode } from './config/key-facts.ts';
import type { Config } from './config/table.ts';
import type { LoadedConfig } from './config.ts';
import { isShared } from './database.ts';
import { type EngineOptions, MOST_CONNECTIONS_IN_ALL } from './engine.ts';
import { openFileLimit } from './lib/open-files.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpOptions } from './listeners/http/deps.ts';
import { DEFAULT_SUBMISSION_OPTIONS } from './listeners/submission/listener.ts';
import { allTargets, capturesAll } from './model/route.ts';
import { QUEUE_DEFAULTS } from './pipeline/queue/queue.ts';
import type { IdentitySettings } from './policy/access/identity-provider.ts';
import type { RetentionOptions } from './policy/retention/retention.ts';

/** How long an Idempotency-Key is remembered. */
export const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;
const SHARED_SWEEP_MS = 1_000;
const OTHER_FILES = 128;
const LEAST_CLIENTS = 32;

/** How many connections may be open at once, in all and with one address. */
type Connections = Pick<HttpOptions, 'maxConnections' | 'maxConnectionsPerAddress'>;

/** To far ends: half of the files that the process may open, without those for the database, DNS and returned mail. */
export function connectionsInAll(openFiles = openFileLimit()): number {
  return Math.max(1, Math.min(MOST_CONNECTIONS_IN_ALL, Math.floor((openFiles - OTHER_FILES) / 2)));
}

/** Of clients of the API: at most a quarter of the files. */
export function httpConnections(openFiles = openFileLimit()): Connections {
  return within(DEFAULT_HTTP_OPTIONS, openFiles / 4);
}

/** Of clients of SMTP submission: at most an eighth. */
export function submissionConnections(openFiles = openFileLimit()): Connections {
  return within(DEFAULT_SUBMISSION_OPTIONS, openFiles / 8);
}

function within({ maxConnections, maxConnectionsPerAddress }: Connections, files: number): Connections {
  return {
    maxConnections: Math.min(maxConnections, Math.max(LEAST_CLIENTS, Math.floor(files))),
    maxConnectionsPerAddress: Math.min(
      maxConnectionsPerAddress,
      Math.max(LEAST_CLIENTS, Math.floor(files / 2)),
    ),
  };
}

/** The parts of the configuration that the engine uses. */
export function engineOptions(
  loaded: LoadedConfig,
  mode: Mode,
  folder: string,
  { openFiles, trust }: { openFiles?: number; trust?: { mtaStsPort: number } },
): EngineOptions {
  const { config, routing } = loaded;
  const bounceDomain = bounceDomainOf(config);
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
      testLinks: mode === 'dev' || capturesAll(allTargets(config.route, loaded.routing.routes)),
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

/** Whether mail from any domain is taken, without verifying it. */
export function takesAnyDomain({ config, routing }: LoadedConfig, mode: Mode): boolean {
  return mode === 'dev' && capturesAll(allTargets(config.route, routing.routes));
}

/** Of sender domains. */
export function domainOptions(config: Config) {
  return {
    selectorPrefix: 'pr',
    bounceDomain: bounceDomainOf(config),
    takesReports: config.returns !== null,
    quota: {
      minute: config['quota-per-minute'],
      hour: config['quota-per-hour'],
      day: config['quota-per-day'],
    },
    trackingTarget: config['public-url'] === null ? config.hostname : new URL(config['public-url']).hostname,
    dkim: config.dkim,
    serviceDomain: config['service-domain'],
  };
}

export function storageLimits(config: Config) {
  return {
    limit: config['stored-bytes'],
    recipientLimit: config['queue-limit-per-domain'],
    queueLimit: config['queue-limit'],
  };
}

/** How long data is kept where a domain has no setting of its own. */
export function keptTimes(config: Config): RetentionOptions {
  return {
    contentMs: config['retain-content'],
    eventsMs: config['retain-events'],
    callsMs: config['retain-calls'],
    capturesMs: config['retain-captures'],
    optOutMs: config['retain-unsubscribe'],
    contentBytes: config['retain-content-bytes'],
  };
}

/** Of notices to SMTP senders. */
export function noticeOptions(config: Config) {
  return {
    hostname: config.hostname,
    waitMs: config['notice-wait'],
    perHour: config['notices-per-hour'],
  };
}

/** To whom alerts are mailed, and from which domains they may come. */
export function alertSenders(config: Config) {
  return {
    operatorAddress: config['operator-address'],
    ownDomains: [config['service-domain'] ?? [], bounceDomainOf(config), config.hostname].flat(),
  };
}
