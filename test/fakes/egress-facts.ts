/** What the memory of far ends needs of a store, as a list; the real one is tested by the conformance suite. */
import type { Clock } from '../../src/lib/clock.ts';
import { createEgressMemory, type EgressMemory } from '../../src/policy/limits/shaping/egress-memory.ts';
import type { StoredEgressFact } from '../../src/store/topics/limits.ts';

export interface EgressFacts {
  /** A memory that knows nothing yet. */
  fresh(): EgressMemory;
  /** A memory over what is stored, as after a start. */
  open(): Promise<EgressMemory>;
  readonly stored: ReadonlyMap<string, StoredEgressFact>;
}

/** `before`: what is stored already. */
export function createEgressFacts(
  clock: Clock,
  before: ReadonlyMap<string, StoredEgressFact> = new Map(),
): EgressFacts {
  const stored = new Map(before);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const store = {
    async putEgressFacts({ facts }: { facts: readonly StoredEgressFact[] }) {
      for (const fact of facts) stored.set(`${fact.kind} ${fact.key}`, fact);
    },
    async listEgressFacts({ now }: { now: number }) {
      return [...stored.values()].filter(({ until }) => until > now);
    },
  };
  return {
    stored,
    fresh: () => createEgressMemory({ store, clock, log }),
    async open() {
      const memory = createEgressMemory({ store, clock, log });
      await memory.load();
      return memory;
    },
  };
}
