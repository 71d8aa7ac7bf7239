/**
 * What happens when a path, or the way to one of its domains, fails: who hears of it, what is learnt, how long nothing
 * goes. One row hears of a failure of the path and is charged nothing; what waits behind it only shows the reason, and
 * nothing in the store is rewritten (delivery.md D4). A message alone never closes a path.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Overrides } from '../../policy/limits/shaping/types.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import { clampHintMs, type RetrySchedule } from '../queue/retry-schedule.ts';
import { localVerdict } from './classifier/verdict.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import type { EndpointAnswer } from './endpoints.ts';
import { NO_FACTS, type Outcome } from './outcome.ts';
import type { PathHealth } from './path-health.ts';
import { lessonsOf } from './path-lessons.ts';
import type { PathGates } from './path-limits.ts';
import type { Link, Links } from './path-links.ts';
import type { PathOutcome } from './path-opening.ts';
import type { Picker } from './path-pick.ts';
import type { PathView } from './path-view.ts';
import type { SettlementRules } from './settlement.ts';

export interface PathFailures {
  /** The path failed: while opening, or (with `item`) by a reply to a message. */
  failed(outcome: PathOutcome, more?: { item?: ReadyItem; link?: Link; timedOut?: boolean }): void;
  /** A connection ended under a message, which was charged for it. */
  lostUnder(messageId: string, detail: string): void;
  /** A permanent DNS answer holds for every recipient of the domain. */
  refuseDomain(answer: Extract<EndpointAnswer, { kind: 'permanent' }>, domain: string): void;
  /** Verified TLS is what a sender asks for, and it is not to be had: that concerns their mail, not the site. */
  withoutTls(outcome: PathOutcome): void;
  /** DNS gives no answer for one domain of the site: it goes by a path of its own. */
  setApart(recipientDomain: string): void;
  /** A bug, not an outcome: the message may or may not be with the far end, and is tried again as such. */
  attemptBroke(item: ReadyItem, cause: unknown): void;
  /** The message goes on at once, elsewhere; false where it did so often enough, or nothing may go. */
  handOn(item: ReadyItem): boolean;
  /** Nothing goes until then; what waits in memory goes back with the reason. */
  blockUntil(until: number, reason: string): void;
}

interface Deps {
  name: string;
  source: string;
  site: string;
  queue: Queue;
  rules: SettlementRules;
  retry: RetrySchedule;
  clock: Clock;
  log: Logger;
  metrics: Pick<DeliverMetrics, 'blocked'>;
  overrides: Pick<Overrides, 'note'>;
  gates: PathGates;
  health: PathHealth;
  links: Links;
  ready: Picker;
  view: PathView;
  finish(item: ReadyItem, outcome: Exclude<Outcome, { kind: 'again' }>, blockedUntil?: number): void;
  stopping(): boolean;
  /** A further connection is not asked for before so long. */
  pauseOpening(forMs: number): void;
  setApart(recipientDomain: string): void;
}

const FURTHER_CONNECTION_MS = 30_000;
/** A message that meets limits on one connection after another stops asking for yet another. */
const MAX_HANDED_ON = 3;
/** Critical mail asks a path that is closed again at the latest after this. */
export const CRITICAL_PROBE_MS = 60_000;
/** A path that answered nothing in time is left alone for longer: as if it had failed so often already. */
const TIMEOUT_FAILURES = 3;
/** A bad reputation slows the path to one a minute; it is not closed for longer than that. */
const REPUTATION_PAUSE_MS = 60_000;
/** A whole mail address, its domain too, however it is written. */
const ADDRESS = /[^\s<>"(),;:]{1,320}@[^\s<>"(),;:]{1,255}/g;

export function createPathFailures(deps: Deps): PathFailures {
  const { name, source, site, queue, rules, retry, clock, log, metrics, gates, health, links, ready, view } =
    deps;
  const { finish } = deps;

  return {
    failed: pathFailed,
    lostUnder(messageId, detail) {
      view.failed(detail);
      if (!health.lostUnder(messageId) || queue.blocked(name) !== null) return;
      block(detail, clock.now() + retry.breakerWaitMs(health.failures + 1));
    },
    refuseDomain,
    withoutTls,
    setApart: apart,
    attemptBroke(item, cause) {
      log.error(
        { err: cause, deliveryId: item.delivery.id },
        'an attempt broke; it counts as of unknown outcome',
      );
      const detail = 'an internal error ended the attempt';
      void queue.settle(item, rules.settle(item.delivery, { kind: 'unknown', detail, facts: NO_FACTS }));
    },
    handOn(item) {
      if (deps.stopping() || item.redispatched >= MAX_HANDED_ON || queue.blocked(name) !== null) return false;
      item.redispatched += 1;
      queue.putBack(item);
      return true;
    },
    blockUntil,
  };

  function apart(recipientDomain: string): void {
    for (const { item } of ready.remove((one) => one.item.delivery.recipientDomain === recipientDomain)) {
      queue.putBack(item);
    }
    deps.setApart(recipientDomain);
  }

  function refuseDomain(answer: Extract<EndpointAnswer, { kind: 'permanent' }>, domain: string): void {
    for (const { item } of ready.remove((prepared) => prepared.item.delivery.recipientDomain === domain)) {
      finish(item, {
        kind: 'bounced',
        verdict: localVerdict(answer.category, 'bounce', 'domain'),
        stage: 'dns',
        reply: { code: 0, enhanced: answer.enhanced, text: answer.detail },
        detail: answer.detail,
        facts: NO_FACTS,
        twice: answer.twice,
      });
    }
  }

  /** Verified TLS is what a sender asks for, and it is not to be had: that concerns their mail, not the site. */
  function withoutTls(outcome: PathOutcome): void {
    const verdict = localVerdict('tls_failed', 'retry', 'path');
    for (const { item } of ready.remove((prepared) => prepared.requireTls)) {
      finish(item, { ...outcome, kind: 'deferred', verdict });
    }
  }

  // ── when the path fails ─────────────────────────────────────────────────────────────────────────────────

  /** The attempted row hears of it; what waits behind it only carries the reason. */
  function pathFailed(
    outcome: PathOutcome,
    { item, link, timedOut = false }: { item?: ReadyItem; link?: Link; timedOut?: boolean } = {},
  ): void {
    const now = clock.now();
    const waitMs = pauseMs(outcome, timedOut);
    view.failed(outcome.detail);
    const learned = lessonsOf(outcome, {
      ...{ source, site, now, waitMs },
      open: Math.max(1, links.size + (item === undefined ? 1 : 0)),
      taken: link?.taken ?? 0,
      messagesPerSecond: gates.effective().limits.messagesPerSecond,
    });
    // Replies that come together teach once.
    if (queue.blocked(name) === null) for (const note of learned) deps.overrides.note(note);
    const connection = item === undefined || outcome.category === 'connection_limited';
    const cohort = connection && health.window.failed();
    if (handOn(outcome, item, link)) return;
    // Other connections still work: this one more is refused, the path is not down.
    if (item === undefined && links.size > 0 && !cohort) {
      deps.pauseOpening(FURTHER_CONNECTION_MS);
      log.debug({ site, detail: outcome.detail }, 'a further connection failed; the open ones go on');
      return;
    }
    // Connections that end together are one failure of the path, not as many as there were connections.
    const blocked = queue.blocked(name);
    const until = blocked?.until ?? now + waitMs;
    const attempted = item ?? ready.heads()[0]?.item;
    if (attempted !== undefined) {
      ready.remove((prepared) => prepared.item === attempted);
      finish(attempted, outcome, until);
    }
    if (blocked === null) block(outcome.detail, until);
  }

  /** Fewer connections, or fewer messages on one, is all that it asks for: others carry the message. */
  function handOn(outcome: PathOutcome, item: ReadyItem | undefined, link: Link | undefined): boolean {
    if (item === undefined || link === undefined) return false;
    if (outcome.category === 'tls_required') return underTls(item, link);
    if (outcome.category !== 'connection_limited') return false;
    if (deps.stopping() || item.redispatched >= MAX_HANDED_ON || (links.size <= 1 && link.taken <= 1))
      return false;
    links.leave(link);
    item.redispatched += 1;
    queue.putBack(item);
    return true;
  }

  /** Asked for encryption on a connection in the clear: from now on there is none, and the message goes at once. */
  function underTls(item: ReadyItem, link: Link): boolean {
    if (deps.stopping() || item.redispatched >= MAX_HANDED_ON || link.session.tls !== null) return false;
    links.leaveThose(({ session }) => session.tls === null);
    item.redispatched += 1;
    queue.putBack(item);
    return true;
  }

  /** How long a failure keeps the path closed: what a reply asks for, what its category says, never less than usual. */
  function pauseMs({ verdict, category }: PathOutcome, timedOut: boolean): number {
    const failures = health.failures + 1;
    const usual = retry.breakerWaitMs(timedOut ? failures + TIMEOUT_FAILURES : failures);
    if (verdict === null) return usual;
    if (verdict.hintMs !== null) return retry.fixedWaitMs(clampHintMs(verdict.hintMs), failures);
    if (verdict.waitMs === null) return usual;
    const prescribed = category === 'ip_reputation' ? REPUTATION_PAUSE_MS : verdict.waitMs;
    return Math.max(usual, retry.fixedWaitMs(prescribed, failures));
  }

  function block(reason: string, until: number): void {
    metrics.blocked();
    log.info(
      { site, failures: health.failures + 1, until: new Date(until).toISOString(), reason },
      'site blocked',
    );
    // Everybody's mail for this site shows it, and a reply may name somebody else's recipient.
    const waitReason = `path: ${reason.slice(0, 1024).replace(ADDRESS, '(an address)')}`.slice(0, 512);
    const soonest = queue.hasWaiting(name, 'critical') || ready.count('critical') > 0;
    blockUntil(soonest ? Math.min(until, clock.now() + CRITICAL_PROBE_MS) : until, waitReason);
  }

  function blockUntil(until: number, reason: string): void {
    health.open(until, reason);
    for (const { item } of ready.remove(() => true)) queue.giveBack(item, clock.now(), reason);
    queue.block(name, until, reason);
  }
}
