/**
 * The crash campaign: a server under a closed loop of posters is killed at instants drawn from a seed, at named points
 * and at moments of chance, and started again on the same folder. After every round both ends are counted.
 * Given: the number of rounds, the first seed and how long a server is under load before it dies. Leaves behind: figures of
 * every round. A round is played again by its seed alone; a promise that does not hold is the message of a RoundError.
 */
import { randomUUID } from 'node:crypto';
import { type Bench, createBenches } from './bench.ts';
import { askAgain, type Posted, startLoad } from './load.ts';
import { reckon, reclaimedRows } from './reckoning.ts';
import { addDomain, queueEmpty, type ServerProcess } from './server-process.ts';

export interface CampaignOptions {
  rounds: number;
  /** Seed of the first round; the others count on from it. */
  seed: number;
  posters: number;
  /** Time under load before a death: between these, ms. */
  loadMs: readonly [least: number, most: number];
  /** Delivered a second by a warm server under the same load; 0 = not known. */
  peak: number;
  progress?: (round: RoundFigures) => void;
}

/** How a server dies: by a signal from outside, or by itself at a named point that is armed when the load is up. */
export type Death = 'chance' | 'after-commit' | 'after-data-sent' | 'after-remote-250' | 'store-death';

export interface RoundFigures {
  seed: number;
  deaths: readonly Death[];
  requests: number;
  /** Requests that got no 200 before the death. */
  unanswered: number;
  recipients: number;
  /** Leases that starts took back. */
  takenBack: number;
  duplicates: number;
  /** Connections of the far end that were open at the deaths. */
  connections: number;
  /** How long before the death the first copy of each duplicate had come in, ms, the longest; 0 = there was none. */
  oldestDuplicateMs: number;
  /** Delivered a second in the last second before the first death, as a share of the peak; 0 = not known. */
  shareOfPeak: number;
}

export interface CampaignFigures {
  rounds: readonly RoundFigures[];
  failed: readonly { seed: number; why: string }[];
}

const DEATHS: readonly Death[] = [
  'chance',
  'after-commit',
  'after-data-sent',
  'after-remote-250',
  'store-death',
];
/** One round in this many has a second death while the first one's mail is taken up again. */
const SECOND_DEATH = 4;
/** A named point is passed so many times for each second under load before the process ends there. */
const PASSES_A_SECOND = {
  'after-commit': 1_200,
  'after-data-sent': 1_200,
  'after-remote-250': 1_200,
  'store-death': 200,
};
/** A named point that is not reached (little load) is replaced by a signal after this. */
const PATIENCE_MS = 30_000;
/** A signal waits until the far end has so many messages: on a busy machine the first ones take longer than the load may last. */
const LEAST_DELIVERED = 100;

/** The same numbers in [0, 1) in every run (a linear congruential generator). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Plays the rounds; a round that fails is listed with its reason, and the campaign goes on. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignFigures> {
  const rounds: RoundFigures[] = [];
  const failed: { seed: number; why: string }[] = [];
  for (let seed = options.seed; seed < options.seed + options.rounds; seed++) {
    try {
      const figures = await playRound(seed, options);
      rounds.push(figures);
      options.progress?.(figures);
    } catch (cause) {
      failed.push({ seed, why: cause instanceof Error ? cause.message : String(cause) });
    }
  }
  return { rounds, failed };
}

/** Delivered a second by a warm server with nothing in its way: the median over the second half of the load. */
export async function measurePeak(posters: number, loadMs: number): Promise<number> {
  const benches = createBenches();
  try {
    const bench = await benches.prepare();
    const server = await bench.start();
    await addDomain(server);
    const load = startLoad(server, { posters, name: 'peak' });
    const seconds: number[] = [];
    for (let s = 0; s < loadMs / 1000; s++) {
      const before = bench.sink.counts.messages;
      await rest(1000);
      seconds.push(bench.sink.counts.messages - before);
    }
    await load.stop();
    const warm = seconds.slice(Math.floor(seconds.length / 2)).sort((a, b) => a - b);
    return warm[Math.floor(warm.length / 2)] ?? 0;
  } finally {
    await benches.clear();
  }
}

async function playRound(seed: number, options: CampaignOptions): Promise<RoundFigures> {
  const draw = seeded(seed);
  // The first numbers of neighbouring seeds are alike.
  for (let i = 0; i < 8; i++) draw();
  const deaths = [pick(draw)];
  if (draw() < 1 / SECOND_DEATH) deaths.push(pick(draw));
  const benches = createBenches();
  const arrivals = new Map<string, number>();
  try {
    const bench = await benches.prepare({
      sink: {
        onMessage: ({ rcpts }) => {
          for (const rcpt of rcpts) if (!arrivals.has(rcpt)) arrivals.set(rcpt, performance.now());
        },
      },
    });
    let books: Posted[] = [];
    let unanswered = 0;
    let takenBack = 0;
    let connections = 0;
    let shareOfPeak = 0;
    const diedAt: number[] = [];
    let server: ServerProcess | null = null;
    for (const [n, death] of deaths.entries()) {
      const [least, most] = options.loadMs;
      const afterMs = least + draw() * (most - least);
      const passes = death === 'chance' ? 0 : Math.ceil((afterMs / 1000) * PASSES_A_SECOND[death]);
      const env = death === 'chance' ? {} : { POSTRIDER_FAILPOINT: `${death}:${passes}` };
      server = await bench.start(env);
      if (n === 0) await addDomain(server);
      takenBack += reclaimedRows(server);
      const load = startLoad(server, { posters: options.posters, name: `s${seed}d${n}`, recipients });
      const rate = await dieUnderLoad(server, bench, death, afterMs);
      diedAt.push(performance.now());
      connections += bench.sink.counts.open;
      if (n === 0 && options.peak > 0) shareOfPeak = rate / options.peak;
      await load.stop();
      unanswered += load.posted.filter((one) => one.messageId === null).length;
      books = [...books, ...load.posted];
    }
    server = await bench.start();
    takenBack += reclaimedRows(server);
    books = await askAgain(server, books);
    await queueEmpty(server, 60_000);
    const figures = await reckon(server, bench.sink, books);
    if (figures.acknowledged !== books.length) throw new Error('not every request was answered in the end');
    if (figures.final.delivered !== figures.recipients) {
      throw new Error(`final states: ${JSON.stringify(figures.final)} of ${figures.recipients}`);
    }
    if (figures.duplicates > takenBack) {
      throw new Error(`${figures.duplicates} duplicates of ${takenBack} leases taken back`);
    }
    const exit = await server.terminate();
    if (exit.code !== 0) throw new Error(`the last server ended with ${exit.code ?? exit.signal}`);
    return {
      seed,
      deaths,
      requests: books.length,
      unanswered,
      recipients: figures.recipients,
      takenBack,
      duplicates: figures.duplicates,
      connections,
      oldestDuplicateMs: oldestDuplicate(bench, arrivals, diedAt),
      shareOfPeak,
    };
  } finally {
    await benches.clear();
  }
}

function pick(draw: () => number): Death {
  return DEATHS[Math.floor(draw() * DEATHS.length)] ?? 'chance';
}

/** One to three recipients, none of them twice in a round. */
function recipients(n: number): readonly string[] {
  const one = randomUUID();
  const count = n % 5 === 0 ? 3 : 1;
  return Array.from({ length: count }, (_, i) => `${one}-${i}@domain${(n + i) % 3}.test`);
}

/** Resolves when the process is gone; gives what was delivered in the last whole second before. */
async function dieUnderLoad(
  server: ServerProcess,
  bench: Bench,
  death: Death,
  afterMs: number,
): Promise<number> {
  const began = performance.now();
  const marks: { at: number; count: number }[] = [];
  const note = () => marks.push({ at: performance.now(), count: bench.sink.counts.messages });
  note();
  const timer = setInterval(note, 100);
  try {
    if (death === 'chance') {
      await rest(afterMs);
      while (bench.sink.counts.messages < LEAST_DELIVERED && performance.now() < began + PATIENCE_MS)
        await rest(10);
    } else await Promise.race([server.exited, rest(PATIENCE_MS)]);
    note();
    await server.kill();
  } finally {
    clearInterval(timer);
  }
  const last = marks.at(-1);
  const before = marks.findLast((mark) => last !== undefined && mark.at <= last.at - 1000);
  if (last === undefined || before === undefined) return 0;
  return ((last.count - before.count) * 1000) / (last.at - before.at);
}

/** The longest time between the first of two copies and the death that followed it, ms. */
function oldestDuplicate(
  bench: Bench,
  arrivals: ReadonlyMap<string, number>,
  diedAt: readonly number[],
): number {
  const copies = new Map<string, number>();
  for (const { rcpts } of bench.sink.messages) {
    for (const rcpt of rcpts) copies.set(rcpt, (copies.get(rcpt) ?? 0) + 1);
  }
  let oldest = 0;
  for (const [rcpt, count] of copies) {
    if (count === 1) continue;
    const first = arrivals.get(rcpt) ?? 0;
    const death = diedAt.find((at) => at >= first) ?? first;
    oldest = Math.max(oldest, death - first);
  }
  return oldest;
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
