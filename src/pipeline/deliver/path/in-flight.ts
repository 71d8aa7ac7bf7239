/**
 * How many messages may be unanswered on a connection at once. A connection carries one message per round trip, so to a far end
 * that is not near several are sent without waiting, each whole and in one write (docs/decisions/0076-transactions-in-flight.md).
 * What is unanswered when a connection is lost may have been delivered, so there are no more than the rate of the path needs, and
 * none of what must not be doubled or must not wait. Keeps no state: what is learned is of the far end (far-ends.ts).
 */
import type { Prepared } from '../prepare/prepared.ts';
import type { Capacity } from './capacity.ts';
import type { Life } from './life.ts';
import type { Link } from './links.ts';

export interface InFlight {
  /** Messages that may be unanswered on the connection if this one is sent whole; 0: it is sent with DATA, as to any server. */
  most(link: Link, prepared: Prepared): number;
  /** Whether this message may be sent now on a connection on which others are unanswered. */
  mayFollow(link: Link, prepared: Prepared): boolean;
}

/** In a shorter round trip, one message after the other is as fast. */
const NEAR_MS = 5;
/** Larger messages fill the way by themselves, and their octets should not be sent for a recipient that is refused. */
const MOST_OCTETS = 64 * 1024;
/** Of one path, over all connections: the most that a failure of the far end leaves unknown. */
const MOST_OF_PATH = 1_000;

export function createInFlight(deps: {
  capacity: Pick<Capacity, 'gates' | 'cap'>;
  life: Pick<Life, 'inFlight'>;
}): InFlight {
  const { capacity, life } = deps;
  return {
    most,
    mayFollow: (link, prepared) =>
      life.inFlight < MOST_OF_PATH && link.session.maySendWhole(most(link, prepared)),
  };

  function most({ session, farEnd }: Link, { item, prefix, content, atMostOnce }: Prepared): number {
    const { chunking, pipelining } = session.capabilities;
    // Called for every message and connection, so what is true for most comes first.
    if (!chunking || !pipelining || farEnd.roundTripMs() < NEAR_MS || !farEnd.takesWhole) return 0;
    // Critical mail would wait for all that is in flight to a slow one.
    if (!farEnd.isQuick()) return 0;
    // Whether a connection works at all is seen by its first message, of which nothing is sent before it is asked for.
    if (session.transactions() === 0 || item.delivery.lane === 'critical' || atMostOnce) return 0;
    if (prefix.length + content.length > MOST_OCTETS) return 0;
    const { transactionsInFlight } = capacity.gates.effective().limits;
    const useful = Math.ceil((capacity.gates.perSecond() * farEnd.roundTripMs()) / 1000 / capacity.cap());
    const allowed = Math.min(transactionsInFlight, useful);
    return allowed <= 1 ? 0 : Math.min(allowed, farEnd.trusted());
  }
}
