/**
 * `npm run simulate -- --runs 5000 --seed 1`: simulated runs in a row; prints what a failing seed broke. `--large` makes
 * every world a large one.
 * `npm run simulate -- --nodes --runs 200`: worlds of several nodes on one store; `--returns`: in which mail returns to them;
 * `--webhooks`: of nodes that call webhooks.
 * `npm run simulate -- --capacity [--sites 1000] [--recipients 1000000]`: one installation at full size; `--untroubled`
 * plays it with providers that behave, to compare with.
 */
import { parseArgs } from 'node:util';
import { runCapacity } from './capacity.ts';
import { capacityText } from './capacity-text.ts';
import { runNodesSeed } from './nodes-world.ts';
import { LARGE, planOf } from './plan.ts';
import { runWebhooksSeed } from './webhooks-world.ts';
import { type RunResult, runPlan } from './world.ts';

const HELP = `The delivery engine on a virtual clock, in worlds made from seeds.

npm run simulate -- [--runs 100] [--seed 1] [--large | --nodes | --returns | --webhooks] [--verbose]
npm run simulate -- --capacity [--sites 1000] [--recipients 1000000] [--untroubled]

A seed that breaks a promise is printed with the command that plays it again.
Example: npm run simulate -- --runs 5000 --seed 1000`;

interface Played {
  wrong: readonly string[];
  virtualMs: number;
  count: number;
  /** What else a line tells. */
  more: string;
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    large: { type: 'boolean', default: false },
    nodes: { type: 'boolean', default: false },
    returns: { type: 'boolean', default: false },
    webhooks: { type: 'boolean', default: false },
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

/** A kind of world: its flag, what of a run is counted, and a run. */
function chosen(): { flag: string; counts: string; play(seed: number): Promise<Played> } {
  if (values.webhooks) return { flag: ' --webhooks', counts: 'calls', play: playWebhooks };
  const recipients = (flag: string, run: (seed: number) => Promise<RunResult>) => ({
    flag,
    counts: 'recipients',
    async play(seed: number): Promise<Played> {
      const { wrong, virtualMs, recipients: count, transactions, processes, digest } = await run(seed);
      return {
        wrong,
        virtualMs,
        count,
        more: `${transactions} transactions, ${processes} processes, ${digest}`,
      };
    },
  });
  if (values.returns) return recipients(' --returns', (seed) => runNodesSeed(seed, null, true));
  if (values.nodes) return recipients(' --nodes', (seed) => runNodesSeed(seed));
  if (values.large) return recipients(' --large', (seed) => runPlan(planOf(seed, LARGE)));
  return recipients('', (seed) => runPlan(planOf(seed)));
}

async function playWebhooks(seed: number): Promise<Played> {
  const { wrong, virtualMs, calls, events, processes } = await runWebhooksSeed(seed);
  return { wrong, virtualMs, count: calls, more: `${events} events, ${processes} processes` };
}

async function worlds(): Promise<boolean> {
  const { flag, counts, play } = chosen();
  const runs = Number(values.runs);
  const startedMs = performance.now();
  let failed = 0;
  let counted = 0;
  let virtualMs = 0;
  for (let seed = first; seed < first + runs; seed++) {
    const t = performance.now();
    const result = await play(seed);
    counted += result.count;
    virtualMs += result.virtualMs;
    if (values.verbose) {
      const took = `${Math.round(result.virtualMs / 60_000)} min in ${Math.round(performance.now() - t)} ms`;
      console.log(`${seed}: ${result.count} ${counts}, ${result.more}, ${took}`);
    }
    if (result.wrong.length === 0) continue;
    failed += 1;
    console.log(`seed ${seed} fails; again with: npm run simulate --${flag} --runs 1 --seed ${seed}`);
    for (const what of result.wrong.slice(0, 8)) console.log(`  ${what}`);
  }
  const { user, system } = process.cpuUsage();
  console.log(
    `${runs} runs, ${failed} failed; ${counted} ${counts}, ${(virtualMs / 86_400_000).toFixed(1)} simulated days in ${((performance.now() - startedMs) / 1000).toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`,
  );
  return failed === 0;
}
