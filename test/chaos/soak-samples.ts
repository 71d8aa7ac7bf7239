/** Memory, handles and files of a process, measured from outside (Linux), and whether they grew during a long run. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sample {
  /** Memory of its own (anonymous), MiB. */
  memoryMiB: number;
  /** Open files and sockets. */
  handles: number;
  spoolFiles: number;
  /** The write-ahead log, MiB. */
  walMiB: number;
  /** Recipients that wait or are being sent; -1 = it did not answer. */
  waiting: number;
}

const MIB = 1024 * 1024;
/** A level may be so many times what it was in the first part of the run. */
const MOST_GROWTH = 1.15;
/** Shorter runs are all warm-up and say nothing about growth: five minutes. */
const LEAST_SAMPLES = 60;
/** Less than this is no growth: MiB of memory, handles, files of the spool, MiB of log. */
const SLACK = { memoryMiB: 20, handles: 40, spoolFiles: 50, walMiB: 16 } as const;

/** Looks at a running process and its data folder. */
export async function sampleProcess(pid: number, data: string): Promise<Omit<Sample, 'waiting'>> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const anonymousKb = Number(/^Anonymous:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
  const wal = await stat(join(data, 'postrider.db-wal')).catch(() => null);
  return {
    memoryMiB: anonymousKb / 1024,
    handles: (await readdir(`/proc/${pid}/fd`)).length,
    spoolFiles: await filesUnder(join(data, 'spool')),
    walMiB: (wal?.size ?? 0) / MIB,
  };
}

/** Medians of the first part after the start-up and of the last part, and what of them grew; nothing in a short run. */
export function grown(samples: readonly Sample[]): {
  first: Sample;
  last: Sample;
  most: Sample;
  wrong: string[];
} {
  const part = Math.max(1, Math.floor(samples.length / 4));
  // The first quarter is the warm-up: caches and compiled code come to their size.
  const first = medians(samples.slice(part, 2 * part));
  const last = medians(samples.slice(-part));
  const wrong: string[] = [];
  if (samples.length < LEAST_SAMPLES)
    return { first, last, most: each(samples, (all) => Math.max(...all)), wrong };
  for (const what of ['memoryMiB', 'handles', 'spoolFiles', 'walMiB'] as const) {
    if (last[what] > first[what] * MOST_GROWTH + SLACK[what]) {
      wrong.push(`${what} grew from ${first[what].toFixed(1)} to ${last[what].toFixed(1)}`);
    }
  }
  return { first, last, most: each(samples, (all) => Math.max(...all)), wrong };
}

/** One line for the minute that has just ended. */
export function minuteLine(samples: readonly Sample[], taken: number, asked: number): string {
  const { memoryMiB, handles, spoolFiles, walMiB, waiting } = medians(samples.slice(-12));
  return (
    `minute ${Math.round(samples.length / 12)}: ${asked} sent, ${taken} copies taken, ${waiting} waiting; ` +
    `${memoryMiB.toFixed(0)} MiB, ${handles} handles, ${spoolFiles} files in the spool, log ${walMiB.toFixed(1)} MiB`
  );
}

function medians(samples: readonly Sample[]): Sample {
  return each(samples, (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0);
}

function each(samples: readonly Sample[], of: (values: number[]) => number): Sample {
  const pick = (what: keyof Sample) => of(samples.map((sample) => sample[what]));
  return {
    memoryMiB: pick('memoryMiB'),
    handles: pick('handles'),
    spoolFiles: pick('spoolFiles'),
    walMiB: pick('walMiB'),
    waiting: pick('waiting'),
  };
}

async function filesUnder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).length;
}
