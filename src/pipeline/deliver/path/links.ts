/**
 * The open connections of a path: which are idle, which are busy with what, and when an unused one is closed. A
 * connection that has done its share leaves: it takes nothing new and closes after what is in flight, and counts until
 * it is gone.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { Lane } from '../../../model/message.ts';
import type { Session, SessionClose } from '../../../smtp/client-types.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import type { FarEnd } from './far-ends.ts';
import type { Slots } from './picker.ts';

export interface Link {
  readonly session: Session;
  readonly endpoint: Endpoint;
  readonly farEnd: FarEnd;
  /** What was said while it opened. */
  readonly opening: string;
  readonly openedAtMs: number;
  /** Messages given to it so far. */
  taken: number;
  /** Of its last transaction; Infinity before the first. */
  latencyMs: number;
  /** Of the messages in flight on it; null = none. */
  lane: Lane | null;
  tenant: string;
  inFlight: number;
  /** The message in hand takes longer than this far end usually does. */
  hangs: boolean;
  /** Waits behind the message in hand, and can still be taken back. */
  behind: { item: ReadyItem; sinceMs: number } | null;
  /** When its last transaction came to its end. */
  endedAtMs: number;
  idleTimer: Timer | null;
}

export interface Links {
  /** Connections that take messages. */
  size(): number;
  /** Those that leave included. */
  all(): number;
  /** Those that take messages, and whose far end has not answered for longer than it usually takes. */
  hanging(): number;
  /** Messages on these. */
  hangingMessages(): number;
  busyCount(): number;
  slots(): Pick<Slots, 'busy' | 'criticalOf'>;
  /** Connections in use by one sender domain, those that hang included. */
  busyOf(tenant: string): number;
  /** These take nothing new and close after what is in flight. */
  leaveThose(which: (link: Link) => boolean): void;
  /** Least recently used first, so that no host draws everything. */
  idle(may: (link: Link) => boolean): Link | null;
  /** One that carries this lane, answered its last message within `withinMs`, and may carry this one behind it. */
  busy<Mail>(lane: Lane, withinMs: number, may: (link: Link, mail: Mail) => boolean, mail: Mail): Link | null;
  add(endpoint: Endpoint, farEnd: FarEnd, session: Session, idleMs: number): void;
  /** The one that an item waits on behind another message, or null. */
  behind(item: ReadyItem): Link | null;
  take(link: Link, delivery: ClaimedDelivery): void;
  done(link: Link, delivery: ClaimedDelivery, idleMs: number): void;
  leave(link: Link): void;
  /** The one that rested longest leaves, where one is idle. */
  leaveOneIdle(): void;
  /** All take nothing new and close after what is in flight. */
  leaveAll(): void;
  quitAll(): void;
  destroyAll(): void;
}

export function createLinks(deps: {
  clock: Clock;
  /** One is gone. */
  closed(link: Link, close: SessionClose): void;
  /** One hangs. */
  hangs(): void;
}): Links {
  const { clock } = deps;
  const links = new Set<Link>();
  const leaving = new Set<Link>();

  return {
    size() {
      return links.size;
    },
    all() {
      return links.size + leaving.size;
    },
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
    busyCount() {
      return count((link) => link.inFlight > 0 && !link.hangs);
    },
    slots() {
      const busy = { critical: 0, normal: 0, bulk: 0 };
      for (const set of [links, leaving])
        for (const { inFlight, lane, hangs } of set)
          if (inFlight > 0 && lane !== null && !hangs) busy[lane] += 1;
      return { busy, criticalOf };
    },
    busyOf: (tenant) => count((link) => link.inFlight > 0 && link.tenant === tenant),
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
    add(endpoint, farEnd, session, idleMs) {
      const link: Link = {
        session,
        endpoint,
        farEnd,
        opening: session.conversation.text(),
        openedAtMs: clock.monotonicMs(),
        taken: 0,
        latencyMs: Number.POSITIVE_INFINITY,
        lane: null,
        tenant: '',
        inFlight: 0,
        hangs: false,
        behind: null,
        endedAtMs: Number.NEGATIVE_INFINITY,
        idleTimer: null,
      };
      links.add(link);
      rest(link, idleMs);
      session.watch({
        patienceMs: farEnd.patienceMs,
        slow() {
          // Nothing but an envelope that was taken back is left on it.
          if (link.inFlight === 0) return session.destroy();
          link.hangs = true;
          deps.hangs();
        },
      });
      session.onClosed((close) => {
        link.idleTimer?.cancel();
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
      link.taken += 1;
      link.inFlight += 1;
      link.lane = lane;
      link.tenant = senderDomain;
      // To the end: the next message goes to the one that rested longest.
      if (links.delete(link)) links.add(link);
    },
    done(link, _delivery, idleMs) {
      link.inFlight -= 1;
      if (link.inFlight > 0) return;
      link.hangs = false;
      link.lane = null;
      rest(link, idleMs);
    },
    leave,
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

  /** Asked several times a message: no lists are made. */
  function count(fits: (link: Link) => boolean): number {
    let found = 0;
    for (const link of links) if (fits(link)) found += 1;
    for (const link of leaving) if (fits(link)) found += 1;
    return found;
  }

  function criticalOf(tenant: string): number {
    const isOne = (link: Link) =>
      link.inFlight > 0 && !link.hangs && link.lane === 'critical' && link.tenant === tenant;
    return count(isOne);
  }

  /** An idle connection is closed after a while; the far end's patience is not ours to use up. */
  function rest(link: Link, idleMs: number): void {
    if (!links.has(link) || link.inFlight > 0) return;
    link.idleTimer?.cancel();
    link.idleTimer = clock.setTimer(idleMs, () => leave(link));
  }

  function leave(link: Link): void {
    if (!links.delete(link)) return;
    leaving.add(link);
    link.session.quit();
  }
}
