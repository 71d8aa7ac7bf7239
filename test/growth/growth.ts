/**
 * Whether work grows in proportion to its input. Given work for a size, it measures processor time of this thread, first at the
 * largest size alone, because nearly everything is done at once; what is not is measured at n, 2n and 4n, the least of several
 * runs each, and its growth from n to 4n is told: 4 where it is in proportion, 16 where it is quadratic.
 */
import { cpuMsOf } from '../fakes/thread-cpu.ts';

/** Quicker than this at the largest size is never looked at. */
const QUICK_MS = 20;
/** Of the smallest size, where the work is quadratic. */
const LEAST_MS = 12;
/** Between linear (4) and quadratic (16); a little more than linear is sorting, growing buffers, a cache that ends. */
export const MOST_GROWTH = 9;

/** Work for a size, or a promise of it. */
export type Work = (size: number) => unknown;

/** 4n / n in processor time, or null where it was quicker than `quickMs` at 4n. */
export async function growthOf(work: Work, size: number, quickMs = QUICK_MS): Promise<number | null> {
  if ((await leastMs(work, 4 * size, 1)) < quickMs) return null;
  const again = await leastMs(work, 4 * size, 1);
  if (again < quickMs) return null;
  // Processor time is counted in steps of some milliseconds: what is too short for them is done several times.
  const times = Math.min(60, Math.max(1, Math.ceil((LEAST_MS * 16) / again)));
  const many: Work = async (each) => {
    for (let i = 0; i < times; i += 1) await work(each);
  };
  let least = Number.POSITIVE_INFINITY;
  // What grows too fast does so each time.
  for (let round = 0; round < 3 && least > MOST_GROWTH; round += 1) least = Math.min(least, await once());
  return least;

  async function once(): Promise<number> {
    const [small, middle, large] = [
      await leastMs(many, size, 2),
      await leastMs(many, 2 * size, 2),
      await leastMs(many, 4 * size, 1),
    ];
    // Of both ways the smaller: one of three figures may be off on a machine that does other things too.
    return Math.min(large / Math.max(small, 1), (large / Math.max(middle, 1)) ** 2);
  }
}

async function leastMs(work: Work, size: number, times: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times; i += 1) {
    let pending: unknown;
    let ms = cpuMsOf(() => {
      pending = work(size);
    });
    if (pending instanceof Promise) {
      const before = process.threadCpuUsage();
      await pending;
      const { user, system } = process.threadCpuUsage(before);
      ms += (user + system) / 1000;
    }
    least = Math.min(least, ms);
  }
  return least;
}

/** What is repeated: every character that means something somewhere, and short runs of them. */
export const PIECES: readonly string[] = [
  ...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~ aA0\t\r\n\0\u00e9\u0301\u2028\u200b',
  '\r\n',
  '\r\n ',
  '\n.\n',
  '--',
  '->',
  '</',
  '<a ',
  '<a href="',
  '<!--',
  '&amp',
  '&#',
  '=?',
  '?=',
  '=?utf-8?q?',
  '=?utf-8?q?a?= ',
  '%41',
  '=41',
  '= \r\n',
  '"a" <b@c.example>, ',
  'a@b.example,',
  '(a',
  'a;',
  'a=b;',
  'a="',
  '\\"',
  'a.b-',
  'a:b ',
  '5.1.1 ',
  '{{a}}',
  '{{#a}}',
  '[{',
  '":{',
  '\ud83d\ude00',
];

/** `piece` again and again, `size` characters long. */
export function run(piece: string, size: number): string {
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
}
