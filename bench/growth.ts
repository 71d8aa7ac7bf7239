// `node bench/growth.ts [--sites] [--most N] [--messages 8000] [--warmup 25000] [--runs 2]`: whether a message costs the same however many
// wait in the queue, or, with --sites, however many sites the mail goes to. Measures ours with few, ten times as many, and so on, in turn;
// prints a Markdown table and writes bench/growth-queued.svg or growth-sites.svg. Cost is CPU in units of the load's source and sink,
// so that other work of the machine has less effect. Exit code 0, 1 where something was lost.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBacklog } from './backlog.ts';
import { type Figures, type Load, measure, PLAIN_LOAD } from './measure.ts';
import { postrider } from './peers/postrider.ts';
import { plot } from './plot.ts';
import { medianOf } from './table.ts';

/** How much a message may cost more or less than with the fewest. */
const FLAT_WITHIN = 0.15;

const { values } = parseArgs({
  options: {
    sites: { type: 'boolean', default: false },
    most: { type: 'string' },
    messages: { type: 'string', default: '8000' },
    warmup: { type: 'string', default: '25000' },
    runs: { type: 'string', default: '2' },
  },
});
/** What grows, from the fewest to the most. */
const GROWTH = values.sites
  ? { file: 'growth-sites.svg', column: 'sites', axis: 'receiving sites', fewest: 5, most: 5_000 }
  : {
      file: 'growth-queued.svg',
      column: 'queued',
      axis: 'recipients queued',
      fewest: 1_000,
      most: 1_000_000,
    };

const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => interrupt.abort(new Error(`stopped by ${name}`)));
}
const baseDir = mkdtempSync('/var/tmp/postrider-growth-');
try {
  process.exitCode = await growth();
} finally {
  rmSync(baseDir, { recursive: true, force: true });
}

/** Ours with so many of what grows. */
async function rowOf(count: number, load: Load) {
  const name = `postrider with ${count} ${GROWTH.column}`;
  const runs: Figures[] = [];
  if (values.sites) return { count, runs, peer: postrider({ name }), load: { ...load, sites: count } };
  return { count, runs, peer: postrider({ name, backlog: await makeBacklog(baseDir, count) }), load };
}

async function growth(): Promise<number> {
  const common: Load = {
    ...PLAIN_LOAD,
    messages: Number(values.messages),
    warmup: Number(values.warmup),
    bodyBytes: 10 * 1024,
    timeoutMs: 600_000,
    interrupted: interrupt.signal,
    baseDir,
  };
  const rows: Awaited<ReturnType<typeof rowOf>>[] = [];
  for (let count = GROWTH.fewest; count <= Number(values.most ?? GROWTH.most); count *= 10)
    rows.push(await rowOf(count, common));
  for (let run = 0; run < Number(values.runs); run += 1)
    for (const { peer, runs, load } of rows) runs.push(await measure(peer, load));

  const points = rows.map(({ count, runs }) => ({
    x: count,
    y: medianOf(runs.map(({ cost }) => cost.per1000 / cost.farPer1000)),
  }));
  const first = points[0]?.y ?? Number.NaN;
  const columns = [
    GROWTH.column,
    'delivered/s',
    'CPU s/1000',
    'CPU ÷ source and sink',
    'of the first',
    'idle MiB',
    'peak MiB',
  ];
  process.stdout.write(`| ${columns.join(' | ')} |\n|${' ---: |'.repeat(columns.length)}\n`);
  for (const [i, { count, runs }] of rows.entries()) {
    const y = points[i]?.y ?? Number.NaN;
    const median = (of: (figures: Figures) => number): number => medianOf(runs.map(of));
    const cells = [
      count,
      median((f) => f.deliveredPerS).toFixed(0),
      median((f) => f.cost.per1000).toFixed(3),
      y.toFixed(2),
      (y / first).toFixed(2),
      median((f) => f.idleMiB).toFixed(0),
      median((f) => f.peakMiB).toFixed(0),
    ];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
  const svg = plot({
    title: 'CPU of a message, in units of the load’s source and sink',
    x: GROWTH.axis,
    points,
    band: { from: first * (1 - FLAT_WITHIN), to: first * (1 + FLAT_WITHIN), name: '± 15 % of the first' },
  });
  writeFileSync(join(import.meta.dirname, GROWTH.file), svg);
  return rows.some(({ runs }) => runs.some(({ lost, failed }) => lost + failed > 0)) ? 1 : 0;
}
