/**
 * Announces "something changed" between parts that must not import each other, mostly without data. `notify` calls each
 * listener in order. Those that get no data also look by themselves from time to time, so a signal only makes things
 * faster. A listener must neither throw nor block.
 */
export interface Signal<News = void> {
  notify(news: News): void;
  /** Calls `listener` at every `notify` until the returned function is called. */
  subscribe(listener: (news: News) => void): () => void;
}

/** A signal without listeners. */
export function createSignal<News = void>(): Signal<News> {
  const listeners = new Set<{ call: (news: News) => void }>();
  return {
    notify(news) {
      for (const { call } of [...listeners]) call(news);
    },
    subscribe(listener) {
      const entry = { call: listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
