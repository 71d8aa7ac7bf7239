/**
 * How far ends treat connections, one address and port at a time: how long they usually take over a message, whether
 * they take the next envelope behind a message's final dot, after how many messages they end a connection without a
 * word. Given what connections came to; what costs minutes to find out is kept for a day, over a restart. Bounded.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type EgressMemory, readFlag } from '../../../policy/limits/shaping/egress-memory.ts';

/** One far end. */
export interface FarEnd {
  /** It takes an envelope that travels with the last octets of the message before. */
  readonly takesBehind: boolean;
  /** One that did was never answered: it drops what follows a dot. */
  droppedBehind(): void;
  /** A transaction ended after so many milliseconds. */
  took(ms: number): void;
  /** Milliseconds that a transaction may take before it takes longer than usual. */
  patienceMs(): number;
  /**
   * It ended a connection, and not for having rested, after so many messages. How many it allows; null = not known.
   * `openedAtMs`: when it took the connection, monotonic.
   */
  endedAfter(messages: number, openedAtMs: number): number | null;
}

export interface FarEnds {
  of(endpoint: { address: string; port: number }): FarEnd;
}

const MOST = 10_000;
const KEPT_MS = 24 * 3_600_000;
/** Several times the usual: most answers take less, and whoever waits behind one is not kept for long. */
const TIMES_USUAL = 4;
const LEAST_PATIENCE_MS = 1_000;
const MOST_PATIENCE_MS = 60_000;
/** Of one that has not answered yet. */
const FIRST_PATIENCE_MS = 15_000;

/** Nothing is known but what `learned` keeps. */
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
        // One that hung for minutes says little about the next.
        const most = usualMs === null ? FIRST_PATIENCE_MS : TIMES_USUAL * Math.max(usualMs, 250);
        const counted = Math.min(ms, most);
        usualMs = usualMs === null ? counted : usualMs + (counted - usualMs) / 8;
      },
      patienceMs() {
        if (usualMs === null) return FIRST_PATIENCE_MS;
        return Math.min(MOST_PATIENCE_MS, Math.max(LEAST_PATIENCE_MS, TIMES_USUAL * usualMs));
      },
      endedAfter(messages, openedAtMs) {
        // A server that is restarted ends all connections that there are, but not the next one after as many messages.
        if (openedAtMs < last.atMs) return null;
        const again = messages === last.messages;
        last = { messages, atMs: clock.monotonicMs() };
        return again ? messages : null;
      },
    };
  }
}
