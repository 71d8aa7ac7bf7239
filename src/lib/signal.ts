/**
 * Announces "something changed" between parts that must not import each other; it carries no data. `notify` calls each
 * listener in order. Listeners also look by themselves from time to time, so a signal only makes things faster. A
 * listener must neither throw nor block.
 */
export interface Signal {
  notify(): void;
  /** Calls `listener` at every `notify` until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

/** A signal without listeners. */
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
