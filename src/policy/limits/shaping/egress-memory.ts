/**
 * What delivery has learned about the world outside and goes by for a time, kept over a restart: which relays fail, which
 * hosts cannot do TLS, which domains are spoken to by IPv4, which provider a domain belongs to. Given a fact when it is
 * learned, stores it behind the caller; gives what was stored at the start. Reading is from memory, bounded by kind.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createWriteBehind } from '../../../lib/write-behind.ts';
import type { LimitStore, StoredEgressFact } from '../../../store/topics/limits.ts';

/** One kind of facts, by keys. */
export interface Facts<Value> {
  /** What is known, or null where nothing is or its time is over. */
  get(key: string): Value | null;
  /** Goes by it until then (epoch milliseconds). */
  set(key: string, value: Value, until: number): void;
  forget(key: string): void;
  entries(): readonly (readonly [key: string, value: Value])[];
}

/** Facts of every kind, over a restart. */
export interface EgressMemory {
  /** Reads what is stored; once, before use. */
  load(): Promise<void>;
  /**
   * The facts of a kind. `read`: a value from its JSON, null for one that makes no sense. `longestMs`: no fact of the kind
   * holds for longer, also where the clock was ahead when it was learned.
   */
  facts<Value>(kind: string, read: (json: unknown) => Value | null, longestMs: number): Facts<Value>;
  /** Stores what is not stored yet. */
  flush(): Promise<boolean>;
}

const MAX_OF_A_KIND = 10_000;

interface Known {
  /** As it was stored, until somebody asks. */
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
      // What holds longest comes first; what ends soonest is the first to go.
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
    /** Its end, brought back where the clock has been. */
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
        // Its end has come; upkeep removes it.
        if (known.delete(key)) put(key, null, 0);
      },
      entries() {
        const now = clock.now();
        return [...known].flatMap(([key, fact]) => {
          const value = endOf(key, fact) > now ? read(fact.json) : null;
          return value === null ? [] : [[key, value] as const];
        });
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

/** A fact that says no more than that it is so. */
export function readFlag(json: unknown): true | null {
  return json === true ? true : null;
}

/** A fact that is a text. */
export function readText(json: unknown): string | null {
  return typeof json === 'string' ? json : null;
}
