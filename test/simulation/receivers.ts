/**
 * The receivers of webhooks in a simulated run: they answer, are slow, fail or say nothing, each at its times. Keeps book of
 * every call, and says where one should not have been made: to a webhook that is off, to a URL or with a secret that it no
 * longer has, for an event that it did not ask for, beside too many others, or again although its answer was read and could
 * be stored.
 */
import { createHmac } from 'node:crypto';
import type { VirtualClock } from '../../src/lib/virtual-clock.ts';
import type { GuardedHttp, HttpOutcome } from '../../src/net/guarded-http.ts';
import type { Life } from '../../src/simulation/life.ts';
import type { Dice } from '../../src/simulation/seeded.ts';

/** What a receiver does with a call that begins now. */
type Manner =
  | { kind: 'answers'; status: number; ms: number; retryAfter?: number }
  /** Nothing comes, until the caller gives up. */
  | { kind: 'silent' }
  | { kind: 'refuses' }
  /** Its name leads to an address that may not be called. */
  | { kind: 'blocked' };

export interface Receiver {
  id: number;
  domain: string;
  usual: Manner;
  troubles: { fromMs: number; untilMs: number; manner: Manner }[];
  madeAtMs: number;
  state: 'on' | 'off' | 'deleted';
  /** When it got its state and its URL; infinite = it is being changed. */
  changedMs: number;
  url: string;
  /** Newest first, and since when each is in force; infinite = it may be. */
  secrets: { bytes: Uint8Array; sinceMs: number }[];
  /** Of the events that happened while it asked for their kind. */
  told: Set<string>;
  /** When all its past calls were last asked for again. */
  replayedMs: number;
  /** Calls of events before this time may have been given up, or have gone while it was off (epoch milliseconds). */
  givenUpBefore: number;
  purgedBefore: number;
}

export interface Call {
  webhookId: number;
  key: string;
  node: number;
  fromMs: number;
  /** The receiver has answered, or the caller gave up. */
  untilMs: number | null;
  status: number;
  /** When the sender could read it; null = it was dead by then. */
  readMs: number | null;
}

type PostOptions = Partial<Parameters<GuardedHttp['post']>[1]>;

/** In which an answer may have been lost, or a call repeated. */
interface Excuse {
  /** Of calls of this process; null = of all. */
  node: number | null;
  /** Monotonic. */
  fromMs: number;
  untilMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** An outcome is in the store by then, if that can write. */
export const RECORDED_MS = 3 * SECOND;
/** What was under way when a webhook was changed: where the process went on all the time, and otherwise. */
const UNDER_WAY_MS = 100;
const STOOD_STILL_MS = 20 * SECOND;
const MOST_OF_A_WEBHOOK = 4;
const MOST_OF_A_NODE = 32;
const CALL_MS = 15 * SECOND;

export type Receivers = ReturnType<typeof createReceivers>;

/** Answers at once. */
export const PLAIN: Pick<Receiver, 'usual' | 'troubles'> = {
  ...{ usual: { kind: 'answers', status: 200, ms: 50 }, troubles: [] },
};

/** `isAwake`: of a process. `isSettled`: all nodes have known each other for a while. `storeMs`: as long it takes to answer. */
export function createReceivers(
  clock: VirtualClock,
  nodes: { isAwake(node: number): boolean; isSettled(): boolean; storeMs: number },
  note: (what: string) => void,
) {
  const all = new Map<number, Receiver>();
  const calls: Call[] = [];
  const open = new Set<Call>();
  const excuses: Excuse[] = [];
  /** All events but those about webhooks themselves. */
  const told = new Set<string>();
  return {
    all,
    calls,
    open,
    told,
    excuse: (excuse: Excuse) => void excuses.push(excuse),
    isWell,
    wayOut,
    /** Nobody waits for the answers to that process any more. */
    gone(node: number) {
      for (const call of open) if (call.node === node) open.delete(call);
    },
  };

  function mannerOf({ usual, troubles }: Receiver): Manner {
    const nowMs = clock.monotonicMs();
    return troubles.find(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs)?.manner ?? usual;
  }

  /** Answers at once, and has done so for `forMs`. */
  function isWell({ usual, troubles }: Receiver, forMs: number): boolean {
    const nowMs = clock.monotonicMs();
    const isQuick = usual.kind === 'answers' && usual.ms < SECOND && usual.status === 200;
    return isQuick && !troubles.some(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs + forMs);
  }

  /** The way to the receivers, for one process. */
  function wayOut(life: Life, node: number) {
    return (url: string, options: PostOptions): Promise<HttpOutcome> =>
      new Promise((resolve) => {
        const webhookId = Number(url.split('/').at(-2));
        const { 'webhook-id': key = '' } = options.headers ?? {};
        const receiver = all.get(webhookId);
        if (receiver === undefined) {
          // The answer to its creation was lost.
          resolve({ kind: 'failed', reason: 'connect', detail: 'connect' });
          return;
        }
        const nowMs = clock.monotonicMs();
        const call: Call = {
          ...{ webhookId, key, node, fromMs: nowMs, untilMs: null, status: 0, readMs: null },
        };
        calls.push(call);
        open.add(call);
        atStart(call, receiver);
        if (receiver.state === 'on') isAsAsked(call, receiver, url, options);
        const manner = mannerOf(receiver);
        const over = (status: number, outcome: () => HttpOutcome) => {
          if (call.untilMs !== null) return;
          call.untilMs = clock.monotonicMs();
          call.status = status;
          life.whenAwake(() => {
            open.delete(call);
            if (!life.alive) return;
            call.readMs = clock.monotonicMs();
            resolve(outcome());
          });
        };
        const failed = (reason: 'timeout' | 'connect' | 'aborted') => () =>
          ({ kind: 'failed', reason, detail: reason }) as const;
        // Whoever has the connection closes it; until then the receiver counts it as open.
        options.signal?.addEventListener('abort', () => {
          // It may have got the call all the same.
          if (manner.kind === 'answers' && manner.status === 200 && call.untilMs === null)
            excuses.push({ node, fromMs: nowMs, untilMs: clock.monotonicMs() });
          over(0, failed('aborted'));
        });
        switch (manner.kind) {
          case 'silent':
            clock.setTimer(CALL_MS, () => over(0, failed('timeout')));
            return;
          case 'refuses':
            clock.setTimer(1, () => over(0, failed('connect')));
            return;
          case 'blocked':
            clock.setTimer(1, () => over(0, () => ({ kind: 'blocked', detail: 'not allowed' })));
            return;
          default:
            clock.setTimer(manner.ms, () =>
              over(manner.status, () => ({
                ...{ kind: 'answered', status: manner.status, body: '', bodyBytes: new Uint8Array() },
                ...{ isCut: false, latencyMs: manner.ms, answeredAt: clock.now() },
                headers: manner.retryAfter === undefined ? {} : { 'retry-after': `${manner.retryAfter}` },
              })),
            );
        }
      });
  }

  /** How long after a change at `sinceMs` that process may make a call as before. */
  function underWayMs({ node }: Call, sinceMs: number): number {
    const stoodStill = excuses.some((one) => one.node === node && one.untilMs > sinceMs);
    return (stoodStill ? STOOD_STILL_MS : UNDER_WAY_MS) + 3 * nodes.storeMs;
  }

  function isAsAsked(call: Call, receiver: Receiver, url: string, { headers = {}, body }: PostOptions): void {
    const nowMs = call.fromMs;
    const who = `webhook ${call.webhookId}`;
    const isOver = (sinceMs: number) => nowMs - sinceMs > underWayMs(call, sinceMs);
    if (url !== receiver.url && isOver(receiver.changedMs))
      note(`${who} is called at ${url} instead of ${receiver.url}`);
    if (
      told.has(call.key) &&
      !receiver.told.has(call.key) &&
      receiver.replayedMs === Number.NEGATIVE_INFINITY
    )
      note(`${who} is called for ${call.key}, which it did not ask for`);
    const signed = `${call.key}.${headers['webhook-timestamp']}.`;
    const signatures = headers['webhook-signature']?.split(' ') ?? [];
    const isBy = ({ bytes }: Receiver['secrets'][number]) =>
      signatures.includes(
        `v1,${createHmac('sha256', bytes)
          .update(signed)
          .update(body ?? '')
          .digest('base64')}`,
      );
    const newest = receiver.secrets.findIndex(({ sinceMs }) => isOver(sinceMs));
    if (!receiver.secrets.slice(0, newest < 0 ? undefined : newest + 1).some(isBy))
      note(`${who} is called without a signature by its secret`);
  }

  function atStart(call: Call, receiver: Receiver): void {
    const nowMs = call.fromMs;
    const awake = [...open].filter(({ node }) => nodes.isAwake(node));
    const own = awake.filter(({ node }) => node === call.node);
    if (own.length > MOST_OF_A_NODE) note(`${own.length} calls run at once in one process`);
    const same = awake.filter(({ webhookId }) => webhookId === call.webhookId).length;
    if (same > MOST_OF_A_WEBHOOK && nodes.isSettled())
      note(`${same} calls of webhook ${call.webhookId} run at once`);
    if (receiver.state !== 'on' && nowMs - receiver.changedMs > underWayMs(call, receiver.changedMs))
      note(
        `webhook ${call.webhookId} is called although it is ${receiver.state} for ${nowMs - receiver.changedMs} ms`,
      );
    // A process that had read an answer, and could store it, does not call again.
    const before = calls.find(
      (one) =>
        one !== call &&
        one.key === call.key &&
        one.webhookId === call.webhookId &&
        one.readMs !== null &&
        one.status >= 200 &&
        one.status < 300,
    );
    if (before?.readMs == null || receiver.replayedMs >= before.fromMs) return;
    const { readMs, node: reader } = before;
    const isExcused = excuses.some(
      ({ node, fromMs, untilMs }) =>
        (node ?? reader) === reader &&
        untilMs >= readMs &&
        fromMs <= readMs + RECORDED_MS + 2 * nodes.storeMs,
    );
    if (!isExcused) note(`${call.key} was called again ${nowMs - readMs} ms after it was answered`);
  }
}

/** What it does at its times, and otherwise. */
export function mannersOf(dice: Dice, untilMs: number): Pick<Receiver, 'usual' | 'troubles'> {
  const troubles: Receiver['troubles'] = [];
  while (dice.chance(0.5)) {
    const fromMs = dice.ms(0, untilMs);
    const manner: Manner = dice.pick([
      { kind: 'answers', status: 500, ms: 20 },
      { kind: 'answers', status: 503, ms: 20, retryAfter: 90 },
      { kind: 'answers', status: 302, ms: 20 },
      { kind: 'answers', status: 200, ms: 9_000 },
      { kind: 'silent' },
      { kind: 'refuses' },
      { kind: 'blocked' },
      { kind: 'answers', status: 410, ms: 20 },
    ]);
    troubles.push({ fromMs, untilMs: fromMs + dice.ms(5 * SECOND, 20 * MINUTE), manner });
  }
  const ms = dice.pick([1, 5, 50, 300, 300, 2_500, 12_000]);
  const usual: Manner = { kind: 'answers', status: 200, ms };
  return { usual, troubles };
}
