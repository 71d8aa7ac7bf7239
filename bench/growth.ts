// `node bench/growth.ts [--most 1000000] [--messages 8000] [--warmup 25000] [--runs 2]`: whether a message costs the same however many wait in
// the queue. Measures ours with 1,000 recipients queued, ten times as many, and so on, in turn; prints a Markdown table and
// writes bench/growth-queued.svg. Cost is CPU in units of the load's source and sink, so that other work of the machine
// has less effect. Exit code 0, 1 where something was lost.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBacklog } from './backlog.ts';
import { type Figures, type Load, measure } from './measure.ts';
import { postrider } from './peers/postrider.ts';
import { plot } from './plot.ts';
import { medianOf } from './table.ts';

const FEWEST = 1_000;
/** How much a message may cost more or less than with the fewest. */
const FLAT_WITHIN = 0.15;

const { values } = parseArgs({
  options: {
    most: { type: 'string', default: '1000000' },
    messages: { type: 'string', default: '8000' },
    warmup: { type: 'string', default: '25000' },
    runs: { type: 'string', default: '2' },
  },
});

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

async function growth(): Promise<number> {
  const load: Load = {
    messages: Number(values.messages),
    warmup: Number(values.warmup),
    connections: 50,
    batch: 1,
    bodyBytes: 10 * 1024,
    dkim: false,
    delayMs: 0,
    chunking: false,
    oneAtATime: false,
    preload: undefined,
    logs: false,
    timeoutMs: 600_000,
    interrupted: interrupt.signal,
    baseDir,
    samplesDir: undefined,
  };
  const rows: { queued: number; runs: Figures[]; peer: ReturnType<typeof postrider> }[] = [];
  for (let queued = FEWEST; queued <= Number(values.most); queued *= 10) {
    const backlog = await makeBacklog(baseDir, queued);
    rows.push({ queued, runs: [], peer: postrider({ name: `postrider with ${queued} queued`, backlog }) });
  }
  for (let run = 0; run < Number(values.runs); run += 1)
    for (const { peer, runs } of rows) runs.push(await measure(peer, load));

  const points = rows.map(({ queued, runs }) => ({
    x: queued,
    y: medianOf(runs.map(({ cost }) => cost.per1000 / cost.farPer1000)),
  }));
  const first = points[0]?.y ?? Number.NaN;
  process.stdout.write(
    '| queued | CPU ÷ source and sink | of the first | idle MiB | peak MiB |\n| ---: | ---: | ---: | ---: | ---: |\n',
  );
  for (const [i, { queued, runs }] of rows.entries()) {
    const y = points[i]?.y ?? Number.NaN;
    const memory = (of: (figures: Figures) => number): string => medianOf(runs.map(of)).toFixed(0);
    process.stdout.write(
      `| ${queued} | ${y.toFixed(2)} | ${(y / first).toFixed(2)} | ${memory((f) => f.idleMiB)} | ${memory((f) => f.peakMiB)} |\n`,
    );
  }
  const svg = plot({
    title: 'CPU of a message, in units of the load’s source and sink',
    x: 'recipients queued',
    points,
    band: { from: first * (1 - FLAT_WITHIN), to: first * (1 + FLAT_WITHIN), name: '± 15 % of the first' },
  });
  writeFileSync(join(import.meta.dirname, 'growth-queued.svg'), svg);
  return rows.some(({ runs }) => runs.some(({ lost, failed }) => lost + failed > 0)) ? 1 : 0;
}
