/**
 * How far ends treat connections, by address and port: how long a message usually takes, whether they accept the next
 * envelope directly after a message's final dot, after how many messages they end a connection without a 421. Facts
 * that cost minutes to find out are stored for a day, over a restart. Limited in size.
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
  /** A transaction took this many milliseconds. */
  took(ms: number): void;
  /** After this many milliseconds a transaction takes longer than usual. */
  patienceMs(): number;
  /**
   * It ended a connection that was not idle after this many messages. Returns how many it allows; null = unknown.
   * `openedAtMs`: when it accepted the connection, monotonic.
   */
  endedAfter(messages: number, openedAtMs: number): number | null;
}

export interface FarEnds {
  of(endpoint: { address: string; port: number }): FarEnd;
}

const MOST = 10_000;
const KEPT_MS = 24 * 3_600_000;
/** Several times the usual time: most answers are faster, and messages behind one do not wait long. */
const TIMES_USUAL = 4;
const LEAST_PATIENCE_MS = 1_000;
const MOST_PATIENCE_MS = 60_000;
/** For a far end that has not answered yet. */
const FIRST_PATIENCE_MS = 15_000;

/** Empty, except for the stored facts in `learned`. */
export function createFarEnds(deps: { clock: Clock; egressMemory: Pick<EgressMemory, 'facts'> }): FarEnds {
  const { clock } = deps;
  const dropping = deps.egressMemory.facts('drops-behind', readFlag, KEPT_MS);
  const known = new BoundedMap<string, FarEnd & { takesBehind: boolean }>(MOST);

  return {
    of({ address, port }) {
      const key = `${address}:${port}`;
      const farEnd = known.get(key) ?? farEndOf(key);
      farEnd.takesBehind = dropping.get(key) === null;
      known.set(key, farEnd);
      return farEnd;
    },
  };

  function farEndOf(key: string): FarEnd & { takesBehind: boolean } {
    let usualMs: number | null = null;
    let last = { messages: 0, atMs: Number.NEGATIVE_INFINITY };
    return {
      takesBehind: true,
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
