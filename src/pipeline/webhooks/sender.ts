/**
 * Sends the outbox as signed HTTP calls. Claims due calls under this node's lease, makes those that have a place
 * (call-line.ts), and records the results. Wake-ups only make this faster; a poll finds what they missed. If a process
 * dies, the next start reclaims its leases: calls are made at least once.
 */
import { atMost, type Clock, type Timer } from '../../lib/clock.ts';
import type { Loggers } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import type { Service } from '../../lib/service.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { NodeLease } from '../../model/node.ts';
import type { AllowHttp } from '../../net/checked-url.ts';
import type { GuardedHttp } from '../../net/guarded-http.ts';
import type { Store } from '../../store/store.ts';
import type { ClaimedCall } from '../../store/topics/webhooks.ts';
import { createCallLine } from './call-line.ts';
import type { WebhookMetrics } from './metrics.ts';
import { giveBack } from './outcome.ts';
import { DEFAULT_RETRY_DELAYS_MS } from './retry-schedule.ts';
import { createSettler } from './settler.ts';
import { createTryCall } from './try-call.ts';

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

/** Calls per claim: few, because those that one webhook cannot take are released. */
const CLAIM_SIZE = 8;
/** Recorded calls that one transaction creates. */
const PREPARE_SIZE = 100;
/**
 * After a portion, and after a claim that found fewer calls than it asked for, the store is left to others for this many
 * times as long as it took, waiting included, and at most so long.
 */
const REST = 4;
const MOST_PREPARE_REST_MS = 200;
const MOST_CLAIM_REST_MS = 50;
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
    /** Whether the clock was set forward just now; then no webhook is switched off for how long it has failed. */
    suspectsClock?: () => boolean;
  },
  options: WebhookSenderOptions = {},
): WebhookSender {
  const { store, clock, node, log, metrics } = deps;
  const pollMs = options.pollMs ?? 1_000;
  const line = createCallLine(options.nodes ?? (() => 1));
  const tryCall = createTryCall(
    { ...deps, line },
    {
      delaysMs: options.retryDelaysMs ?? DEFAULT_RETRY_DELAYS_MS,
      allowHttp: options.allowHttp ?? 'listed-networks',
    },
  );

  const flying = new Map<number, { call: ClaimedCall; abort: AbortController }>();
  /** When the running claim began (monotonic). */
  let claimingSinceMs: number | null = null;
  const prepareRest = createRest(clock, MOST_PREPARE_REST_MS);
  const claimRest = createRest(clock, MOST_CLAIM_REST_MS);
  /** Calls whose result the store refused: they stay leased, as they would be made again otherwise. */
  const refused = new Set<number>();
  const settler = createSettler({
    ...{ store, clock, log: log.service },
    refused: (callId) => refused.add(callId),
  });
  let isRunning = false;
  const pumping = createReruns(pump);
  let isStoreAway = false;
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
    if (!node.valid) return pollMs;
    for (const call of line.startable()) start(call, true);
    const limit = Math.min(CLAIM_SIZE, line.room());
    if (limit <= 0) return pollMs;
    // Each end of a call wakes us: those that end meanwhile leave their places to one claim.
    if (claimRest.leftMs() > 0) return claimRest.leftMs();
    const dueAt = await store.nextCallDueAt();
    const inMs = dueAt === null ? pollMs : dueAt - clock.now();
    if (inMs > 0) return Math.min(inMs, pollMs);
    const more = dueAt === 0 && (prepareRest.leftMs() > 0 || (await prepare()));
    const beganMs = clock.monotonicMs();
    claimingSinceMs = beganMs;
    const calls = await store
      .claimCalls({ epoch: node.epoch, now: clock.now(), limit, ...line.full() })
      .finally(() => {
        claimingSinceMs = null;
      });
    for (const call of calls) place(call);
    // Overdue calls that were not claimed belong to webhooks without free places; the end of a call wakes us, so
    // looking again at once would only loop. The same if the line is full.
    if (calls.length === limit && !line.isFull()) return 0;
    claimRest.begin(beganMs);
    return more ? prepareRest.leftMs() : pollMs;
  }

  /** Whether there are more. */
  async function prepare(): Promise<boolean> {
    const beganMs = clock.monotonicMs();
    const more = await store.prepareCalls({ limit: PREPARE_SIZE });
    prepareRest.begin(beganMs);
    return more;
  }

  function place(call: ClaimedCall): void {
    const placed = isRunning && call.epoch === node.epoch ? line.place(call, node.valid) : 0;
    if (placed === 'start') start(call, false);
    else if (placed !== 'wait') release(call, placed);
  }

  function start(call: ClaimedCall, hasWaited: boolean): void {
    const abort = new AbortController();
    const end = line.start(call);
    flying.set(call.id, { call, abort });
    metrics.inFlight(flying.size);
    void carryOut(call, abort.signal, hasWaited).finally(() => {
      flying.delete(call.id);
      end();
      metrics.inFlight(flying.size);
      if (flying.size === 0) onIdle?.();
      wake();
    });
  }

  /** From the body to the committed record. Never rejects. */
  async function carryOut(call: ClaimedCall, signal: AbortSignal, hasWaited: boolean): Promise<void> {
    const current = hasWaited ? await asItIsNow(call) : call;
    if (signal.aborted) return;
    const settlement = current === null ? giveBack(call, clock.now()) : await tryCall(current, signal);
    if (settlement === null) return;
    if (settlement.disable !== undefined) releaseWaiting(call.webhook.id);
    await settler.put(settlement);
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

  function releaseWaiting(webhookId?: number): void {
    for (const call of line.takeWaiting(webhookId)) release(call);
  }

  function release(call: ClaimedCall, delayMs = 0): void {
    void settler.put(giveBack(call, clock.now(), delayMs));
  }

  return {
    wake,
    holding: () => ({ ids: [...flying.keys(), ...line.waiting(), ...refused], sinceMs: claimingSinceMs }),
    async start() {
      isRunning = true;
      wake();
    },
    async stop(deadlineMs) {
      isRunning = false;
      timer?.cancel();
      releaseWaiting();
      await atMost(clock, Math.max(0, deadlineMs - RECORD_MS), Promise.all([pumping.ended(), idle()]));
      for (const { call, abort } of flying.values()) {
        abort.abort();
        release(call);
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

/** The time after some work in which it is not done again. `begin`: it ends now, and began at that time (monotonic). */
function createRest(clock: Clock, mostMs: number) {
  let untilMs = 0;
  return {
    begin(beganMs: number): void {
      const endedMs = clock.monotonicMs();
      untilMs = endedMs + Math.min(mostMs, REST * (endedMs - beganMs));
    },
    leftMs: () => Math.max(0, untilMs - clock.monotonicMs()),
  };
}
