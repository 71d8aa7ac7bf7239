/**
 * The next connection of a path: whether one may be opened now, and the one being opened; one at a time. Adds an open
 * session to the path's connections, or reports why it failed.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { DeliverMetrics } from '../deliver-metrics.ts';
import type { Classifier } from '../outcome/classifier/classify.ts';
import type { Prepared } from '../prepare/prepared.ts';
import type { Connector } from '../routing/connector.ts';
import type { TriedHosts } from '../routing/tried-hosts.ts';
import type { Alarm } from './alarm.ts';
import type { Capacity } from './capacity.ts';
import type { PathDomains } from './domains.ts';
import type { FarEnds } from './far-ends.ts';
import type { Links } from './links.ts';
import type { PathNotes } from './notes.ts';
import { type Opened, openForHead, pathOutcome } from './opening.ts';

/** How an opening ended. `moved`: the domain belongs to another path now. */
export type OpeningEnd = Exclude<Opened, { kind: 'open' }> | { kind: 'open' } | { kind: 'moved' };

export interface Connecting {
  /** Stage of the connection being opened; null = none is. */
  stage(): 'resolving' | 'connecting' | null;
  /** Opens one for this message if allowed; otherwise records what it waits for. */
  openFor(prepared: Prepared): void;
  /** Whether one may be opened now; if not, records what it waits for. */
  mayOpen(): boolean;
  /** A further one was refused while others work: none is requested for this time. */
  pause(ms: number): void;
  /** No connection is left: the next may be opened at once. */
  unpause(): void;
  /** Stops the opening. */
  abort(): void;
}

interface Deps {
  site: string;
  clock: Clock;
  log: Logger;
  metrics: Pick<DeliverMetrics, 'opened'>;
  classifier: Pick<Classifier, 'classify'>;
  capacity: Capacity;
  links: Links;
  notes: PathNotes;
  alarm: Alarm;
  tried: TriedHosts;
  farEnds: FarEnds;
  connector: Connector;
  domains: PathDomains;
}

/** `on.ended`: an opening ended. `on.room`: the provider has a free connection again. */
export function createConnecting(
  deps: Deps,
  on: { ended(end: OpeningEnd, recipientDomain: string): void; room(): void },
): Connecting {
  const { site, clock, log, capacity, links, notes, alarm, domains } = deps;
  const { gates } = capacity;
  let stage: ReturnType<Connecting['stage']> = null;
  /** On the monotonic clock. */
  let notBeforeMs = 0;
  let abort = new AbortController();

  return {
    stage() {
      return stage;
    },
    mayOpen,
    openFor(prepared) {
      // An unused connection that must not carry the waiting mail is closed for one that may.
      if (capacity.counted(links) >= capacity.usable()) links.leaveOneIdle();
      if (!mayOpen()) return;
      open(prepared).catch((cause: unknown) => {
        // A bug: the path waits as after any failed opening, so that it does not repeat in a loop.
        log.error({ err: cause, site }, 'a connection could not be opened for an internal error');
        const outcome = pathOutcome('connect', 'unreachable', 'an internal error ended the opening');
        // One that had already ended is not counted down twice.
        if (stage !== null) gates.connectionEnded();
        stage = null;
        on.ended({ kind: 'failed', outcome, timedOut: false }, prepared.item.delivery.recipientDomain);
      });
    },
    pause(ms) {
      notBeforeMs = clock.monotonicMs() + ms;
    },
    unpause() {
      notBeforeMs = 0;
    },
    abort() {
      abort.abort();
      abort = new AbortController();
    },
  };

  function mayOpen(): boolean {
    if (stage !== null || capacity.counted(links) >= capacity.usable() || links.all() >= capacity.cap()) {
      notes.waits('slots');
      return false;
    }
    const pauseMs = notBeforeMs - clock.monotonicMs();
    const rateMs = Math.max(pauseMs, gates.connectionWaitMs());
    if (rateMs > 0) {
      notes.waits(pauseMs > 0 ? 'slots' : 'connection-rate', rateMs);
      alarm.after(rateMs);
      return false;
    }
    if (gates.providerHasRoom(on.room)) return true;
    notes.waits('provider-connections');
    return false;
  }

  async function open({ item, requireTls }: Prepared): Promise<void> {
    stage = 'resolving';
    gates.connectionOpened();
    const { recipientDomain, lane } = item.delivery;
    const providerRequiresTls = gates.effective().limits.tls === 'required';
    const wish = { recipientDomain, critical: lane === 'critical', requireTls, providerRequiresTls };
    const { signal } = abort;
    await domains.known(recipientDomain);
    // Its domain has moved: a connection to its new host would also carry mail of this site's other domains.
    if (!domains.isHere(item.delivery)) {
      end({ kind: 'moved' }, recipientDomain);
      return;
    }
    let connections = 0;
    const opened = await openForHead(deps, wish, {
      signal,
      connecting() {
        stage = 'connecting';
        if (links.size() === 0) notes.waits('connecting');
        connections += 1;
        if (connections > 1) gates.connectedAgain();
      },
    });
    if (opened.kind !== 'open') {
      end(opened, recipientDomain);
      return;
    }
    stage = null;
    const { endpoint, session } = opened;
    links.add(endpoint, deps.farEnds.of(endpoint), session, gates.effective().limits.idleMs);
    on.ended({ kind: 'open' }, recipientDomain);
  }

  function end(without: Exclude<OpeningEnd, { kind: 'open' }>, recipientDomain: string): void {
    stage = null;
    gates.connectionEnded();
    on.ended(without, recipientDomain);
  }
}
