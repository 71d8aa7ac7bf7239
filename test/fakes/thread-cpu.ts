/**
 * How much work something is, for tests that nothing hostile makes it slow. Given work that runs in one go on this
 * thread, counts the processor time of this thread alone: what else the machine does, and how long this thread waits
 * for its turn, does not count. Bounds should lie tens of times above what was seen, and below anything quadratic.
 */

/** Milliseconds of processor time that `work` took. */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The longest stretch of processor time, in milliseconds, that this thread worked without coming back to its event loop
 * while `work` went on. Ask from another thread, or what the test itself does is counted too.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  let over = false;
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, user + system);
    last = process.threadCpuUsage();
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work();
  } finally {
    over = true;
  }
  return longest / 1000;
}

/** The shortest of some tries, in milliseconds; `attempt` gives how long one took. */
export async function shortestTurnMs(
  limitMs: number,
  attempt: (n: number) => Promise<number>,
): Promise<number> {
  let ms = Number.POSITIVE_INFINITY;
  for (let n = 0; n < TRIES && ms > limitMs; n += 1) {
    // What another guest of the machine slows down is over after some seconds; what holds the event loop is not.
    if (n >= AT_ONCE) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    ms = Math.min(ms, await attempt(n));
  }
  return ms;
}

const AT_ONCE = 5;
const TRIES = 15;
const PAUSE_MS = 2_000;
