/**
 * Frees what the start of a thread has left behind: without work V8 would keep it, in the main thread a quarter of all
 * memory of an idle server. Takes some 40 ms, once. Does nothing if the launcher did not allow it (`--expose-gc`).
 */
export function freeStart(): void {
  globalThis.gc?.({ execution: 'sync', flavor: 'last-resort', type: 'major' });
}
