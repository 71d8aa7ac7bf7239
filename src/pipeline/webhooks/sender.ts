/**
 * Sends the outbox as signed HTTP calls. Claims due calls under this node's lease, makes them, and records the results.
 * At most 32 calls run at once, at most 4 of one webhook, 1 after five consecutive failures. Webhooks that fail or are
 * slow together use at most half of the places; of all places, and of that half, a domain leaves as many free as it
 * uses, so neither a dead endpoint nor one domain's slow ones block others. Calls claimed beyond a webhook's limit wait
 * here in a short line or are released. Wake-ups only make this faster; a poll finds what they missed. If a process
 * dies, the next start reclaims its leases: calls are made at least once.
 */
import { atMost, type Clock, type Timer } from '../../lib/clock.ts';
import type { Loggers } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import type { Service } from '../../lib/service.ts';
import { createReruns } from '../../lib/shared-work.ts';
import { createTally } from '../../lib/tally.ts';
import type { NodeLease } from '../../model/node.ts';
import type { AllowHttp } from '../../net/checked-url.ts';
import type { GuardedHttp } from '../../net/guarded-http.ts';
import type { Store } from '../../store/store.ts';
import type { CallSettlement, ClaimedCall } from '../../store/topics/webhooks.ts';
import { createMakeCall } from './call.ts';
import type { WebhookMetrics } from './metrics.ts';
import { giveBack, isSuccess, settleTry, type TryResult } from './outcome.ts';
import { callId, webhookBody } from './payload.ts';
import { createPlaces } from './places.ts';
import { DEFAULT_RETRY_DELAYS_MS } from './retry-schedule.ts';
import { createSettler } from './settler.ts';

export interface WebhookSender extends Service {
  /** Calls may be due: look now. */
  wake(): void;
  /** Every call that is leased to this node with its knowing. */
  holding(): { ids: readonly number[]; sinceMs: number | null };
}

export interface WebhookSenderOptions {
  /** Wait after the n-th failed try (`webhook-retry`); after the last the call has failed. */
  retryDelaysMs?: readonly number[];
  /** `always` if `webhook-allow-http` is on. Default `listed-networks`. */
  allowHttp?: AllowHttp;
  /** Nodes that make calls. Default 1. */
  nodes?: () => number;
  /** Longest time between two looks into the store. Default 1,000 ms. */
  pollMs?: number;
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
/** Calls per claim: few, because those that one webhook cannot take are released. */
const CLAIM_SIZE = 8;
/** Recorded calls that one transaction creates. */
const PREPARE_SIZE = 500;
const MAX_WAITING_PER_WEBHOOK = 4;
const MAX_WAITING = 256;
const MAX_WAITING_PER_DOMAIN = 64;
/** When a call that found no place is due again. */
const NO_ROOM_MS = 1_000;
/** A secret that cannot be decrypted needs a person, which takes time. */
const UNSIGNED_MS = 300_000;
/** When a call that this machine could not make is due again, and how often that is logged. */
const LOCAL_MS = 30_000;
/** Time kept at a stop for storing released leases. */
const RECORD_MS = 1_000;

export function createWebhookSender(
  deps: {
    store: Pick<Store, 'prepareCalls' | 'claimCalls' | 'getWebhook' | 'settleCalls' | 'nextCallDueAt'>;
    http: Pick<GuardedHttp, 'post'>;
    clock: Clock;
    random: Random;
    sealer: Sealer;
    node: NodeLease;
    log: Loggers;
    metrics: WebhookMetrics;
  },
  options: WebhookSenderOptions = {},
): WebhookSender {
  const { store, clock, node, log, metrics } = deps;
  const delaysMs = options.retryDelaysMs ?? DEFAULT_RETRY_DELAYS_MS;
  const places = createPlaces(MAX_IN_FLIGHT);
  /** The places for webhooks that fail or are slow. */
  const troubled = createPlaces(MAX_IN_FLIGHT / 2);
  const pollMs = options.pollMs ?? 1_000;
  const makeCall = createMakeCall(deps, options.allowHttp ?? 'listed-networks');

  const endpoints = new Map<number, Endpoint>();
  const flying = new Map<number, { call: ClaimedCall; abort: AbortController }>();
  /** When the running claim began (monotonic). */
  let claimingSinceMs: number | null = null;
  /** Calls whose result the store refused: they stay leased, as they would be made again otherwise. */
  const refused = new Set<number>();
  const settler = createSettler({
    ...{ store, clock, log: log.service },
    refused: (callId) => refused.add(callId),
  });
  let waitingTotal = 0;
  const waitingOf = createTally();
  let isRunning = false;
  const pumping = createReruns(pump);
  let isStoreAway = false;
  /** Until when it is not logged again that this machine cannot call (monotonic). */
  let silentUntilMs = 0;
  let timer: Timer | null = null;
  let onIdle: (() => void) | null = null;

  function wake(): void {
    if (isRunning) pumping.ask();
  }

  /** Starts calls; ends when no more can start, and sets the timer for the next look. */
  async function pump(): Promise<void> {
    if (!isRunning) return;
    timer?.cancel();
    let waitMs = pollMs;
    try {
      do waitMs = await fillSlots();
      while (waitMs === 0 && isRunning);
      isStoreAway = false;
    } catch (error) {
      if (!isStoreAway) log.service.error({ err: error }, 'cannot claim webhook calls');
      isStoreAway = true;
    }
    if (isRunning) timer = clock.setTimer(waitMs, wake);
  }

  /** One claim, if calls are due and places free. Returns milliseconds until the next look; 0 = there may be more. */
  async function fillSlots(): Promise<number> {
    startWaiting();
    const limit = Math.min(CLAIM_SIZE, places.free());
    if (limit <= 0 || !node.valid) return pollMs;
    const dueAt = await store.nextCallDueAt();
    const inMs = dueAt === null ? pollMs : dueAt - clock.now();
    if (inMs > 0) return Math.min(inMs, pollMs);
    const more = dueAt === 0 && (await store.prepareCalls({ limit: PREPARE_SIZE }));
    const excludeWebhooks = [...endpoints.values()].filter(isFull).map((endpoint) => endpoint.id);
    claimingSinceMs = clock.monotonicMs();
    const calls = await store
      .claimCalls({
        epoch: node.epoch,
        now: clock.now(),
        limit,
        excludeWebhooks,
        excludeDomains: domainsWithoutRoom(),
      })
      .finally(() => {
        claimingSinceMs = null;
      });
    for (const call of calls) place(call);
    // Overdue calls that were not claimed belong to webhooks without free places; the end of a call wakes us, so
    // looking again at once would only loop. The same if the line is full.
    return more || (calls.length === limit && waitingTotal < MAX_WAITING) ? 0 : pollMs;
  }

  function place(call: ClaimedCall): void {
    const endpoint = endpoints.get(call.webhook.id) ?? {
      id: call.webhook.id,
      domain: call.webhook.domain,
      inFlight: 0,
      latencyMs: call.webhook.lastLatencyMs ?? 0,
      straightFailures: call.webhook.failedTries,
      isDisabled: false,
      waiting: [],
    };
    endpoints.set(endpoint.id, endpoint);
    if (!isRunning || endpoint.isDisabled || call.epoch !== node.epoch) {
      returnCall(call, endpoint, 0);
    } else if (endpoint.waiting.length === 0 && mayStart(endpoint)) {
      start(call, endpoint);
    } else if (endpoint.waiting.length >= MAX_WAITING_PER_WEBHOOK) {
      returnCall(call, endpoint, 0);
    } else if (waitingTotal >= MAX_WAITING || isLineFull(endpoint.domain)) {
      returnCall(call, endpoint, NO_ROOM_MS);
    } else {
      endpoint.waiting.push(call);
      countWaiting(endpoint, 1);
    }
  }

  function startWaiting(): void {
    for (const endpoint of [...endpoints.values()]) {
      while (mayStart(endpoint)) {
        const call = endpoint.waiting.shift();
        if (call === undefined) break;
        countWaiting(endpoint, -1);
        start(call, endpoint, true);
      }
    }
  }

  function countWaiting({ domain }: Endpoint, more: number): void {
    waitingTotal += more;
    waitingOf.add(domain, more);
  }

  function isLineFull(domain: string): boolean {
    return waitingOf.of(domain) >= MAX_WAITING_PER_DOMAIN;
  }

  /** Domains with calls here that have no free place. */
  function domainsWithoutRoom(): string[] {
    const here = new Set([...endpoints.values()].map(({ domain }) => domain));
    return [...here].filter((domain) => !places.mayTake(domain) || isLineFull(domain));
  }

  function isFailing(endpoint: Endpoint): boolean {
    return endpoint.straightFailures >= STRAIGHT_FAILURES;
  }

  function isTroubled(endpoint: Endpoint): boolean {
    return isFailing(endpoint) || endpoint.latencyMs > SLOW_MS;
  }

  function isFull(endpoint: Endpoint): boolean {
    return endpoint.isDisabled || endpoint.waiting.length > 0 || endpoint.inFlight >= slotsOf(endpoint);
  }

  function slotsOf(endpoint: Endpoint): number {
    return isFailing(endpoint) ? 1 : Math.max(1, Math.floor(MAX_PER_WEBHOOK / (options.nodes?.() ?? 1)));
  }

  function mayStart(endpoint: Endpoint): boolean {
    if (!isRunning || !node.valid || endpoint.isDisabled || !places.mayTake(endpoint.domain)) return false;
    if (isTroubled(endpoint) && !troubled.mayTake(endpoint.domain)) return false;
    return endpoint.inFlight < slotsOf(endpoint);
  }

  function start(call: ClaimedCall, endpoint: Endpoint, hasWaited = false): void {
    const abort = new AbortController();
    const countsAsTroubled = isTroubled(endpoint);
    flying.set(call.id, { call, abort });
    endpoint.inFlight += 1;
    places.take(endpoint.domain);
    if (countsAsTroubled) troubled.take(endpoint.domain);
    // To the end of the order, so that others get their turn first.
    endpoints.delete(endpoint.id);
    endpoints.set(endpoint.id, endpoint);
    metrics.inFlight(flying.size);
    void carryOut(call, endpoint, abort.signal, hasWaited).finally(() => {
      flying.delete(call.id);
      endpoint.inFlight -= 1;
      places.giveBack(endpoint.domain);
      if (countsAsTroubled) troubled.giveBack(endpoint.domain);
      forgetIfIdle(endpoint);
      metrics.inFlight(flying.size);
      if (flying.size === 0) onIdle?.();
      wake();
    });
  }

  /** From the body to the committed record. Never rejects. */
  async function carryOut(
    call: ClaimedCall,
    endpoint: Endpoint,
    signal: AbortSignal,
    hasWaited: boolean,
  ): Promise<void> {
    const current = hasWaited ? await asItIsNow(call) : call;
    if (signal.aborted) return;
    const settlement =
      current === null ? giveBack(call, clock.now(), clock.now()) : await tryCall(current, endpoint, signal);
    if (settlement !== null) await settler.put(settlement);
  }

  /**
   * While it waited here, its webhook may have been changed, and others may have taken it over; null: they may, or the
   * webhook is off, deleted, or cannot be read.
   */
  async function asItIsNow(call: ClaimedCall): Promise<ClaimedCall | null> {
    const webhook = await store.getWebhook({ id: call.webhook.id }).catch(() => null);
    // Asked last: the node may have stood still, or the store may have been slow, while it was read.
    if (call.epoch !== node.epoch || !node.valid) return null;
    return webhook?.status === 'Enabled' ? { ...call, webhook } : null;
  }

  /** null if the lease was released meanwhile, because the process stops. */
  async function tryCall(
    call: ClaimedCall,
    endpoint: Endpoint,
    signal: AbortSignal,
  ): Promise<CallSettlement | null> {
    let result: TryResult;
    try {
      const body = webhookBody(call.event, call.webhook.id);
      const made = await makeCall(call.webhook, callId(call.event.id), body, signal);
      if (signal.aborted) return null;
      if (made.kind === 'unsigned') {
        log.service.error(
          { webhookId: call.webhook.id, callId: call.id, err: made.cause },
          'cannot open the secret of a webhook: its calls wait',
        );
        return giveBack(call, clock.now(), clock.now() + UNSIGNED_MS);
      }
      if (made.kind === 'local') {
        if (clock.monotonicMs() >= silentUntilMs) {
          silentUntilMs = clock.monotonicMs() + LOCAL_MS;
          log.service.warn({ reason: made.detail }, 'this machine cannot make webhook calls: they wait');
        }
        return giveBack(call, clock.now(), clock.now() + LOCAL_MS);
      }
      result = made.result;
    } catch (cause) {
      if (signal.aborted) return null;
      log.service.error({ webhookId: call.webhook.id, callId: call.id, err: cause }, 'a webhook call broke');
      const error = 'The call could not be made';
      const endedAt = clock.now();
      result = { kind: 'failed', status: 0, body: '', error, endedAt, latencyMs: 0, retryAfterMs: null };
    }
    const settlement = settleTry(deps, { call, result, delaysMs, mayDisable: !endpoint.isDisabled });
    note(call, endpoint, result, settlement);
    return settlement;
  }

  function note(call: ClaimedCall, endpoint: Endpoint, result: TryResult, settlement: CallSettlement): void {
    const succeeded = isSuccess(result);
    endpoint.straightFailures = succeeded ? 0 : endpoint.straightFailures + 1;
    endpoint.latencyMs = result.latencyMs;
    metrics.tried(
      succeeded ? 'success' : result.kind === 'blocked' ? 'blocked' : 'failure',
      result.latencyMs,
    );
    if (settlement.state === 'failed') metrics.gaveUp();
    log.mail.info(
      {
        webhookId: call.webhook.id,
        callId: call.id,
        eventId: call.event.id,
        messageId: call.event.message?.id,
        domain: call.event.domain,
        try: settlement.tryNumber,
        state: settlement.state,
        code: result.status,
        latencyMs: result.latencyMs,
        ...(result.error === '' ? {} : { error: result.error }),
        ...(result.cause === undefined ? {} : { cause: result.cause }),
      },
      'called',
    );
    if (settlement.disable === undefined) return;
    endpoint.isDisabled = true;
    metrics.disabled(settlement.disable.reason);
    log.service.warn(
      { webhookId: call.webhook.id, domain: call.webhook.domain, reason: settlement.disable.reason },
      'webhook switched off',
    );
    returnWaiting(endpoint);
  }

  function returnWaiting(endpoint: Endpoint): void {
    const calls = endpoint.waiting.splice(0);
    countWaiting(endpoint, -calls.length);
    for (const call of calls) returnCall(call, endpoint, 0);
  }

  function returnCall(call: ClaimedCall, endpoint: Endpoint, delayMs: number): void {
    void settler.put(giveBack(call, clock.now(), clock.now() + delayMs));
    forgetIfIdle(endpoint);
  }

  function forgetIfIdle(endpoint: Endpoint): void {
    const isIdle = endpoint.inFlight === 0 && endpoint.waiting.length === 0;
    if (isIdle && endpoints.get(endpoint.id) === endpoint) endpoints.delete(endpoint.id);
  }

  return {
    wake,
    holding() {
      const waiting = [...endpoints.values()].flatMap((endpoint) => endpoint.waiting.map(({ id }) => id));
      return { ids: [...flying.keys(), ...waiting, ...refused], sinceMs: claimingSinceMs };
    },
    async start() {
      isRunning = true;
      wake();
    },
    async stop(deadlineMs) {
      isRunning = false;
      timer?.cancel();
      for (const endpoint of [...endpoints.values()]) returnWaiting(endpoint);
      await atMost(clock, Math.max(0, deadlineMs - RECORD_MS), Promise.all([pumping.ended(), idle()]));
      for (const { call, abort } of flying.values()) {
        abort.abort();
        void settler.put(giveBack(call, clock.now(), clock.now()));
      }
      await atMost(clock, RECORD_MS, settler.drained());
      settler.stop();
    },
  };

  function idle(): Promise<void> {
    if (flying.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      onIdle = resolve;
    });
  }
}
