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
