/**
 * `simulate` simulates a plan of days or weeks in minutes: the delivery engine on a virtual clock, with mail servers
 * in memory. Nothing is sent, and no server is needed. The simulation is loaded only here, because few commands need
 * it.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { DATA_FILES } from '../lib/data-files.ts';
import { whyNot } from '../lib/why-not.ts';
import type { EngineKeys } from '../simulation/plan/plan.ts';
import type { OwnConfig } from '../simulation/plan/read-plan.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { FORCE, readText, refuseExisting, writeText } from './files.ts';
import { withProgress } from './progress.ts';
import { CommandError, UsageError } from './terminal.ts';

interface Options {
  example?: string | true;
  config?: true;
  html?: string;
  force?: boolean;
  sample: string;
  exact?: true;
}

const USUAL_SAMPLE = 100_000;
const MOST_SAMPLE = 10_000_000;
const DAY_MS = 86_400_000;

export const simulateCommand: CommandGroup = (program) => {
  program
    .command('simulate [plan]')
    .description(
      'simulate the delivery of a planned volume: when it is done, what waits and why, connections, memory',
    )
    .option('--example [name]', 'print a plan to begin with: relays, warmup or faults')
    .option(
      '--config',
      'use the routes, sources and limits of postrider.json and shaping.json in the data folder',
    )
    .option('--html <file>', 'also write a page with charts')
    .option(...FORCE)
    .option('--sample <number>', 'recipients to simulate at most', String(USUAL_SAMPLE))
    .option('--exact', 'simulate every recipient')
    .apart('--exact', '--sample')
    .apart('--example', '--config', '--html', '--sample', '--exact')
    .example(
      'postrider simulate --example faults > plan.json',
      'postrider simulate plan.json --html plan.html',
    )
    .runs(async (ctx, file: string | undefined, options: Options) => {
      if (options.example !== undefined && file !== undefined) {
        throw new UsageError('give a plan, or --example, not both');
      }
      if (options.example !== undefined) return printExample(ctx, options.example);
      if (file === undefined) throw new UsageError('name a plan; --example prints one');
      const sample = /^[0-9]{1,8}$/.test(options.sample) ? Number(options.sample) : 0;
      if (sample < 1 || sample > MOST_SAMPLE)
        throw new UsageError(`--sample is a whole number from 1 to ${MOST_SAMPLE}`);
      await run(ctx, file, options, options.exact === true ? Number.POSITIVE_INFINITY : sample);
    });
};

async function printExample(ctx: CommandContext, name: string | true): Promise<void> {
  const { EXAMPLES, exampleText } = await import('../simulation/plan/examples.ts');
  const names = Object.keys(EXAMPLES) as (keyof typeof EXAMPLES)[];
  const found = names.find((one) => one === (name === true ? 'faults' : name));
  if (found === undefined) throw new UsageError(`--example ${name}: the plans are ${names.join(', ')}`);
  ctx.terminal.stdout.write(`${exampleText(found)}\n`);
}

async function run(ctx: CommandContext, file: string, options: Options, most: number): Promise<void> {
  const { readPlan } = await import('../simulation/plan/read-plan.ts');
  const text = (await readText(file)) ?? '';
  const read = readPlan(text, file, options.config === true ? await ownConfig(ctx) : null);
  if (read.kind === 'refused') throw new UsageError(read.problems.join('\n'));
  // Found out before minutes of work.
  if (options.html !== undefined) {
    await refuseExisting(options.html, options.force);
    await writeText(options.html, '', 'a');
  }
  const { simulate } = await import('../simulation/simulate.ts');
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    const forecast = await withProgress(ctx.terminal, 'recipients', (progress) =>
      simulate(read.plan, { most, clock: systemClock, signal: stopping.signal, progress }),
    );
    if (options.html !== undefined) {
      const { forecastPage } = await import('../simulation/forecast-page.ts');
      await writeText(options.html, forecastPage(forecast));
    }
    const { forecastJson } = await import('../simulation/forecast-json.ts');
    const { forecastText } = await import('./simulate-text.ts');
    ctx.print(forecastJson(forecast), forecastText(forecast, ctx.terminal.stdout));
    if (forecast.interrupted) ctx.fail();
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

async function ownConfig(ctx: CommandContext): Promise<OwnConfig> {
  const { config, routing } = loadConfig('serve', ctx.flags, ctx.terminal.environment);
  // A misspelt folder must not give the forecast of the default settings.
  if (!existsSync(config.data))
    throw new CommandError(`there is no folder ${config.data}; name the one with postrider.json with --data`);
  const { readOperatorRows } = await import('../policy/limits/shaping/shaping.ts');
  const file = join(config.data, DATA_FILES.shaping);
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return '[]';
    throw new CommandError(`${file} cannot be read: ${whyNot(cause)}`);
  });
  const read = readOperatorRows(text, file, new Set(routing.sources.map(({ id }) => id)));
  if (read.kind === 'refused') throw new UsageError(read.problems.join('\n'));
  const keys: EngineKeys = {
    maxConnections: config['max-connections'],
    transactionsInFlight: config['transactions-in-flight'],
    retry: config.retry,
    maxAgeMs: config['max-age'],
    queueLimit: config['queue-limit'],
  };
  const startAt = Math.floor(systemClock.now() / DAY_MS) * DAY_MS;
  return { targets: config.route, routing, limits: read.rows, keys, startAt };
}
