/**
 * Named points at which a test can end the process, to check what is on disk. A specification is `name` or `name:n`
 * (the n-th time the point is reached); several are separated by commas. None is active unless given, and the
 * composition root passes one only if NODE_ENV is `test`.
 */
export type FailpointName = 'after-commit' | 'after-data-sent' | 'after-remote-250';

export interface Failpoints {
  /** Called at the point: does nothing, or never returns. */
  reach(name: FailpointName): void;
  /**
   * Writes of the store that fail: the n-th and the `count` − 1 after it, or the writer thread dies at the n-th; null =
   * none.
   */
  readonly failStoreWrites: { from: number; count: number; as?: 'death' } | null;
}

export const NO_FAILPOINTS: Failpoints = { reach() {}, failStoreWrites: null };

/** Parses a specification; `kill` ends the process at once, as SIGKILL does. Unknown names throw. */
export function createFailpoints(specification: string, kill: () => void): Failpoints {
  const left = new Map<string, number>();
  let failStoreWrites: Failpoints['failStoreWrites'] = null;
  for (const part of specification.split(',')) {
    const [name = '', n = '1', count = '1'] = part.trim().split(':');
    if (name === 'store-write') failStoreWrites = { from: Number(n), count: Number(count) };
    else if (name === 'store-death') failStoreWrites = { from: Number(n), count: 1, as: 'death' };
    else if (name === 'after-commit' || name === 'after-data-sent' || name === 'after-remote-250') {
      left.set(name, Number(n));
    } else throw new TypeError(`unknown failpoint "${name}"`);
  }
  return {
    failStoreWrites,
    reach(name) {
      const remaining = left.get(name);
      if (remaining === undefined) return;
      left.set(name, remaining - 1);
      if (remaining === 1) kill();
    },
  };
}
