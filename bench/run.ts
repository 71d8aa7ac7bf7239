// `npm run bench`: measures this server and, where they are installed, Postfix and Haraka, in interleaved runs,
// and prints one Markdown table of medians on stdout (progress on stderr). Loopback only; it ends by itself and
// leaves nothing running; Ctrl-C stops the current run cleanly. Exit code 0, 1 where a product failed or lost
// mail, 2 for wrong usage.
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, release } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { makeBacklog } from './backlog.ts';
import { type BenchDatabase, openDatabases } from './database.ts';
import { type Figures, type Load, measure } from './measure.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { haraka } from './peers/haraka.ts';
import { postfix } from './peers/postfix.ts';
import { postrider } from './peers/postrider.ts';
import { makeCertificate } from './peers/settings.ts';
import { buildSlowFsync } from './slow-fsync.ts';
import { markdownTable, medianOf, type Row, summary, threadTable } from './table.ts';
import type { Peer } from './types.ts';

const TMPFS_MAGIC = 0x01021994;

/** Runs the benchmark; resolves with the exit code. */
async function main(args: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = readOptions(args);
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\nTry --help.`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (statfsSync(options.baseDir).type === TMPFS_MAGIC) {
    say(`--dir ${options.baseDir}: is in memory, where fsync costs nothing; name a folder on a disk`);
    return 2;
  }
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => interrupt.abort(new Error(`stopped by ${name}`)));
  }
  const baseDir = mkdtempSync(join(options.baseDir, 'postrider-bench-'));
  chmodSync(baseDir, 0o755);
  try {
    return await compare(options, baseDir, interrupt.signal);
  } finally {
    rmSync(baseDir, { recursive: true, force: true });
  }
}

async function compare(options: Options, baseDir: string, interrupted: AbortSignal): Promise<number> {
  const preload = options.slowFsyncMs > 0 ? await buildSlowFsync(options.slowFsyncMs, baseDir) : undefined;
  const databases = await openDatabases(options.databases, { baseDir, preload });
  try {
    return await compareOn(options, { baseDir, preload, interrupted, databases });
  } finally {
    for (const database of databases) await database.stop();
  }
}

interface Surroundings {
  baseDir: string;
  preload: string | undefined;
  interrupted: AbortSignal;
  databases: readonly BenchDatabase[];
}

async function compareOn(options: Options, around: Surroundings): Promise<number> {
  const { baseDir, preload, interrupted } = around;
  const peers = await peersOf(options, around);
  if (peers.length === 0) {
    say('nothing to measure');
    return 1;
  }
  const load: Load = {
    ...options,
    certificate: options.tls ? makeCertificate(baseDir) : undefined,
    baseDir,
    preload,
    interrupted,
    samplesDir: options.keepSamples ? join(import.meta.dirname, '.cache', 'samples') : undefined,
  };
  const results = new Map<Peer, Figures[]>(peers.map((peer) => [peer, []]));
  let trouble = false;
  const turns = options.together ? [peers] : peers.map((peer) => [peer]);
  for (let run = 1; run <= options.runs && !interrupted.aborted; run += 1) {
    for (const turn of turns) {
      if (interrupted.aborted) break;
      await Promise.all(turn.map((peer) => once(peer, `run ${run}/${options.runs} ${peer.name}`)));
    }
  }
  const rows: Row[] = [];
  for (const [peer, runs] of results)
    rows.push({ name: peer.name.replace(/^\w+/, `$& ${await peer.version()}`), runs });
  const compared = options.backlog > 0 ? shares(results) : options.together ? costs(results) : ratio(results);
  process.stdout.write(
    `${headline(options)}\n\n${markdownTable(rows, options)}${threadTable(rows)}${compared}`,
  );
  return trouble ? 1 : 0;

  async function once(peer: Peer, run: string): Promise<void> {
    try {
      const figures = await measure(peer, load);
      results.get(peer)?.push(figures);
      say(`${run}: ${summary(figures)}`);
      trouble ||= figures.lost > 0 || figures.failed > 0;
      const deliveries = options.messages * options.recipients;
      if (figures.signed !== (options.dkim ? deliveries : 0)) {
        say(
          `  warning: ${figures.signed} of ${deliveries} are signed, with${options.dkim ? '' : 'out'} --dkim`,
        );
      }
      if (figures.overTls !== (options.tls ? deliveries : 0)) {
        trouble = true;
        say(`  ${figures.overTls} of ${deliveries} came over TLS, with${options.tls ? '' : 'out'} --tls`);
      }
    } catch (error) {
      trouble = true;
      say(`${run}: FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

async function peersOf(options: Options, { baseDir, databases }: Surroundings): Promise<Peer[]> {
  if (options.backlog > 0) return withBacklog(options, baseDir);
  if (options.together) return [postrider(), ...others(options)];
  if (databases.length > 0) return variants(options.nodes, databases);
  return present(options);
}

/** Ours on each database with each number of processes. */
function variants(nodes: readonly number[], databases: readonly BenchDatabase[]): Peer[] {
  const counts = nodes.length > 0 ? nodes : [undefined];
  return databases.flatMap((database) =>
    counts.map((count) => {
      const of = count === undefined ? '' : `, ${count} ${count === 1 ? 'node' : 'nodes'}`;
      return postrider({ name: `postrider on ${database.name}${of}`, database, nodes: count });
    }),
  );
}

/** Ours with an empty queue and with one that is full. */
async function withBacklog({ backlog }: Options, baseDir: string): Promise<Peer[]> {
  say(`making a queue of ${backlog} recipients`);
  return [
    postrider(),
    postrider({ name: `postrider with ${backlog} queued`, backlog: await makeBacklog(baseDir, backlog) }),
  ];
}

/** The products that can run, in the order they take turns; the others are named on stderr with the reason. */
async function present(options: Options): Promise<Peer[]> {
  // Haraka always sends to port 25 of a site.
  const products = [postfix, ...(options.sites > 0 ? [] : [haraka])];
  const groupings = options.recipients > 1 ? (['alone', 'together'] as const) : [undefined];
  const all = [postrider(), ...products.flatMap((other) => groupings.map((grouping) => other(grouping)))];
  const product = ({ name }: Peer): string => name.split(',', 1).join().toLowerCase();
  const unknown = options.only?.filter((name) => !all.some((peer) => product(peer) === name)) ?? [];
  if (unknown.length > 0) say(`--only: unknown: ${unknown.join(', ')}`);
  const found: Peer[] = [];
  for (const peer of all) {
    if (options.only !== undefined && !options.only.includes(product(peer))) continue;
    const reason = await peer.missing();
    if (reason === undefined) found.push(peer);
    else say(`SKIPPED ${peer.name}: ${reason}`);
  }
  return [...found, ...others(options)];
}

/** Other versions of ours. */
function others({ against }: Options): Peer[] {
  return against.map((folder) =>
    postrider({ name: `postrider in ${basename(folder)}`, root: resolve(folder) }),
  );
}

function headline(options: Options): string {
  const load = options.oneAtATime ? 'one at a time' : `${options.connections} connections`;
  const extras = [
    options.dkim ? 'DKIM RSA-2048' : 'unsigned',
    ...(options.tls ? ['TLS on both sides'] : []),
    ...(options.door === 'smtp' ? ['ours by SMTP submission with a login, over TLS'] : []),
    ...(options.batch > 1 ? [`${options.batch} in a request`] : []),
    ...(options.slowFsyncMs > 0 ? [`fsync ≥ ${options.slowFsyncMs} ms`] : []),
    ...(options.sites > 0 ? [`${options.sites} sites`] : []),
    ...(options.delayMs > 0 ? [`far end ${options.delayMs} ms away`] : []),
    ...(options.chunking ? ['with CHUNKING'] : []),
    ...(options.together ? ['all at the same time'] : []),
    ...(options.logs ? ['mail logs on'] : []),
  ];
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, Linux ${release()}, Node ${process.versions.node}`;
  const to =
    options.recipients > 1 ? ` to ${options.recipients} recipients each (each recipient counts)` : '';
  return (
    `${options.messages} messages of ${options.bodyBytes} bytes${to}, ${load}, ${extras.join(', ')}; ` +
    `median of ${options.runs} interleaved runs, ${new Date().toISOString().slice(0, 10)}, ${machine}`
  );
}

/** How the first product stands against the better of the others; empty where there is nothing to compare. */
function ratio(results: ReadonlyMap<Peer, readonly Figures[]>): string {
  const rates = [...results]
    .filter(([, runs]) => runs.length > 0)
    .map(([peer, runs]) => ({ name: peer.name, rate: medianOf(runs.map((f) => f.deliveredPerS)) }));
  const own = rates.find(({ name }) => name === 'postrider');
  const best = rates
    .filter(({ name }) => !name.startsWith('postrider'))
    .toSorted((a, b) => b.rate - a.rate)[0];
  if (own === undefined || best === undefined) return '';
  return `\nDelivered/s against the better peer (${best.name}): ${(own.rate / best.rate).toFixed(2)}×\n`;
}

/** What is left of the rates of an empty queue when one is full. */
function shares(results: ReadonlyMap<Peer, readonly Figures[]>): string {
  const [empty, full] = [...results.values()];
  if (empty === undefined || full === undefined || empty.length === 0 || full.length === 0) return '';
  const share = (of: (figures: Figures) => number): string =>
    (medianOf(full.map(of)) / medianOf(empty.map(of))).toFixed(2);
  return `\nShare of the empty queue's: accepted/s ${share((f) => f.acceptedPerS)}, delivered/s ${share((f) => f.deliveredPerS)}\n`;
}

/** What each costs of the first, which was measured at the same time: the geometric mean of the runs. */
function costs(results: ReadonlyMap<Peer, readonly Figures[]>): string {
  const [first, ...rest] = [...results];
  if (first === undefined) return '';
  const lines = rest.map(([{ name }, runs]) => {
    const of = (cost: (figures: Figures) => number): string => {
      const ratios = runs.map((figures, i) => Math.log(cost(figures) / cost(first[1][i] ?? figures)));
      return Math.exp(ratios.reduce((sum, one) => sum + one, 0) / ratios.length).toFixed(3);
    };
    const thread = (of: string) => (figures: Figures) => figures.cost.threads.get(of) ?? Number.NaN;
    return `CPU of ${name}, of that of ${first[0].name} at the same time: ${of(({ cost }) => cost.per1000)} (main ${of(thread('main'))}, store writer ${of(thread('store writer'))})\n`;
  });
  return `\n${lines.join('')}`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

process.exit(await main(process.argv.slice(2)));
