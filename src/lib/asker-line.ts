/**
 * A line for work that many ask for and that only so much of may run at once: the look-ups of DNS, the searches of a store.
 * Whoever asks for more than the others waits longer than they do: of what waits, each asker's first piece runs in turn.
 */

/** Runs `run` when it is the turn of `asker`; '' is this server itself. */
export type AskerLine = <Result>(asker: string, run: () => Promise<Result>) => Promise<Result>;

/** A line with this many places. */
export function createAskerLine(max: number): AskerLine {
  /** By asker; who was served goes to the end. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;

  function next(): (() => void) | undefined {
    for (const [asker, line] of waiting) {
      waiting.delete(asker);
      const first = line.shift();
      if (line.length > 0) waiting.set(asker, line);
      return first;
    }
    return undefined;
  }

  return async (asker, run) => {
    if (running >= max) {
      await new Promise<void>((resolve) => {
        const line = waiting.get(asker) ?? [];
        line.push(resolve);
        waiting.set(asker, line);
      });
    } else running++;
    try {
      return await run();
    } finally {
      const start = next();
      if (start) start();
      else running--;
    }
  };
}
