/**
 * A line for work that many ask for and that only so much of may run at once: the look-ups of DNS, the searches of a store.
 * Whoever asks for more than the others waits longer than they do: of what waits, each asker's first piece runs in turn.
 * A piece that several ask for runs in the turn of the first of them.
 */

/** Those who ask for the same work. */
export interface Askers {
  /** One more, also while the work waits. */
  add(asker: string): void;
  /** Calls `listener` for each who is there, and who comes until the returned function is called. */
  each(listener: (asker: string) => void): () => void;
}

export function createAskers(first: string): Askers {
  const there = new Set([first]);
  const listeners = new Set<(asker: string) => void>();
  return {
    add(asker) {
      if (there.has(asker)) return;
      there.add(asker);
      for (const listener of listeners) listener(asker);
    },
    each(listener) {
      for (const asker of there) listener(asker);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Runs `run` when it is the turn of `asker`, or of one of several; '' is this server itself. */
export type AskerLine = <Result>(asker: string | Askers, run: () => Promise<Result>) => Promise<Result>;

interface Piece {
  isBegun: boolean;
  begin(): void;
}

/** A line with this many places. */
export function createAskerLine(max: number): AskerLine {
  /** By asker; who was served goes to the end. */
  const waiting = new Map<string, Piece[]>();
  let running = 0;

  function next(): Piece | undefined {
    for (const [asker, line] of waiting) {
      waiting.delete(asker);
      let first = line.shift();
      // In the turn of another.
      while (first?.isBegun === true) first = line.shift();
      if (line.length > 0) waiting.set(asker, line);
      if (first !== undefined) return first;
    }
    return undefined;
  }

  function wait(asker: string | Askers): Promise<void> {
    return new Promise((resolve) => {
      const piece: Piece = { isBegun: false, begin: resolve };
      const stand = (who: string): void => {
        const line = waiting.get(who) ?? [];
        line.push(piece);
        waiting.set(who, line);
      };
      if (typeof asker === 'string') return stand(asker);
      const leave = asker.each(stand);
      piece.begin = () => {
        leave();
        resolve();
      };
    });
  }

  return async (asker, run) => {
    if (running >= max) await wait(asker);
    else running++;
    try {
      return await run();
    } finally {
      const piece = next();
      if (piece === undefined) running--;
      else {
        piece.isBegun = true;
        piece.begin();
      }
    }
  };
}
