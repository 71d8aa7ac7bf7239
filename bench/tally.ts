// What the HTTP and the SMTP injector share: their connection, and what they write down: which id comes next, when
// each was accepted and how long that took, refusals and failures. It also holds the latency mode's wait for
// the sink. Ends by itself: when every id has an outcome, or at the plan's timeout.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Door, type InjectPlan, type InjectResult, nowMicros } from './types.ts';

const MAX_FAILURE_TEXTS = 5;
const ARRIVAL_TIMEOUT_MS = 5_000;
/** How long a temporarily refused message waits before it is sent again. */
const REFUSED_WAIT_MS = 50;

/** The running count of one load. */
export type Tally = {
  /** The next id to send, or undefined when there is none (any more). */
  next(): number | undefined;
  /** There is nothing left to begin: `next` answers undefined from now on. */
  exhausted(): boolean;
  /** The server answered for good that it has the message. `then` is called when the next may be sent. */
  accepted(id: number, sentAt: number, then: () => void): void;
  /** The server said "not now": `again` is called after a short wait. */
  refused(again: () => void): void;
  /** The message was refused for good or its answer was lost. */
  failed(text: string): void;
  /** The sink has seen this id (latency mode). */
  arrived(id: number): void;
  /** Resolves when every id has an outcome or the time is up. */
  readonly done: Promise<InjectResult>;
};

/** A connection to the door; `ready` is called when messages can be sent, with TLS after its handshake. */
export function openConnection({ port, secure }: Door, ready: () => void = () => undefined): Socket {
  const target = { port, host: '127.0.0.1' };
  const socket = secure
    ? connectTls({ ...target, rejectUnauthorized: false }, ready)
    : connect(target, ready);
  return socket.setNoDelay(true);
}

/** Starts counting. The clock of the result starts here. */
export function createTally(plan: InjectPlan): Tally {
  const acceptedAt = new Float64Array(plan.count);
  const latency = new Float64Array(plan.count);
  const failures: string[] = [];
  const startedAt = nowMicros();
  let finishedAt = startedAt;
  let given = 0;
  let accepted = 0;
  let refused = 0;
  let failed = 0;
  let over = false;
  let waiting: { id: number; go: () => void; timer: NodeJS.Timeout } | undefined;
  let lastArrived = -1;
  const { promise, resolve } = Promise.withResolvers<InjectResult>();

  const finish = (): void => {
    over = true;
    clearTimeout(limit);
    clearTimeout(waiting?.timer);
    resolve({ startedAt, finishedAt, acceptedAt, latency, accepted, refused, failed, failures });
  };
  const limit = setTimeout(() => {
    failures.push(`gave up after ${plan.timeoutMs} ms with ${plan.count - accepted - failed} messages open`);
    failed = plan.count - accepted;
    finish();
  }, plan.timeoutMs);
  const check = (): void => {
    if (!over && accepted + failed >= plan.count) finish();
  };

  return {
    next: () => (over || given >= plan.count ? undefined : plan.firstId + given++),
    exhausted: () => over || given >= plan.count,
    accepted(id, sentAt, then) {
      if (over) return;
      const at = nowMicros();
      acceptedAt[id - plan.firstId] = at;
      latency[id - plan.firstId] = at - sentAt;
      finishedAt = at;
      accepted += 1;
      check();
      if (!plan.waitForArrival || lastArrived === id) return then();
      const go = (): void => {
        clearTimeout(waiting?.timer);
        waiting = undefined;
        then();
      };
      waiting = { id, go, timer: setTimeout(go, ARRIVAL_TIMEOUT_MS) };
    },
    refused(again) {
      refused += 1;
      if (!over) setTimeout(again, REFUSED_WAIT_MS).unref();
    },
    failed(text) {
      if (over) return;
      failed += 1;
      if (failures.length < MAX_FAILURE_TEXTS) failures.push(text);
      check();
    },
    arrived(id) {
      lastArrived = id;
      if (waiting?.id === id) waiting.go();
    },
    done: promise,
  };
}
