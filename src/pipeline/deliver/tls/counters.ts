/**
 * Counts how sessions with recipients' servers ended regarding TLS, by day and policy as RFC 8460 reports them: in
 * memory first, added to the store once a minute, and as a metric. Reports are not sent. Counts that could not be
 * stored are tried again; the number of different counters in memory is limited, since host names are chosen by others.
 */
import { Counter, type Registry } from 'prom-client';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createRounds } from '../../../lib/rounds.ts';
import type { Service } from '../../../lib/service.ts';
import type { TlsFacts } from '../../../smtp/client-tls.ts';
import type { Store } from '../../../store/store.ts';
import type { TlsCount, TlsPolicyType, TlsResult } from '../../../store/topics/tls.ts';

export interface TlsCounters extends Service {
  count(what: Omit<TlsCount, 'day' | 'sessions'>): void;
}

const FLUSH_EVERY_MS = 60_000;
const MAX_COUNTERS = 20_000;
/** Rows per write. */
const STEP_ROWS = 500;
const PURGE_ROWS = 1000;
const DAY_MS = 86_400_000;
/** Reports are about yesterday; older counts are for people who examine a problem. */
const KEPT_DAYS = 14;

/** Counts a session in the metrics. */
export type TlsMetrics = (policy: TlsPolicyType, result: TlsResult) => void;

export function createTlsMetrics(registry: Registry): TlsMetrics {
  const sessions = new Counter({
    name: 'postrider_tls_sessions_total',
    help: 'Sessions with recipients’ servers, by the policy that applied and how TLS went (RFC 8460)',
    labelNames: ['policy', 'result'],
    registers: [registry],
  });
  return (policy, result) => sessions.labels(policy, result).inc();
}

export function createTlsCounters(deps: {
  store: Pick<Store, 'addTlsCounts' | 'purgeTls'>;
  clock: Clock;
  log: Logger;
  metrics: TlsMetrics;
}): TlsCounters {
  const { store, clock, log, metrics } = deps;
  let waiting = new Map<string, TlsCount>();
  let purgedDay = '';
  const flushes = createRounds({
    clock,
    everyMs: FLUSH_EVERY_MS,
    firstAfterMs: FLUSH_EVERY_MS,
    work: flush,
    failed() {},
  });

  return {
    count({ domain, policy, mxHost, result }) {
      metrics(policy, result);
      const count = { day: dayOf(clock.now()), domain, policy, mxHost, result, sessions: 1 };
      if (waiting.size < MAX_COUNTERS || waiting.has(keyOf(count))) add(count);
    },
    start: flushes.start,
    async stop() {
      await flushes.stop();
      await flush();
    },
  };

  /** Never rejects. */
  async function flush(): Promise<void> {
    const taken = [...waiting.values()];
    waiting = new Map();
    let at = 0;
    try {
      for (; at < taken.length; at += STEP_ROWS) {
        await store.addTlsCounts({ counts: taken.slice(at, at + STEP_ROWS) });
      }
      await purgeOnceADay();
    } catch (cause) {
      for (const count of taken.slice(at)) add(count);
      log.warn({ err: cause }, 'TLS counters could not be stored; they are kept and offered again');
    }
  }

  function add(count: TlsCount): void {
    const key = keyOf(count);
    const known = waiting.get(key);
    if (known !== undefined) known.sessions += count.sessions;
    else waiting.set(key, count);
  }

  async function purgeOnceADay(): Promise<void> {
    const now = clock.now();
    const today = dayOf(now);
    if (today === purgedDay) return;
    const step = { now, beforeDay: dayOf(now - KEPT_DAYS * DAY_MS), limit: PURGE_ROWS };
    while ((await store.purgeTls(step)) >= PURGE_ROWS);
    purgedDay = today;
  }
}

/** The RFC 8460 §4.3.2 name of a certificate that was not accepted, or would not have been. */
export function certificateResult(facts: TlsFacts): TlsResult {
  switch (facts.authorizationError) {
    case null:
      return 'success';
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'certificate-expired';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'certificate-host-mismatch';
    case 'DANE_MISMATCH':
      return 'validation-failure';
    default:
      return 'certificate-not-trusted';
  }
}

function keyOf({ day, domain, policy, mxHost, result }: TlsCount): string {
  return [day, domain, policy, mxHost, result].join(' ');
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
