/**
 * What happens when a path, or the connection to one of its domains, fails: what is recorded and for how long nothing
 * is sent. One row gets the failure of the path in its timeline, without counting an attempt; rows that wait only show
 * the reason, and nothing in the store is rewritten. One message alone never blocks a path.
 */
import { isIPv6 } from 'node:net';
import { isRelaySite } from '../../../model/route.ts';
import { pathKey } from '../../../policy/limits/shaping/types.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import { clampHintMs } from '../../queue/retry-schedule.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import { localVerdict } from '../outcome/classifier/verdict.ts';
import { effectsOf, pathEffects } from '../outcome/effects.ts';
import { NO_FACTS } from '../outcome/outcome.ts';
import type { EndpointAnswer } from '../routing/endpoints.ts';
import type { Connecting } from './connecting.ts';
import type { Link } from './links.ts';
import type { PathOutcome } from './opening.ts';
import type { PathParts } from './parts.ts';

export interface PathFailures {
  /** The path failed: while opening, or (with `item`) by a reply to a message. */
  failed(outcome: PathOutcome, more?: FailedMore): void;
  /** A connection ended during a message, which was charged for it. */
  lostUnder(messageId: string, link: Link, detail: string): void;
  /** The far end ended a connection between two messages. */
  endedBetween(link: Link): void;
  /** A permanent DNS answer applies to every recipient of the domain. */
  refuseDomain(answer: Extract<EndpointAnswer, { kind: 'permanent' }>, domain: string): void;
  /** A sender requires verified TLS, and it is not available: that concerns this sender's mail, not the site. */
  withoutTls(outcome: PathOutcome): void;
  /** The DNS gives no answer for one domain of the site: it gets a path of its own. */
  isolate(recipientDomain: string): void;
  /** A bug, not an outcome: the far end may or may not have the message, so its outcome is unknown. */
  attemptBroke(item: ReadyItem, cause: unknown): void;
  /**
   * Sends the message again at once on another connection; false if that was done often enough, or nothing may be sent.
   */
  sendAgainAtOnce(item: ReadyItem): boolean;
}

/** `taken`: messages given to the connection by then, including the refused one. */
interface FailedMore {
  item?: ReadyItem;
  link?: Link;
  taken?: number;
  timedOut?: boolean;
}

const FURTHER_CONNECTION_MS = 30_000;
/** A message that met limits on this many connections is not moved to another. */
const MAX_SENT_AGAIN = 3;
/** A path that timed out waits longer: as if it had already failed this often. */
const TIMEOUT_FAILURES = 3;
/** A bad reputation limits the path to one message per minute; it is not blocked for longer than this. */
const REPUTATION_PAUSE_MS = 60_000;
/** A far end that ends a connection so soon after the last reply does not do it because the connection was idle. */
const AT_ONCE_MS = 1_000;
const MESSAGES_LEARNED_MS = 24 * 3_600_000;
/** A whole mail address including its domain, in any form. */
const ADDRESS = /(?<![^\s<>"(),;:])[^\s<>"(),;:]{1,320}@[^\s<>"(),;:]{1,255}/g;

export function createPathFailures(
  parts: PathParts & { connecting: Pick<Connecting, 'pause'> },
): PathFailures {
  const { queue, retry, clock, log, metrics, overrides, state, links, tried, ready, notes, finish } = parts;
  const { source, site } = parts.sitePath;
  const { gates, health } = parts.capacity;
  const isRelay = isRelaySite(site);

  return {
    failed: pathFailed,
    lostUnder(messageId, { endpoint }, detail) {
      notes.failed(detail);
      const { address, port } = endpoint;
      if (!health.lostUnder(`${address}:${port}`, messageId) || state.blocked() !== null) return;
      if (tried.avoid(endpoint)) {
        // Another host may accept what this one drops.
        log.info({ site, host: endpoint.host, address, reason: detail }, 'host avoided');
        links.leaveThose((link) => link.endpoint.address === address && link.endpoint.port === port);
        return;
      }
      trip(clock.now() + usualMs(false), detail, 'conn_lost', false);
    },
    endedBetween,
    refuseDomain,
    withoutTls,
    isolate,
    attemptBroke(item, cause) {
      log.error(
        { err: cause, deliveryId: item.delivery.id },
        'an attempt broke; it counts as of unknown outcome',
      );
      finish(item, { kind: 'unknown', detail: 'an internal error ended the attempt', facts: NO_FACTS });
    },
    sendAgainAtOnce(item) {
      if (!maySendAgain(item) || state.blocked() !== null) return false;
      sendAgain(item);
      return true;
    },
  };

  /** If it happens soon after the last reply, and again after as many messages, the far end always does this. */
  function endedBetween({ endpoint, farEnd, session, openedAtMs, endedAtMs }: Link): void {
    if (clock.monotonicMs() - endedAtMs > AT_ONCE_MS) return;
    const most = farEnd.endedAfter(session.transactions(), openedAtMs);
    if (most === null) return;
    overrides.note({
      ...{ scope: 'path', key: pathKey(source, site), param: 'messagesPerConnection', value: most },
      until: clock.now() + MESSAGES_LEARNED_MS,
      rule: 'connection_limited',
      why: `${endpoint.host} ended two connections, each after ${most} ${most === 1 ? 'message' : 'messages'}`,
    });
  }

  function isolate(recipientDomain: string): void {
    for (const { item } of ready.remove((one) => one.item.delivery.recipientDomain === recipientDomain)) {
      queue.putBack(item);
    }
    parts.domains.isolate(recipientDomain);
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
        confirm: answer.confirm,
      });
    }
  }

  /** A sender requires verified TLS, and it is not available: that concerns this sender's mail, not the site. */
  function withoutTls(outcome: PathOutcome): void {
    const verdict = localVerdict('tls_failed', 'retry', 'path');
    for (const { item } of ready.remove((prepared) => prepared.requireTls)) {
      finish(item, { ...outcome, kind: 'deferred', verdict });
    }
  }

  // ── when the path fails ─────────────────────────────────────────────────────────────────────────────────

  /** The attempted row records the failure; rows that wait only show the reason. */
  function pathFailed(
    outcome: PathOutcome,
    { item, link, taken = 0, timedOut = false }: FailedMore = {},
  ): void {
    const now = clock.now();
    const waitMs = pauseMs(outcome, timedOut);
    notes.failed(outcome.detail);
    const effects = pathEffects(outcome, {
      ...{ source, site, now, waitMs },
      open: Math.max(1, links.size() + (item === undefined ? 1 : 0)),
      taken,
      messagesPerSecond: gates.effective().limits.messagesPerSecond,
    });
    const blocked = state.blocked();
    // Replies that come together count once. A suspension blocks the path, so it is applied last.
    const limit = (suspends: boolean): void => {
      if (blocked !== null) return;
      for (const note of effects) if ((note.param === 'suspended') === suspends) overrides.note(note);
    };
    limit(false);
    const connection = item === undefined || outcome.category === 'connection_limited';
    const cohort = connection && health.window.failed();
    if (goesOn(outcome, item, link, taken)) return;
    // Other connections still work: the path refuses one more, but is not down.
    if (item === undefined && links.size() > 0 && !cohort) {
      parts.connecting.pause(FURTHER_CONNECTION_MS);
      limit(true);
      log.debug({ site, detail: outcome.detail }, 'a further connection failed; the open ones go on');
      return;
    }
    // Connections that end together are one failure of the path, however many there were.
    const until = blocked?.until ?? now + waitMs;
    const attempted = item ?? ready.heads()[0]?.item;
    if (attempted !== undefined) {
      ready.remove((prepared) => prepared.item === attempted);
      finish(attempted, outcome, until);
    }
    const asked = outcome.verdict?.hintMs != null;
    if (blocked === null) trip(until, outcome.detail, outcome.category, asked);
    limit(true);
  }

  /** The reply is about this connection, or one domain's: others carry the message, or it waits alone. */
  function goesOn(
    outcome: PathOutcome,
    item: ReadyItem | undefined,
    link: Link | undefined,
    taken: number,
  ): boolean {
    if (item === undefined || link === undefined) return false;
    if (outcome.category === 'tls_required') return underTls(item, link);
    if (outcome.category === 'ipv6_refused') return overIpv4(outcome, item, link);
    if (outcome.category !== 'connection_limited') return false;
    if (!maySendAgain(item) || (links.size() <= 1 && taken <= 1)) return false;
    links.leave(link);
    sendAgain(item);
    return true;
  }

  /**
   * The far end requires TLS on a connection without it: from now on it is used, and the message is sent again at once.
   */
  function underTls(item: ReadyItem, link: Link): boolean {
    if (!maySendAgain(item) || link.session.tls !== null) return false;
    links.leaveThose(({ session }) => session.tls === null);
    sendAgain(item);
    return true;
  }

  /**
   * The far end takes no mail over IPv6: from now on IPv4 is used, and the message is sent again at once. Otherwise it waits
   * alone: a relay or a filter may repeat what one domain's server said.
   */
  function overIpv4(outcome: PathOutcome, item: ReadyItem, link: Link): boolean {
    const { verdict } = outcome;
    if (link.endpoint.route === 'mx' && isIPv6(link.endpoint.address) && maySendAgain(item)) {
      links.leaveThose(({ endpoint }) => isIPv6(endpoint.address));
      sendAgain(item);
    } else if (verdict !== null) finish(item, { ...outcome, kind: 'deferred', verdict });
    else return false;
    return true;
  }

  function maySendAgain(item: ReadyItem): boolean {
    return !parts.life.stopping && item.redispatched < MAX_SENT_AGAIN;
  }

  function sendAgain(item: ReadyItem): void {
    item.redispatched += 1;
    queue.putBack(item);
  }

  /** How long a failure blocks the path: the wait in the reply, or that of its category, never less than usual. */
  function pauseMs({ verdict, category }: PathOutcome, timedOut: boolean): number {
    const failures = state.failures() + 1;
    const usual = usualMs(timedOut);
    if (verdict === null) return usual;
    if (verdict.hintMs !== null) return retry.fixedWaitMs(clampHintMs(verdict.hintMs), failures);
    // A relay of the operator that does not let this server in is a matter of its configuration, which may be mended soon.
    if (verdict.waitMs === null || (isRelay && effectsOf(category).alert)) return usual;
    const prescribed = category === 'ip_reputation' ? REPUTATION_PAUSE_MS : verdict.waitMs;
    return Math.max(usual, retry.fixedWaitMs(prescribed, failures));
  }

  function usualMs(timedOut: boolean): number {
    const failures = state.failures() + 1;
    if (isRelay) return retry.relayWaitMs(failures);
    return retry.breakerWaitMs(timedOut ? failures + TIMEOUT_FAILURES : failures);
  }

  function trip(until: number, said: string, cause: Category, asked: boolean): void {
    metrics.blocked();
    const failures = state.failures() + 1;
    parts.tellBlocked({ site, failures, until: new Date(until).toISOString(), reason: said }, cause);
    const urgent = ready.count('critical') > 0;
    health.tripped();
    // All mail for this site shows the reason, and a reply may name somebody else's recipient.
    const reason = said.slice(0, 1024).replace(ADDRESS, '(an address)');
    state.trip(until, { reason, cause, asked });
    if (urgent) state.urgent();
  }
}
