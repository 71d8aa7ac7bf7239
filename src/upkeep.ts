/**
 * Housekeeping in small steps that do not delay sending: removes expired idempotency keys, suppressions, overrides and
 * old path states, applies retention (policy/retention), checks sender domains again when they are due (one at a time,
 * so that a slow name server delays only this), and creates a new standby key a week after a rotation. Failures are
 * logged and tried again in the next round. Events are added up for statistics as they come, and recipients are
 * indexed for searches.
 */
import { type Clock, sleep } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import { createRounds, type Rounds } from './lib/rounds.ts';
import type { Service } from './lib/service.ts';
import { nextCheckAt } from './policy/domains/check-schedule.ts';
import type { DomainService } from './policy/domains/domains.ts';
import type { Retention } from './policy/retention/retention.ts';
import { EVIDENCE_KEPT_MS } from './policy/suppressions/suppressions.ts';
import type { Store } from './store/store.ts';

const PURGE_EVERY_MS = 10 * 60_000;
const DOMAINS_EVERY_MS = 60_000;
/** A stored state of a path is useless after this time. */
const PATH_KEPT_MS = 7 * 24 * 3_600_000;
/** The timeline of a message shows them; longer than any message waits. */
const CHANGES_KEPT_MS = 14 * 24 * 3_600_000;
/** A cause without recipients may occur again; until then it keeps its number and first time. */
const CAUSE_KEPT_MS = 7 * 86_400_000;
const STEP_ROWS = 1000;
/** What is not added up yet is read for each answer. */
const SUMS_EVERY_MS = 10_000;
/** Measured: 3.5 ms of SQLite's writer, 7.5 where each recipient has a domain of their own. */
const EVENTS_PER_STEP = 1000;
/** Measured: 3 ms of SQLite's writer. */
const RECIPIENTS_PER_STEP = 1000;
/** After a step of adding up or indexing, the writer is left alone for this many times its duration. */
const REST = 3;
/** After an upgrade it takes long. */
const TELL_EVERY_MS = 60_000;
/** Domains checked in one round; those that are due longest come first, the others wait for the next round. */
const CHECKS_PER_ROUND = 50;

export interface UpkeepOptions {
  idempotencyWindowMs: number;
  /** false: no domain is checked automatically (development, where every domain counts as verified). */
  checkDomains: boolean;
}

/** Nothing happens before `start`. */
export function createUpkeep(
  deps: {
    store: Pick<
      Store,
      | 'purgeIdempotency'
      | 'purgeSuppressions'
      | 'purgeLimits'
      | 'purgeCauses'
      | 'lastEventSeq'
      | 'sumEvents'
      | 'countSummed'
      | 'indexRecipients'
    >;
    domains: Pick<DomainService, 'all' | 'verify' | 'renewStandby'>;
    retention: Retention;
    /** Removes what was kept long enough to go back to before an upgrade. */
    removeOldCopies(): Promise<void>;
    /** Whether nothing may be removed for its age now. */
    suspectsClock(): boolean;
    clock: Clock;
    log: Logger;
  },
  options: UpkeepOptions,
): Service {
  const { store, domains, retention, clock, log } = deps;
  let running = false;
  /** Another process may have gone on with it, which is only asked again. */
  let summedUpTo = 0;
  const rounds = [
    removing('idempotency keys', (now) =>
      inSteps((limit) => store.purgeIdempotency({ before: now - options.idempotencyWindowMs, limit })),
    ),
    removing('suppressions', (now) =>
      inSteps((limit) => store.purgeSuppressions({ now, evidenceBefore: now - EVIDENCE_KEPT_MS, limit })),
    ),
    removing('overrides and paths', (now) => {
      const over = { now, before: now - CHANGES_KEPT_MS, unusedSince: now - PATH_KEPT_MS };
      return inSteps((limit) => store.purgeLimits({ ...over, limit }));
    }),
    removing('retention', forget),
    removing('causes', (now) =>
      inSteps((limit) => store.purgeCauses({ before: now - CAUSE_KEPT_MS, limit })),
    ),
    removing('copies from before an upgrade', deps.removeOldCopies),
    every('sender domains', DOMAINS_EVERY_MS, lookAfterDomains),
    every('statistics', SUMS_EVERY_MS, sumEvents),
    every('recipients', SUMS_EVERY_MS, indexRecipients),
  ];

  /** Until a step removes fewer than it may. */
  async function inSteps(remove: (limit: number) => Promise<number>): Promise<void> {
    while (running && (await remove(STEP_ROWS)) === STEP_ROWS);
  }

  async function forget(): Promise<void> {
    const forgotten = await retention.purge(() => running);
    if (Object.values(forgotten).some((count) => count > 0)) {
      log.info({ ...forgotten }, 'what has been kept long enough was removed');
    }
  }

  async function sumEvents(): Promise<void> {
    const upTo = await store.lastEventSeq();
    if (upTo === summedUpTo) return;
    const startedAt = clock.monotonicMs();
    let toldAt = startedAt;
    let added = 0;
    while (running) {
      const from = clock.monotonicMs();
      if (!(await store.sumEvents({ upTo, limit: EVENTS_PER_STEP }))) break;
      added += EVENTS_PER_STEP;
      const now = clock.monotonicMs();
      if (now - toldAt >= TELL_EVERY_MS) {
        toldAt = now;
        const { summed, events } = await store.countSummed();
        const minutesLeft = Math.ceil(((events - summed) / added) * ((now - startedAt) / 60_000));
        log.info({ counted: summed, of: events, minutesLeft }, 'events are being counted for statistics');
      }
      await sleep(clock, REST * (now - from));
    }
    if (running) summedUpTo = upTo;
  }

  async function indexRecipients(): Promise<void> {
    while (running) {
      const from = clock.monotonicMs();
      if (!(await store.indexRecipients({ limit: RECIPIENTS_PER_STEP }))) break;
      await sleep(clock, REST * (clock.monotonicMs() - from));
    }
  }

  async function lookAfterDomains(): Promise<void> {
    const now = clock.now();
    const due: { name: string; status: string; at: number }[] = [];
    for await (const domain of domains.all()) {
      if (!running) return;
      const at = nextCheckAt(domain, now);
      if (at !== null && at <= now) due.push({ name: domain.name, status: domain.status, at });
      const renewed = await domains.renewStandby(domain);
      if (renewed === null) continue;
      const selector = renewed.keys.find((key) => key.role === 'standby')?.selector;
      log.info({ domain: domain.name, selector }, 'a new standby key waits to be published');
    }
    if (!options.checkDomains) return;
    due.sort((a, b) => a.at - b.at);
    for (const { name, status } of due.slice(0, CHECKS_PER_ROUND)) {
      if (!running) return;
      await check(name, status);
    }
  }

  async function check(name: string, before: string): Promise<void> {
    try {
      const { domain } = await domains.verify(name);
      if (domain.status === before) return;
      const level = domain.status === 'Failing' ? 'warn' : 'info';
      log[level]({ domain: name, status: domain.status, before }, 'a sender domain has changed');
    } catch (cause) {
      // The domain was removed meanwhile, or the store is unavailable: the other domains must still be checked.
      log.warn({ domain: name, err: cause }, 'a sender domain could not be checked');
    }
  }

  function removing(what: string, work: (now: number) => Promise<void>): Rounds {
    return every(what, PURGE_EVERY_MS, async () => {
      if (!deps.suspectsClock()) await work(clock.now());
    });
  }

  function every(what: string, everyMs: number, work: () => Promise<void>): Rounds {
    const failed = (err: unknown) => log.warn({ err, what }, 'upkeep failed; it will be tried again');
    return createRounds({ clock, everyMs, work, failed });
  }

  return {
    async start() {
      running = true;
      await Promise.all(rounds.map((round) => round.start()));
    },
    async stop() {
      running = false;
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}
