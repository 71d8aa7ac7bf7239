/**
 * How far ends treat connections, by address and port: how far away they are, how long a message usually takes, whether
 * they accept the next envelope directly after a message's final dot, how many messages may be in flight, after how many
 * messages they end a connection without a 421. Facts that cost minutes to find out, and faults that may double
 * messages, are stored for a day, over a restart. Limited in size.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type EgressMemory, readFlag } from '../../../policy/limits/shaping/egress-memory.ts';

/** One far end. */
export interface FarEnd {
  /** It accepts an envelope that is sent with the last octets of the message before. */
  readonly takesBehind: boolean;
  /** It never answered such an envelope: it drops what follows a final dot. */
  droppedBehind(): void;
  /** Messages may be sent to it whole, behind others that are not answered. */
  readonly takesWhole: boolean;
  /** Its replies did not match the commands, or it refused the BDAT that it offers. */
  outOfStep(): void;
  /** It discards the octets of a BDAT that it refuses: it has shown that within a day. */
  readonly discardsRefused: boolean;
  showedDiscard(): void;
  /** How many may be unanswered: grows with those that were answered, shrinks with connections that were lost. */
  trusted(): number;
  /** A message that was sent whole was answered. */
  answeredWhole(): void;
  /** A connection with unanswered messages that were sent whole was lost. */
  lostInFlight(): void;
  /** A reply came after this many milliseconds, so it is at most that far away. */
  answeredWithin(ms: number): void;
  /** The shortest time of a reply lately; Infinity before the first. */
  roundTripMs(): number;
  /** A transaction took this many milliseconds. */
  took(ms: number): void;
  /** Its transactions usually take less than a second: what is in flight is answered soon, also one after the other. */
  isQuick(): boolean;
  /** After this many milliseconds a transaction takes longer than usual. */
  patienceMs(): number;
  /**
   * It ended a connection that was not idle after this many messages. Returns how many it allows; null = unknown.
   * `openedAtMs`: when it accepted the connection, monotonic.
   */
  endedAfter(messages: number, openedAtMs: number): number | null;
}

type Known = FarEnd & { takesBehind: boolean; takesWhole: boolean; discardsRefused: boolean };

export interface FarEnds {
  of(endpoint: { address: string; port: number }): FarEnd;
}

const MOST = 10_000;
const KEPT_MS = 24 * 3_600_000;
/** Several times the usual time: most answers are faster, and messages behind one do not wait long. */
const TIMES_USUAL = 4;
const LEAST_PATIENCE_MS = 1_000;
const MOST_PATIENCE_MS = 60_000;
/** Messages that have to be answered for each that may be unanswered. */
const ANSWERED_FOR_ONE = 4;
const MOST_TRUSTED = 16;
/** After this time the round trip is measured anew: the route may have changed. */
const MEASURED_MS = 600_000;
const QUICK_MS = 1_000;
/** For a far end that has not answered yet. */
const FIRST_PATIENCE_MS = 15_000;

/** Empty, except for the stored facts in `learned`. */
export function createFarEnds(deps: { clock: Clock; egressMemory: Pick<EgressMemory, 'facts'> }): FarEnds {
  const { clock } = deps;
  const dropping = deps.egressMemory.facts('drops-behind', readFlag, KEPT_MS);
  const outOfStep = deps.egressMemory.facts('out-of-step', readFlag, KEPT_MS);
  const discarding = deps.egressMemory.facts('discards-refused', readFlag, KEPT_MS);
  const known = new BoundedMap<string, Known>(MOST);

  return {
    of({ address, port }) {
      const key = `${address}:${port}`;
      const farEnd = known.get(key) ?? farEndOf(key);
      farEnd.takesBehind = dropping.get(key) === null;
      farEnd.takesWhole = outOfStep.get(key) === null;
      farEnd.discardsRefused = discarding.get(key) !== null;
      known.set(key, farEnd);
      return farEnd;
    },
  };

  function farEndOf(key: string): Known {
    let usualMs: number | null = null;
    let answered = 0;
    let roundTrip = { ms: Number.POSITIVE_INFINITY, atMs: Number.NEGATIVE_INFINITY };
    let last = { messages: 0, atMs: Number.NEGATIVE_INFINITY };
    return {
      takesBehind: true,
      takesWhole: true,
      discardsRefused: false,
      showedDiscard() {
        this.discardsRefused = true;
        discarding.set(key, true, clock.now() + KEPT_MS);
      },
      outOfStep() {
        this.takesWhole = false;
        answered = 0;
        outOfStep.set(key, true, clock.now() + KEPT_MS);
      },
      trusted: () => Math.max(1, Math.floor(answered / ANSWERED_FOR_ONE)),
      answeredWhole() {
        answered = Math.min(answered + 1, MOST_TRUSTED * ANSWERED_FOR_ONE);
      },
      lostInFlight() {
        answered = Math.floor(answered / 2);
      },
      answeredWithin(ms) {
        const nowMs = clock.monotonicMs();
        if (ms <= roundTrip.ms || nowMs - roundTrip.atMs > MEASURED_MS) roundTrip = { ms, atMs: nowMs };
      },
      roundTripMs: () => roundTrip.ms,
      droppedBehind() {
        this.takesBehind = false;
        dropping.set(key, true, clock.now() + KEPT_MS);
      },
      took(ms) {
        // One transaction that hung for minutes says little about the next.
        const most = usualMs === null ? FIRST_PATIENCE_MS : TIMES_USUAL * Math.max(usualMs, 250);
        const counted = Math.min(ms, most);
        usualMs = usualMs === null ? counted : usualMs + (counted - usualMs) / 8;
      },
      isQuick: () => usualMs !== null && usualMs < QUICK_MS,
      patienceMs() {
        if (usualMs === null) return FIRST_PATIENCE_MS;
        return Math.min(MOST_PATIENCE_MS, Math.max(LEAST_PATIENCE_MS, TIMES_USUAL * usualMs));
      },
      endedAfter(messages, openedAtMs) {
        // A server that restarts ends all current connections, but not the next one after the same number of messages.
        if (openedAtMs < last.atMs) return null;
        const again = messages === last.messages;
        last = { messages, atMs: clock.monotonicMs() };
        return again ? messages : null;
      },
    };
  }
}
