/**
 * `npm run simulate -- --runs 5000 --seed 1`: simulated runs in a row; prints what a failing seed broke. `--large` makes
 * every world a large one.
 * `npm run simulate -- --nodes --runs 200`: worlds of several nodes on one store.
 * `npm run simulate -- --nodes [--runs 100] [--seed 1] [--verbose]
npm run simulate -- --capacity [--sites 1000] [--recipients 1000000]`: one installation at full size; `--untroubled`
 * plays it with providers that behave, to compare with.
 */
import { parseArgs } from 'node:util';
import { runCapacity } from './capacity.ts';
import { capacityText } from './capacity-text.ts';
import { runNodesSeed } from './nodes-world.ts';
import { LARGE, planOf } from './plan.ts';
import { runPlan } from './world.ts';

const HELP = `The delivery engine on a virtual clock, in worlds made from seeds.

npm run simulate -- [--runs 100] [--seed 1] [--large] [--verbose]
npm run simulate -- --capacity [--sites 1000] [--recipients 1000000] [--untroubled]

A seed that breaks a promise is printed with the command that plays it again.
Example: npm run simulate -- --runs 5000 --seed 1000`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    large: { type: 'boolean', default: false },
    nodes: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    capacity: { type: 'boolean', default: false },
    sites: { type: 'string', default: '1000' },
    recipients: { type: 'string', default: '1000000' },
    untroubled: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const first = Number(values.seed);
process.exitCode = (await (values.capacity ? capacity() : worlds())) ? 0 : 1;

async function capacity(): Promise<boolean> {
  const result = await runCapacity({
    sites: Number(values.sites),
    recipients: Number(values.recipients),
    seed: first,
    troubled: !values.untroubled,
    progress: console.log,
  });
  for (const line of capacityText(result)) console.log(line);
  return result.wrong.length === 0;
}

async function worlds(): Promise<boolean> {
  const runs = Number(values.runs);
  const flag = values.nodes ? ' --nodes' : values.large ? ' --large' : '';
  const startedMs = performance.now();
  let failed = 0;
  let recipients = 0;
  let virtualMs = 0;
  for (let seed = first; seed < first + runs; seed++) {
    const t = performance.now();
    const result = values.nodes
      ? await runNodesSeed(seed)
      : await runPlan(values.large ? planOf(seed, LARGE) : planOf(seed));
    recipients += result.recipients;
    virtualMs += result.virtualMs;
    if (values.verbose) {
      const { transactions, digest } = result;
      const took = `${Math.round(result.virtualMs / 60_000)} min in ${Math.round(performance.now() - t)} ms`;
      console.log(
        `${seed}: ${result.recipients} recipients, ${transactions} transactions, ${result.processes} processes, ${took} ${digest}`,
      );
    }
    if (result.wrong.length === 0) continue;
    failed += 1;
    console.log(`seed ${seed} fails; again with: npm run simulate --${flag} --runs 1 --seed ${seed}`);
    for (const what of result.wrong.slice(0, 8)) console.log(`  ${what}`);
  }
  const { user, system } = process.cpuUsage();
  console.log(
    `${runs} runs, ${failed} failed; ${recipients} recipients, ${(virtualMs / 86_400_000).toFixed(1)} simulated days in ${((performance.now() - startedMs) / 1000).toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`,
  );
  return failed === 0;
}
