/**
 * "Something changed" between parts that must not know each other: no data, only a hint to look again. Given listeners
 * it calls each of them, in order, at every `notify`. Whoever listens also looks by itself from time to time: a hint
 * only makes things sooner. A listener must neither throw nor block.
 */
export interface Signal {
  notify(): void;
  /** Calls `listener` at every `notify` until the function it gives back is called. */
  subscribe(listener: () => void): () => void;
}

/** A signal nobody listens to yet. */
export function createSignal(): Signal {
  const listeners = new Set<{ call: () => void }>();
  return {
    notify() {
      for (const { call } of [...listeners]) call();
    },
    subscribe(listener) {
      const entry = { call: listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
