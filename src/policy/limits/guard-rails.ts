/**
 * Guard-rails of a sender domain: if among its last 1000 outcomes more than 5 % bounced or 0.3 % complained, it is
 * warned; above 10 % or 0.5 % its bulk mail is held until the figures improve or the operator releases it. Once a
 * minute the domains with new bounces or complaints are checked. The shares are always of 1000, so a few bounces of a
 * new domain are not a high rate. Each change is an event; the API shows the figures.
 */

import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createRounds } from '../../lib/rounds.ts';
import type { Service } from '../../lib/service.ts';
import type { EventKind } from '../../model/event.ts';
import type { NodeLease } from '../../model/node.ts';
import type { Store } from '../../store/store.ts';
import type { AppendedEvent } from '../../store/topics/events.ts';
import type { OutcomeRates } from '../../store/topics/returns.ts';
import type { Hold, Holds } from './holds.ts';

export type GuardLevel = 'ok' | 'warn' | 'hold';

export interface GuardStanding extends OutcomeRates {
  level: GuardLevel;
  /** A sentence, '' for `ok`. */
  reason: string;
}

export interface GuardRails extends Service {
  /** The state of a domain at its last check; null: no recent bounces or complaints. */
  standing(domain: string): GuardStanding | null;
  /** Levels of all domains that were checked. */
  levels(): readonly GuardLevel[];
  /** Domains that are warned and not held. */
  warned(): readonly { domain: string; standing: GuardStanding }[];
  /** A receiver repeatedly said that this domain's links are on a blocklist: its bulk mail is held for a day. */
  holdListed(domain: string, why: string): void;
  /** Checks the events since the last time now; for tests and the first check. */
  look(): Promise<void>;
}

interface Deps {
  store: Pick<Store, 'outcomeRates' | 'returnedDomains' | 'lastEventSeq' | 'appendEvents'>;
  holds: Pick<Holds, 'list' | 'add' | 'release'>;
  /** Of this process: what it decides in an epoch that has ended is not stored. */
  node: Pick<NodeLease, 'epoch'>;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
}

const WINDOW = 1000;
/** Warned, or held, above these counts of the window. */
export const WARN = { bounced: 50, complained: 3 };
export const HOLD = { bounced: 100, complained: 5 };
const LOOK_EVERY_MS = 60_000;
/** The first check reads this many events back. */
const FIRST_LOOK_EVENTS = 100_000;
/** Events read in one query. */
const EVENTS_AT_ONCE = 10_000;
/** After a person has released a hold, the domain is not held again for this time. */
const BELIEVED_MS = 24 * 3_600_000;
const BY = 'guard-rails';
const BY_LISTING = 'guard-rails:listed';
/** After this time a listing is forgotten. */
const LISTED_MS = 24 * 3_600_000;

/** Whether the guard-rails made this hold, not a person. */
export function isGuardHold({ createdBy }: Pick<Hold, 'createdBy'>): boolean {
  return createdBy === BY || createdBy === BY_LISTING;
}

/** Nothing happens before `start`. */
export function createGuardRails(deps: Deps): GuardRails {
  const { store, holds, node, clock, random, log } = deps;
  const standings = new Map<string, GuardStanding>();
  /** Domains that we hold, as far as we know: if such a hold is gone, a person released it. */
  const held = new Set<string>();
  const believedUntil = new Map<string, number>();
  const untold: AppendedEvent[] = [];
  let afterSeq: number | null = null;
  const rounds = createRounds({
    clock,
    everyMs: LOOK_EVERY_MS,
    work: look,
    failed: (err) => log.warn({ err }, 'the rates of sender domains could not be looked at'),
  });
  return {
    // After a stop, another node may have held and released meanwhile: what is known begins anew.
    async start() {
      held.clear();
      standings.clear();
      afterSeq = null;
      await rounds.start();
    },
    stop: rounds.stop,
    standing: (domain) => standings.get(domain) ?? null,
    levels: () => [...standings.values()].map(({ level }) => level),
    warned: () =>
      [...standings].flatMap(([domain, standing]) =>
        standing.level === 'warn' ? [{ domain, standing }] : [],
      ),
    look,
    holdListed(domain, why) {
      holdListed(domain, why).catch((err: unknown) =>
        log.warn({ err, domain }, 'the bulk lane of a sender domain could not be held'),
      );
    },
  };

  async function look(): Promise<void> {
    await tellAll();
    const last = await store.lastEventSeq();
    const first = afterSeq === null;
    if (first) for (const hold of ours()) held.add(hold.senderDomain ?? '');
    const changed = new Set<string>();
    for (let from: number | null = afterSeq ?? Math.max(0, last - FIRST_LOOK_EVENTS); from !== null; ) {
      const found: Awaited<ReturnType<typeof store.returnedDomains>> = await store.returnedDomains({
        afterSeq: from,
        look: EVENTS_AT_ONCE,
      });
      for (const domain of found.domains) changed.add(domain);
      from = found.nextSeq;
    }
    // Domains in trouble are checked each time, because delivered mail alone improves their figures.
    const troubled = [...standings].filter(([, { level }]) => level !== 'ok').map(([domain]) => domain);
    for (const domain of new Set([...changed, ...troubled, ...held])) await lookAt(domain, first);
    afterSeq = last;
  }

  async function lookAt(domain: string, first: boolean): Promise<void> {
    const rates = await store.outcomeRates({ domain, window: WINDOW });
    const before = standings.get(domain)?.level ?? 'ok';
    const now = standingOf(rates);
    standings.set(domain, now);
    noticeRelease(domain);
    if (now.level === 'hold' && !held.has(domain) && (believedUntil.get(domain) ?? 0) <= clock.now()) {
      await hold(domain, now);
    } else if (now.level === 'ok' && held.has(domain)) {
      await release(domain, now);
    } else if (now.level !== before && now.level !== 'ok' && !held.has(domain)) {
      // Probably known before this process started: only logged.
      log.warn({ domain, ...rates }, 'a sender domain has many bounces or complaints');
      if (!first) await tell(domain, 'domain.warned', now.reason);
    }
  }

  /** A hold of ours that is gone was released by a person, whose decision is respected for a day. */
  function noticeRelease(domain: string): void {
    if (!held.has(domain) || ours().some(({ senderDomain }) => senderDomain === domain)) return;
    held.delete(domain);
    believedUntil.set(domain, clock.now() + BELIEVED_MS);
    log.info({ domain }, 'the bulk lane of a sender domain was released by hand');
  }

  async function hold(domain: string, standing: GuardStanding): Promise<void> {
    const match = { senderDomain: domain, recipientDomain: null, site: null, lane: 'bulk' as const };
    await holds.add({ ...match, reason: standing.reason, until: null, createdBy: BY }, { epoch: node.epoch });
    held.add(domain);
    log.error({ domain, ...standing }, 'the bulk lane of a sender domain is held');
    await tell(domain, 'domain.held', standing.reason);
  }

  async function holdListed(domain: string, why: string): Promise<void> {
    const fits = (hold: Hold) => hold.senderDomain === domain && hold.lane === 'bulk' && hold.site === null;
    if (holds.list().some((hold) => fits(hold) && hold.createdBy === BY_LISTING)) return;
    const reason =
      `Links of ${domain} are on a blocklist (${why}). Take them out or have them delisted, then release it`.slice(
        0,
        400,
      );
    const match = { senderDomain: domain, recipientDomain: null, site: null, lane: 'bulk' as const };
    await holds.add(
      { ...match, reason, until: clock.now() + LISTED_MS, createdBy: BY_LISTING },
      { epoch: node.epoch },
    );
    log.error({ domain, why }, 'the bulk lane of a sender domain is held');
    await tell(domain, 'domain.held', reason);
  }

  async function release(domain: string, standing: GuardStanding): Promise<void> {
    const ids = ours()
      .filter(({ senderDomain }) => senderDomain === domain)
      .map(({ id }) => id);
    await holds.release(ids, node.epoch);
    held.delete(domain);
    log.info({ domain, ...standing }, 'the bulk lane of a sender domain is released');
    await tell(domain, 'domain.released', 'Bounces and complaints are few again; bulk mail goes on');
  }

  async function tell(domain: string, kind: EventKind, reason: string): Promise<void> {
    const event = { id: uuidv7(clock, random), kind, at: clock.now(), detail: { reason } };
    untold.push({ ...event, domain, deliveryId: null });
    await tellAll();
  }

  /** What could not be stored is tried again with the next look, under the same ids. */
  async function tellAll(): Promise<void> {
    if (untold.length === 0) return;
    const events = [...untold];
    await store.appendEvents({ events });
    untold.splice(0, events.length);
    deps.eventsStored();
  }

  function ours(): readonly Hold[] {
    return holds.list().filter(({ createdBy }) => createdBy === BY);
  }
}

/** The level of these rates, with the reason. */
function standingOf(rates: OutcomeRates): GuardStanding {
  const over = (limit: typeof WARN) => rates.bounced > limit.bounced || rates.complained > limit.complained;
  const level: GuardLevel = over(HOLD) ? 'hold' : over(WARN) ? 'warn' : 'ok';
  if (level === 'ok') return { ...rates, level, reason: '' };
  const limit = level === 'hold' ? HOLD : WARN;
  const found = [
    ...(rates.bounced > limit.bounced ? [`${rates.bounced} bounced (at most ${limit.bounced})`] : []),
    ...(rates.complained > limit.complained
      ? [`${rates.complained} complained (at most ${limit.complained})`]
      : []),
  ];
  const next =
    level === 'hold'
      ? 'Bulk mail waits: clean the list, then release it'
      : 'Clean the list before bulk mail is held';
  return {
    ...rates,
    level,
    reason: `Of the last ${WINDOW.toLocaleString('en-US')} recipients ${found.join(' and ')}. ${next}.`,
  };
}
