/**
 * The next message of a path, and the connection for it: behind another message if the far end is near, otherwise an
 * idle connection, otherwise one with unanswered messages if the far end takes several, otherwise a new one is
 * requested. Also records what is waited for.
 */

import type { Prepared } from '../prepare/prepared.ts';
import { mayCarry } from '../tls/plan.ts';
import type { Connecting } from './connecting.ts';
import type { InFlight } from './in-flight.ts';
import type { Link } from './links.ts';
import type { PathParts } from './parts.ts';

export interface Choice {
  /** The next message with its connection; null: nothing can be sent now. */
  next(): { link: Link; prepared: Prepared } | null;
  /** Whether the warm-up of the source allows it. */
  isWarm(prepared: Prepared): boolean;
}

/**
 * For nearer far ends, one write and one reply per message use a fifth less CPU than spreading over idle connections.
 */
const NEAR_MS = 20;
/** With so many unanswered messages on each connection, a further one is opened if it is allowed. */
const WORTH_A_CONNECTION = 2;
/** Slower far ends get one message per connection: nothing should wait behind them. */
const QUICK_MS = 1_000;

/** `warmupFull`: the source has used its budget, and messages waiting for it could use another route. */
export function createChoice(
  parts: PathParts & { connecting: Connecting; inFlight: InFlight },
  on: { warmupFull(): void },
): Choice {
  const { name, queue, ready, links, capacity, senderLimits, warm, connector, domains, notes, alarm } = parts;
  const { connecting, inFlight } = parts;
  return { next, isWarm };

  function next(): { link: Link; prepared: Prepared } | null {
    const rateMs = capacity.gates.messageWaitMs();
    if (rateMs > 0) {
      notes.waits('message-rate', rateMs);
      alarm.after(rateMs);
      return null;
    }
    const heads = ready.heads();
    const near = behindAnother(heads, NEAR_MS);
    if (near !== null) return near;
    const slots = { ...links.slots(), usable: capacity.usable(), othersWait, allows };
    const candidates = ready.candidates(slots).filter(isWarm);
    const fresh = candidates.find(({ item }) => item.fresh);
    if (fresh !== undefined) {
      const link = links.idle((candidate) => carries(candidate, fresh));
      if (link !== null) return { link, prepared: fresh };
      // Before other messages use idle connections: on a fully used path it would never get one.
      connecting.openFor(fresh, 1);
    }
    for (const prepared of candidates) {
      const link = links.idle((candidate) => carries(candidate, prepared));
      if (link !== null) return { link, prepared };
    }
    const follows = behindUnanswered(heads);
    if (follows !== null) return follows;
    const quick = behindAnother(heads, QUICK_MS);
    if (quick !== null) return quick;
    const [first] = candidates;
    if (first !== undefined) {
      const isUrgent = candidates.some(({ item }) => item.delivery.lane === 'critical');
      connecting.openFor(first, ready.size(), isUrgent);
      const stage = connecting.stage();
      // Where others are open, what a further one waits for says more.
      if (stage !== null && (links.size() === 0 || notes.waiting().kind === 'none')) notes.waits(stage);
    } else if (heads.every(isWarm)) notes.waits('slots');
    else waitForWarmup();
    return null;
  }

  function isWarm({ item }: Prepared): boolean {
    return warm.mayGo(item.delivery.lane);
  }

  function waitForWarmup(): void {
    const { forMs = null, reason = '' } = warm.waiting() ?? {};
    notes.waits('warm-up', forMs ?? 0, reason);
    if (forMs === null) return;
    alarm.after(forMs);
    on.warmupFull();
  }

  /**
   * A message that can be sent behind another of its lane, on a connection that answered within `latencyMs`; never
   * before one with an earlier turn, because a connection that always gets more of its own lane would never become
   * free.
   */
  function behindAnother(
    heads: readonly Prepared[],
    latencyMs: number,
  ): { link: Link; prepared: Prepared } | null {
    for (const prepared of heads) {
      if (!isWarm(prepared)) continue;
      const { lane } = prepared.item.delivery;
      // Critical mail does not wait behind another message while it can get its own connection.
      if (lane === 'critical' && connecting.mayOpen()) continue;
      const link = links.busy(lane, latencyMs, carriesBehind, prepared);
      return link === null ? null : { link, prepared };
    }
    return null;
  }

  /** A message that is sent whole, on a connection on which others of its lane are not answered yet. */
  function behindUnanswered(heads: readonly Prepared[]): { link: Link; prepared: Prepared } | null {
    for (const prepared of heads) {
      if (!isWarm(prepared)) continue;
      const { lane, senderDomain } = prepared.item.delivery;
      const link = links.following(
        lane,
        (one) =>
          (one.senderDomain === senderDomain || allows(senderDomain)) &&
          carries(one, prepared) &&
          inFlight.mayFollow(one, prepared),
      );
      if (link === null) {
        // As behind another: a connection that always got more of its own lane would never become free for this one.
        if (lane === 'critical' && connecting.mayOpen()) continue;
        return null;
      }
      if (link.inFlight >= WORTH_A_CONNECTION && links.size() < capacity.usable())
        connecting.openFor(prepared, ready.size());
      return { link, prepared };
    }
    return null;
  }

  /** What can be sent whole does not use a connection for DATA, on which nothing else could follow. */
  function carriesBehind(link: Link, prepared: Prepared): boolean {
    return carries(link, prepared) && inFlight.most(link, prepared) === 0;
  }

  function carries(link: Link, { item, requireTls, asksForTls }: Prepared): boolean {
    const { recipientDomain } = item.delivery;
    if (item.fresh && link.taken > 0) return false;
    if (link.inFlight > 0 && connector.halfOpen(link.endpoint)) return false;
    return mayCarry(link.endpoint, { recipientDomain, requireTls, asksForTls }, domains.takes);
  }

  function allows(senderDomain: string): boolean {
    const most = senderLimits.connections(senderDomain);
    return most === Number.POSITIVE_INFINITY || links.busyOf(senderDomain) < most;
  }

  function othersWait(senderDomain: string): boolean {
    const { normal, bulk } = queue.waiting(name);
    if (normal + bulk + ready.count('normal') + ready.count('bulk') > 0) return true;
    return ready.heads().some(({ item }) => item.delivery.senderDomain !== senderDomain);
  }
}
