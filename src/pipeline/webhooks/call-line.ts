/**
 * The claimed calls of this node by webhook: which may start, which wait here in a short line, and which go back to the
 * store. At most 32 calls run at once, at most 4 of one webhook, 1 after five consecutive failures. Webhooks that fail or
 * are slow together use at most half of the places; of all places, and of that half, a domain leaves as many free as it
 * uses, so neither a dead endpoint nor one domain's slow ones block others.
 */
import { createTally } from '../../lib/tally.ts';
import type { Webhook } from '../../model/webhook.ts';
import type { ClaimedCall } from '../../store/topics/webhooks.ts';
import { createPlaces } from './places.ts';

export interface CallLine {
  /**
   * Where a claimed call goes: it starts now, waits here from now on, or goes back, due again after so many milliseconds.
   * `mayStart`: false while no call may.
   */
  place(call: ClaimedCall, mayStart: boolean): 'start' | 'wait' | number;
  /** Calls that waited here and may start. The caller starts each before it asks for the next. */
  startable(): Iterable<ClaimedCall>;
  /** The call takes its places until the returned function is called. */
  start(call: ClaimedCall): () => void;
  /** Whether this process has not switched off the webhook of a running call. */
  isOn(call: ClaimedCall): boolean;
  /** How a running call ended; it decides what its webhook may use. */
  ended(call: ClaimedCall, how: { succeeded: boolean; latencyMs: number; switchedOff: boolean }): void;
  /** Takes out the calls that wait here, all or those of one webhook. */
  takeWaiting(webhookId?: number): ClaimedCall[];
  /** Ids of the calls that wait here. */
  waiting(): number[];
  /** Calls that may be claimed now. */
  room(): number;
  /** Of these, no calls should be claimed now. */
  full(): { excludeWebhooks: number[]; excludeDomains: string[] };
  /** No more calls may wait here. */
  isFull(): boolean;
}

/** One webhook that has calls here. Removed from memory when it has none. */
interface Endpoint {
  id: number;
  /** The domain whose places its calls use. */
  domain: string;
  inFlight: number;
  /** Of the last answer, or of the time-out. */
  latencyMs: number;
  straightFailures: number;
  /** This process switched it off. */
  isDisabled: boolean;
  waiting: ClaimedCall[];
}

/** Running calls. */
const MAX_IN_FLIGHT = 32;
/** Running calls of one webhook, together with those of the other nodes. */
const MAX_PER_WEBHOOK = 4;
const STRAIGHT_FAILURES = 5;
/** A receiver that took longer counts as slow until it answers faster. */
const SLOW_MS = 2_000;
const MAX_WAITING_PER_WEBHOOK = 4;
const MAX_WAITING = 256;
const MAX_WAITING_PER_DOMAIN = 64;
/** When a call that found no place is due again. */
const NO_ROOM_MS = 1_000;

/** `nodes`: how many make calls. */
export function createCallLine(nodes: () => number): CallLine {
  const places = createPlaces(MAX_IN_FLIGHT);
  /** The places for webhooks that fail or are slow. */
  const troubled = createPlaces(MAX_IN_FLIGHT / 2);
  const endpoints = new Map<number, Endpoint>();
  let waitingTotal = 0;
  const waitingOf = createTally();

  return {
    place(call, mayStart) {
      const endpoint = endpointOf(call.webhook);
      const { waiting } = endpoint;
      if (endpoint.isDisabled) return 0;
      if (waiting.length === 0 && mayStart && hasPlace(endpoint)) return 'start';
      if (waiting.length >= MAX_WAITING_PER_WEBHOOK) return 0;
      if (waitingTotal >= MAX_WAITING || isLineFull(endpoint.domain)) return NO_ROOM_MS;
      endpoints.set(endpoint.id, endpoint);
      waiting.push(call);
      countWaiting(endpoint, 1);
      return 'wait';
    },

    *startable() {
      for (const endpoint of [...endpoints.values()]) {
        while (hasPlace(endpoint)) {
          const call = endpoint.waiting.shift();
          if (call === undefined) break;
          countWaiting(endpoint, -1);
          yield call;
        }
      }
    },

    start(call) {
      const endpoint = endpointOf(call.webhook);
      const { domain } = endpoint;
      const countsAsTroubled = isTroubled(endpoint);
      endpoint.inFlight += 1;
      places.take(domain);
      if (countsAsTroubled) troubled.take(domain);
      // To the end of the order, so that others get their turn first.
      endpoints.delete(endpoint.id);
      endpoints.set(endpoint.id, endpoint);
      return () => {
        endpoint.inFlight -= 1;
        places.giveBack(domain);
        if (countsAsTroubled) troubled.giveBack(domain);
        forgetIfIdle(endpoint);
      };
    },

    isOn: (call) => !endpointOf(call.webhook).isDisabled,

    ended({ webhook }, { succeeded, latencyMs, switchedOff }) {
      const endpoint = endpointOf(webhook);
      endpoint.straightFailures = succeeded ? 0 : endpoint.straightFailures + 1;
      endpoint.latencyMs = latencyMs;
      if (switchedOff) endpoint.isDisabled = true;
    },

    takeWaiting(webhookId) {
      const taken: ClaimedCall[] = [];
      for (const endpoint of [...endpoints.values()]) {
        if (webhookId !== undefined && endpoint.id !== webhookId) continue;
        const calls = endpoint.waiting.splice(0);
        countWaiting(endpoint, -calls.length);
        taken.push(...calls);
        forgetIfIdle(endpoint);
      }
      return taken;
    },

    waiting: () => [...endpoints.values()].flatMap(({ waiting }) => waiting.map(({ id }) => id)),

    room: places.free,

    full() {
      const here = [...endpoints.values()];
      const domains = new Set(here.map(({ domain }) => domain));
      return {
        excludeWebhooks: here.filter(takesNone).map(({ id }) => id),
        excludeDomains: [...domains].filter((domain) => !places.mayTake(domain) || isLineFull(domain)),
      };
    },

    isFull: () => waitingTotal >= MAX_WAITING,
  };

  function endpointOf({ id, domain, lastLatencyMs, failedTries }: Webhook): Endpoint {
    return (
      endpoints.get(id) ?? {
        ...{ id, domain, inFlight: 0, isDisabled: false, waiting: [] },
        latencyMs: lastLatencyMs ?? 0,
        straightFailures: failedTries,
      }
    );
  }

  function forgetIfIdle(endpoint: Endpoint): void {
    if (endpoint.inFlight === 0 && endpoint.waiting.length === 0) endpoints.delete(endpoint.id);
  }

  function countWaiting({ domain }: Endpoint, more: number): void {
    waitingTotal += more;
    waitingOf.add(domain, more);
  }

  function isLineFull(domain: string): boolean {
    return waitingOf.of(domain) >= MAX_WAITING_PER_DOMAIN;
  }

  function isFailing(endpoint: Endpoint): boolean {
    return endpoint.straightFailures >= STRAIGHT_FAILURES;
  }

  function isTroubled(endpoint: Endpoint): boolean {
    return isFailing(endpoint) || endpoint.latencyMs > SLOW_MS;
  }

  function takesNone(endpoint: Endpoint): boolean {
    return endpoint.isDisabled || endpoint.waiting.length > 0 || endpoint.inFlight >= slotsOf(endpoint);
  }

  function slotsOf(endpoint: Endpoint): number {
    return isFailing(endpoint) ? 1 : Math.max(1, Math.floor(MAX_PER_WEBHOOK / nodes()));
  }

  function hasPlace(endpoint: Endpoint): boolean {
    if (endpoint.isDisabled || !places.mayTake(endpoint.domain)) return false;
    if (isTroubled(endpoint) && !troubled.mayTake(endpoint.domain)) return false;
    return endpoint.inFlight < slotsOf(endpoint);
  }
}
