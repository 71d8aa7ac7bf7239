/** `npm run simulate -- --runs 5000 --seed 1`: simulated runs in a row; prints what a failing seed broke. */
import { parseArgs } from 'node:util';
import { runSeed } from './world.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed);
const runs = Number(values.runs);
const startedMs = performance.now();
let failed = 0;
let recipients = 0;
let virtualMs = 0;
for (let seed = first; seed < first + runs; seed++) {
  const t = performance.now();
  const result = await runSeed(seed);
  recipients += result.recipients;
  virtualMs += result.virtualMs;
  if (values.verbose)
    console.log(
      `${seed}: ${result.recipients} recipients, ${result.transactions} transactions, ${result.processes} processes, ${Math.round(result.virtualMs / 60_000)} min in ${Math.round(performance.now() - t)} ms ${result.digest}`,
    );
  if (result.wrong.length === 0) continue;
  failed += 1;
  console.log(`seed ${seed} fails; again with: npm run simulate -- --runs 1 --seed ${seed}`);
  for (const what of result.wrong.slice(0, 8)) console.log(`  ${what}`);
}
const seconds = (performance.now() - startedMs) / 1000;
console.log(
  `${runs} runs, ${failed} failed; ${recipients} recipients, ${(virtualMs / 86_400_000).toFixed(1)} simulated days in ${seconds.toFixed(1)} s`,
);
process.exitCode = failed === 0 ? 0 : 1;
