/**
 * The next connections of a path: whether one may be opened now, and those being opened. The first is opened alone, which shows
 * whether the far end works; then as many at once as are open, so that their number doubles with every opening. Adds an
 * open session to the path's connections, or reports why it failed.
 */

import type { Prepared } from '../prepare/prepared.ts';
import type { PathAddresses } from './address-connections.ts';
import type { ConnectionTotal } from './limits.ts';
import { type Opened, openForHead, pathOutcome } from './opening.ts';
import type { PathParts } from './parts.ts';
import type { WaitKind } from './state.ts';

/** How an opening ended. `moved`: the domain belongs to another path now. */
export type OpeningEnd = Opened | { kind: 'moved' };

export interface Connecting {
  /** Stage of the connection that is nearest to being open; null = none is being opened. */
  stage(): 'resolving' | 'connecting' | null;
  /** Connections being opened. */
  count(): number;
  /**
   * Opens connections for this message and those like it until `wanted` are being opened, as far as allowed; if none is allowed,
   * records what it waits for. `isUrgent`: critical mail waits for one; absent = this message is critical.
   */
  openFor(prepared: Prepared, wanted: number, isUrgent?: boolean): void;
  /** Whether one may be opened now; if not, records what it waits for. */
  mayOpen(): boolean;
  /** A further one was refused while others work: none is requested for this time. */
  pause(ms: number): void;
  /** No connection is left: the next may be opened at once. */
  unpause(): void;
  /** If it waits because this machine could not open the last one, the next may be opened at once; false if it does not. */
  tryNow(): boolean;
  /** Stops what is being opened. */
  abort(): void;
}

/** A connection that this machine could not open is tried again after this time. */
const LOCAL_WAIT_MS = 10_000;

/** `on.ended`: an opening ended. `on.room`: the provider, an address or the process has a free connection again. */
export function createConnecting(
  parts: PathParts,
  on: { ended(end: OpeningEnd, recipientDomain: string): void; room(): void },
): Connecting {
  const { clock, log, capacity, links, notes, alarm, domains, addresses } = parts;
  const { site } = parts.sitePath;
  const { gates } = capacity;
  let resolving = 0;
  let connecting = 0;
  /** On the monotonic clock. */
  let notBeforeMs = 0;
  /** Why this machine could not open the last one; '' = it could, or was not asked. */
  let localFault = '';
  /** Addresses that had no connection left for the last opening. */
  let fullAddresses: readonly string[] = [];
  let abort = new AbortController();

  return {
    stage() {
      if (connecting > 0) return 'connecting';
      return resolving > 0 ? 'resolving' : null;
    },
    count,
    mayOpen: () => room() === 'free',
    openFor(prepared, wanted, isUrgent = prepared.item.delivery.lane === 'critical') {
      // An unused connection that must not carry the waiting mail is closed for one that may.
      if (count() === 0 && capacity.counted(links) >= capacity.usable()) links.leaveOneIdle();
      while (count() < wanted) {
        const found = room();
        if (found === 'all-connections') gates.waitForRoom(isUrgent, on.room);
        if (found === 'address-connections')
          for (const address of fullAddresses) addresses.wait(address, isUrgent, on.room);
        if (found !== 'free') return;
        open(prepared);
      }
    },
    pause(ms) {
      notBeforeMs = clock.monotonicMs() + ms;
    },
    unpause() {
      notBeforeMs = 0;
    },
    tryNow() {
      if (localFault === '' || notBeforeMs <= clock.monotonicMs()) return false;
      notBeforeMs = 0;
      return true;
    },
    abort() {
      abort.abort();
      abort = new AbortController();
    },
  };

  function count(): number {
    return resolving + connecting;
  }

  /** What a further one waits for is recorded. */
  function room(): 'free' | WaitKind {
    const opening = count();
    const full =
      opening >= Math.max(1, links.size()) ||
      capacity.counted(links) + opening >= capacity.usable() ||
      links.all() + opening >= capacity.cap();
    if (full) {
      notes.waits('slots');
      return 'slots';
    }
    const pauseMs = notBeforeMs - clock.monotonicMs();
    const rateMs = Math.max(pauseMs, gates.connectionWaitMs());
    if (rateMs > 0) {
      const paused = localFault === '' ? 'slots' : 'local';
      const kind = pauseMs > 0 ? paused : 'connection-rate';
      notes.waits(kind, rateMs, localFault);
      alarm.after(rateMs);
      return kind;
    }
    let found: 'free' | WaitKind = gates.room(on.room);
    if (found === 'free' && fullAddresses.length > 0 && fullAddresses.every(addresses.isFull))
      found = 'address-connections';
    if (found !== 'free') notes.waits(found);
    return found;
  }

  /** Takes the connection that an address has again, for the opening that begins: the next path is not woken for it. */
  function promised(): { address: string; shared: ConnectionTotal } | null {
    for (const address of fullAddresses) {
      const shared = addresses.take(address);
      if (shared !== null) return { address, shared };
    }
    return null;
  }

  function open(prepared: Prepared): void {
    const { recipientDomain } = prepared.item.delivery;
    let stage: ReturnType<Connecting['stage']> = 'resolving';
    resolving += 1;
    gates.connectionOpened();
    let kept = promised();
    const take = (address: string) => {
      if (kept?.address !== address) return addresses.take(address);
      const { shared } = kept;
      kept = null;
      return shared;
    };
    opened(prepared, take, {
      signal: abort.signal,
      connecting() {
        if (stage === 'connecting') gates.connectedAgain();
        else {
          stage = 'connecting';
          resolving -= 1;
          connecting += 1;
        }
        if (links.size() === 0 || notes.waiting().kind === 'resolving') notes.waits('connecting');
      },
    })
      .catch((cause: unknown): OpeningEnd => {
        // A bug: the path waits as after any failed opening, so that it does not repeat in a loop.
        log.error({ err: cause, site }, 'a connection could not be opened for an internal error');
        const outcome = pathOutcome('connect', 'unreachable', 'an internal error ended the opening');
        return { kind: 'failed', outcome, timedOut: false };
      })
      .then((end) => {
        if (stage === 'connecting') connecting -= 1;
        else resolving -= 1;
        kept?.shared.ended();
        fullAddresses = end.kind === 'full' ? end.addresses : [];
        if (end.kind === 'open') {
          const farEnd = parts.farEnds.of(end.endpoint);
          links.add({ ...end, farEnd }, gates.effective().limits.idleMs);
          capacity.connected(farEnd, end.session.capabilities);
        } else gates.connectionEnded();
        if (end.kind === 'local') failedHere(end.detail);
        else if (end.kind !== 'stopped') localFault = '';
        on.ended(end, recipientDomain);
      });
  }

  /** Nothing is recorded against the far end; it is tried again soon, for no message and no path is the worse for it. */
  function failedHere(detail: string): void {
    parts.tellFault(site, detail);
    localFault = detail;
    notBeforeMs = clock.monotonicMs() + LOCAL_WAIT_MS;
    notes.failed(detail);
  }

  async function opened(
    { item, requireTls }: Prepared,
    take: PathAddresses['take'],
    opening: Parameters<typeof openForHead>[2],
  ): Promise<OpeningEnd> {
    const { recipientDomain, senderDomain, lane } = item.delivery;
    const providerRequiresTls = gates.effective().limits.tls === 'required';
    await domains.known(item.delivery);
    // Its domain has moved: a connection to its new host would also carry mail of this site's other domains.
    if (!domains.isHere(item.delivery)) return { kind: 'moved' };
    const critical = lane === 'critical';
    const wish = { recipientDomain, senderDomain, critical, requireTls, providerRequiresTls };
    return openForHead({ ...parts, addresses: { take } }, wish, opening);
  }
}
