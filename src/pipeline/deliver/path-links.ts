/**
 * The open connections of a path: which are idle, which are busy with what, and when an unused one is closed. A
 * connection that has done its share leaves: it takes nothing new and closes after what is in flight, and counts until
 * it is gone.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { Session } from '../../smtp/client-types.ts';
import type { Endpoint } from './endpoints.ts';
import type { Slots } from './path-pick.ts';

export interface Link {
  readonly session: Session;
  readonly endpoint: Endpoint;
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
  idleTimer: Timer | null;
}

export interface Links {
  /** Connections that take messages. */
  readonly size: number;
  /** Those that leave included. */
  readonly all: number;
  readonly busyCount: number;
  slots(): Pick<Slots, 'busy' | 'criticalOf'>;
  /** Connections in use by one sender domain. */
  busyOf(tenant: string): number;
  /** These take nothing new and close after what is in flight. */
  leaveThose(which: (link: Link) => boolean): void;
  /** Least recently used first, so that no host draws everything (delivery.md §4.2). */
  idle(may: (link: Link) => boolean): Link | null;
  /** One that carries this lane, answered its last message within `withinMs`, and may carry this one behind it. */
  busy<Mail>(lane: Lane, withinMs: number, may: (link: Link, mail: Mail) => boolean, mail: Mail): Link | null;
  add(endpoint: Endpoint, session: Session, idleMs: number): void;
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

export function createLinks({ clock, closed }: { clock: Clock; closed(): void }): Links {
  const links = new Set<Link>();
  const leaving = new Set<Link>();

  return {
    get size() {
      return links.size;
    },
    get all() {
      return links.size + leaving.size;
    },
    get busyCount() {
      return countInUse(() => true);
    },
    slots() {
      const busy = { critical: 0, normal: 0, bulk: 0 };
      for (const set of [links, leaving])
        for (const { inFlight, lane } of set) if (inFlight > 0 && lane !== null) busy[lane] += 1;
      return { busy, criticalOf };
    },
    busyOf: (tenant) => countInUse((link) => link.tenant === tenant),
    leaveThose(which) {
      for (const link of links) if (which(link)) leave(link);
    },
    idle(may) {
      for (const link of links) {
        if (link.inFlight === 0 && link.session.state === 'idle' && link.session.hasRoom && may(link))
          return link;
      }
      return null;
    },
    busy(lane, withinMs, may, mail) {
      for (const link of links) {
        if (link.inFlight === 0 || link.lane !== lane || link.latencyMs >= withinMs) continue;
        if (link.session.hasRoom && link.session.state === 'busy' && may(link, mail)) return link;
      }
      return null;
    },
    add(endpoint, session, idleMs) {
      const link: Link = {
        session,
        endpoint,
        opening: session.conversation.text(),
        openedAtMs: clock.monotonicMs(),
        taken: 0,
        latencyMs: Number.POSITIVE_INFINITY,
        lane: null,
        tenant: '',
        inFlight: 0,
        idleTimer: null,
      };
      links.add(link);
      rest(link, idleMs);
      session.onClosed(() => {
        link.idleTimer?.cancel();
        links.delete(link);
        leaving.delete(link);
        closed();
      });
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
  function countInUse(fits: (link: Link) => boolean): number {
    let count = 0;
    for (const link of links) if (link.inFlight > 0 && fits(link)) count += 1;
    for (const link of leaving) if (link.inFlight > 0 && fits(link)) count += 1;
    return count;
  }

  function criticalOf(tenant: string): number {
    return countInUse((link) => link.lane === 'critical' && link.tenant === tenant);
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
