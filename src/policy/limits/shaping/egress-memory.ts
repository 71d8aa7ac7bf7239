/**
 * Facts that delivery has observed about other servers and uses for a time, kept over a restart: which relays fail,
 * which hosts cannot do TLS, which domains are reached only over IPv4, which provider a domain belongs to. Facts are
 * written in the background and loaded at the start. They are read from memory, with a limit per kind.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createWriteBehind } from '../../../lib/write-behind.ts';
import type { LimitStore, StoredEgressFact } from '../../../store/topics/limits.ts';

/** One kind of facts, by keys. */
export interface Facts<Value> {
  /** The current fact, or null if there is none or its time is over. */
  get(key: string): Value | null;
  /** The fact is valid until this time (epoch milliseconds). */
  set(key: string, value: Value, until: number): void;
  forget(key: string): void;
}

/** Facts of every kind, kept over a restart. */
export interface EgressMemory {
  /** Reads the stored facts; once, before use. */
  load(): Promise<void>;
  /**
   * The facts of a kind. `read`: a value from its JSON, null if invalid. `longestMs`: the longest validity of a fact of
   * this kind, even if the clock was ahead when it was recorded.
   */
  facts<Value>(kind: string, read: (json: unknown) => Value | null, longestMs: number): Facts<Value>;
  /** Stores what is not stored yet. */
  flush(): Promise<boolean>;
}

const MAX_OF_A_KIND = 10_000;

interface Known {
  /** As stored, until it is first read. */
  json: unknown;
  until: number;
}

/** Empty until `load`. */
export function createEgressMemory(deps: {
  store: Pick<LimitStore, 'putEgressFacts' | 'listEgressFacts'>;
  clock: Clock;
  log: Logger;
}): EgressMemory {
  const { store, clock, log } = deps;
  const kinds = new Map<string, BoundedMap<string, Known>>();
  const behind = createWriteBehind<StoredEgressFact>(
    clock,
    (facts) => store.putEgressFacts({ facts }),
    (err) => log.warn({ err }, 'what was learned about far ends cannot be stored yet'),
  );

  return {
    async load() {
      const stored = await store.listEgressFacts({ now: clock.now(), perKind: MAX_OF_A_KIND });
      // The facts with the latest end come first; those that end soonest are dropped first.
      for (const { kind, key, value, until } of stored.toReversed())
        knownOf(kind).set(key, { json: parsed(value), until });
    },
    facts,
    flush: () => behind.flush(),
  };

  function facts<Value>(
    kind: string,
    read: (json: unknown) => Value | null,
    longestMs: number,
  ): Facts<Value> {
    const known = knownOf(kind);
    const put = (key: string, json: unknown, until: number): void =>
      behind.put(`${kind} ${key}`, { kind, key, value: JSON.stringify(json), until });
    /** Its end, corrected if the clock was ahead. */
    const endOf = (key: string, fact: Known): number => {
      const latest = clock.now() + longestMs;
      if (fact.until > latest) {
        fact.until = latest;
        put(key, fact.json, latest);
      }
      return fact.until;
    };
    return {
      get(key) {
        const found = known.get(key);
        return found === undefined || endOf(key, found) <= clock.now() ? null : read(found.json);
      },
      set(key, value, until) {
        known.set(key, { json: value, until });
        put(key, value, until);
      },
      forget(key) {
        // It has ended; upkeep removes it from the store.
        if (known.delete(key)) put(key, null, 0);
      },
    };
  }

  function knownOf(kind: string): BoundedMap<string, Known> {
    const found = kinds.get(kind) ?? new BoundedMap<string, Known>(MAX_OF_A_KIND);
    kinds.set(kind, found);
    return found;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** A fact without further data. */
export function readFlag(json: unknown): true | null {
  return json === true ? true : null;
}

/** A fact that is a text. */
export function readText(json: unknown): string | null {
  return typeof json === 'string' ? json : null;
}
