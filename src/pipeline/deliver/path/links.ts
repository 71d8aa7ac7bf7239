/**
 * The open connections of a path (links): which are idle, what the others carry, and when an unused one is closed. A
 * connection that has reached its limit of messages leaves: it accepts nothing new, closes after its current
 * transactions, and counts until it is closed.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { Lane } from '../../../model/message.ts';
import type { Session, SessionClose } from '../../../smtp/client-types.ts';
import type { ReadyItem, Sending } from '../../queue/ready-item.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import type { FarEnd } from './far-ends.ts';
import type { ConnectionTotal } from './limits.ts';
import type { Slots } from './picker.ts';

export interface Link {
  readonly session: Session;
  readonly endpoint: Endpoint;
  readonly farEnd: FarEnd;
  /** The connections to its address; null for a relay. */
  readonly shared: ConnectionTotal | null;
  /** The conversation while it opened. */
  readonly opening: string;
  readonly openedAtMs: number;
  /** Messages given to it so far. */
  taken: number;
  /** Of its last transaction; Infinity before the first. */
  latencyMs: number;
  /** Lane of its current messages; null = none. */
  lane: Lane | null;
  senderDomain: string;
  inFlight: number;
  /** The current message takes longer than usual for this far end. */
  hangs: boolean;
  /** For the items of its current transaction. */
  readonly sending: Sending;
  /** The message that waits behind the current one and can still be withdrawn. */
  behind: { item: ReadyItem; sinceMs: number } | null;
  /** When its last transaction ended. */
  endedAtMs: number;
  idleTimer: Timer | null;
}

export interface Links {
  /** Connections that accept messages. */
  size(): number;
  /** Including those that leave. */
  all(): number;
  /** Accepting connections whose far end has not answered for longer than usual. */
  hanging(): number;
  /** Messages on these. */
  hangingMessages(): number;
  busyCount(): number;
  slots(): Pick<Slots, 'busy' | 'criticalOf'>;
  /** Connections used by one sender domain, including those that hang. */
  busyOf(senderDomain: string): number;
  /** These accept nothing new and close after their current transactions. */
  leaveThose(which: (link: Link) => boolean): void;
  /** The least recently used one, so that all hosts are used. */
  idle(may: (link: Link) => boolean): Link | null;
  /**
   * A connection that carries this lane, answered its last message within `withinMs`, and may carry this one behind it.
   */
  busy<Mail>(lane: Lane, withinMs: number, may: (link: Link, mail: Mail) => boolean, mail: Mail): Link | null;
  /** The connection of this lane with the fewest unanswered messages that were sent whole, and that may carry one more. */
  following(lane: Lane, may: (link: Link) => boolean): Link | null;
  add(opened: Pick<Link, 'endpoint' | 'session' | 'shared' | 'farEnd'>, idleMs: number): void;
  /** The connection on which an item waits behind another message, or null. */
  behind(item: ReadyItem): Link | null;
  take(link: Link, delivery: ClaimedDelivery): void;
  done(link: Link, idleMs: number): void;
  leave(link: Link): void;
  /** The path has no message for it now: it may be closed for other paths. */
  offer(link: Link): void;
  /** The same of all that never carried a message. */
  offerUnused(): void;
  /** The one that has been idle longest leaves, if any is idle. */
  leaveOneIdle(): void;
  /** All accept nothing new and close after their current transactions. */
  leaveAll(): void;
  quitAll(): void;
  destroyAll(): void;
}

export function createLinks(deps: {
  clock: Clock;
  total: Pick<ConnectionTotal, 'rests' | 'restsNoMore'>;
  /** A connection has ended. */
  closed(link: Link, close: SessionClose): void;
  /** A connection hangs. */
  hangs(): void;
}): Links {
  const { clock, total } = deps;
  const links = new Set<Link>();
  const leaving = new Set<Link>();

  return {
    size: () => links.size,
    all: () => links.size + leaving.size,
    hanging() {
      let found = 0;
      for (const { hangs } of links) if (hangs) found += 1;
      return found;
    },
    hangingMessages() {
      let messages = 0;
      for (const set of [links, leaving])
        for (const { hangs, inFlight } of set) if (hangs) messages += inFlight;
      return messages;
    },
    busyCount: () => count((link) => link.inFlight > 0 && !link.hangs),
    slots() {
      const busy = { critical: 0, normal: 0, bulk: 0 };
      for (const set of [links, leaving])
        for (const { inFlight, lane, hangs } of set)
          if (inFlight > 0 && lane !== null && !hangs) busy[lane] += 1;
      return { busy, criticalOf };
    },
    busyOf: (senderDomain) => count((link) => link.inFlight > 0 && link.senderDomain === senderDomain),
    leaveThose(which) {
      for (const link of links) if (which(link)) leave(link);
    },
    idle(may) {
      for (const link of links) {
        if (link.inFlight === 0 && link.session.state() === 'idle' && link.session.hasRoom() && may(link))
          return link;
      }
      return null;
    },
    busy(lane, withinMs, may, mail) {
      for (const link of links) {
        if (link.inFlight === 0 || link.lane !== lane || link.latencyMs >= withinMs) continue;
        if (link.hangs || !link.farEnd.takesBehind) continue;
        if (link.session.hasRoom() && link.session.state() === 'busy' && may(link, mail)) return link;
      }
      return null;
    },
    following(lane, may) {
      let found: Link | null = null;
      for (const link of links) {
        if (link.lane !== lane || link.hangs || link.session.inFlight() === 0) continue;
        if ((found === null || link.inFlight < found.inFlight) && may(link)) found = link;
      }
      return found;
    },
    add({ endpoint, session, shared, farEnd }, idleMs) {
      farEnd.answeredWithin(session.roundTripMs);
      const link: Link = {
        session,
        endpoint,
        farEnd,
        shared,
        opening: session.conversation.text(),
        openedAtMs: clock.monotonicMs(),
        taken: 0,
        latencyMs: Number.POSITIVE_INFINITY,
        lane: null,
        senderDomain: '',
        inFlight: 0,
        hangs: false,
        sending: { progress: () => progressText(endpoint, session.progress(), clock.monotonicMs()) },
        behind: null,
        endedAtMs: Number.NEGATIVE_INFINITY,
        idleTimer: null,
      };
      links.add(link);
      rest(link, idleMs);
      session.watch({
        patienceMs: farEnd.patienceMs,
        outOfStep: () => farEnd.outOfStep(),
        discardsRefused: () => farEnd.discardsRefused,
        showedDiscard: () => farEnd.showedDiscard(),
        slow() {
          // Only an envelope of a withdrawn message is left on it.
          if (link.inFlight === 0) return session.destroy();
          link.hangs = true;
          deps.hangs();
        },
      });
      session.onClosed((close) => {
        link.idleTimer?.cancel();
        restsNoMore(link);
        links.delete(link);
        leaving.delete(link);
        deps.closed(link, close);
      });
    },
    behind(item) {
      for (const set of [links, leaving]) for (const link of set) if (link.behind?.item === item) return link;
      return null;
    },
    take(link, { lane, senderDomain }) {
      link.idleTimer?.cancel();
      link.idleTimer = null;
      restsNoMore(link);
      link.taken += 1;
      link.inFlight += 1;
      link.lane = lane;
      link.senderDomain = senderDomain;
      // To the end of the order: the next message uses the one that has been idle longest.
      if (links.delete(link)) links.add(link);
    },
    done(link, idleMs) {
      link.inFlight -= 1;
      if (link.inFlight > 0) return;
      link.hangs = false;
      link.lane = null;
      rest(link, idleMs);
    },
    leave,
    offer,
    offerUnused() {
      for (const link of links) if (link.taken === 0) offer(link);
    },
    leaveOneIdle() {
      for (const link of links) if (link.inFlight === 0) return leave(link);
    },
    leaveAll() {
      for (const link of links) leave(link);
    },
    quitAll() {
      for (const link of links) link.session.quit();
    },
    destroyAll() {
      for (const link of [...links, ...leaving]) link.session.destroy();
    },
  };

  /** Called several times per message, so it builds no lists. */
  function count(fits: (link: Link) => boolean): number {
    let found = 0;
    for (const link of links) if (fits(link)) found += 1;
    for (const link of leaving) if (fits(link)) found += 1;
    return found;
  }

  function criticalOf(senderDomain: string): number {
    const isOne = (link: Link) =>
      link.inFlight > 0 && !link.hangs && link.lane === 'critical' && link.senderDomain === senderDomain;
    return count(isOne);
  }

  /** An idle connection is closed after a while, before the far end does it, or when another path needs one. */
  function rest(link: Link, idleMs: number): void {
    if (!links.has(link) || link.inFlight > 0) return;
    link.idleTimer?.cancel();
    link.idleTimer = clock.setTimer(idleMs, () => leave(link));
  }

  function offer(link: Link): void {
    if (!links.has(link) || link.inFlight > 0) return;
    const leaves = () => leave(link);
    total.rests(link, leaves);
    link.shared?.rests(link, leaves);
  }

  function restsNoMore(link: Link): void {
    total.restsNoMore(link);
    link.shared?.restsNoMore(link);
  }

  function leave(link: Link): void {
    if (!links.delete(link)) return;
    leaving.add(link);
    link.session.quit();
  }
}

const AWAITED = {
  mail: 'no reply to MAIL yet',
  rcpt: 'no reply to RCPT yet',
  data: 'no reply to DATA yet',
  body: 'its content is being sent',
  dot: 'no reply to the whole message yet',
} as const;

function progressText(
  { host, address }: Endpoint,
  progress: ReturnType<Session['progress']>,
  nowMs: number,
): string {
  const to = host === address ? host : `${host} (${address})`;
  if (progress === null) return `on its way to ${to}`;
  const seconds = Math.round((nowMs - progress.sinceMs) / 1000);
  return `on its way to ${to} for ${seconds} s: ${AWAITED[progress.stage]}`;
}
