/**
 * Several nodes on one PostgreSQL under load, while one trouble after the other befalls a node, its connection or the
 * database: killed, paused longer than its lease, started again in order, its sessions ended, the network between swallowing
 * everything, the database stopped at once or in order. Nodes notice each other five times faster than in life (`FASTER=1`: as
 * in life). Given the time, the nodes and a seed that draws the troubles; leaves the figures, or throws where both ends differ.
 */
import { setTimeout as rest } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../src/store/postgres/test-cluster.ts';
import { proxyTo, type TestProxy } from '../../src/store/postgres/test-proxy.ts';
import { runSql } from '../postgres/databases.ts';
import { seeded } from './campaign.ts';
import { type Posted, post, postAgain } from './load.ts';
import { prepareNodes, SITES } from './nodes-kit.ts';
import { reckon } from './reckoning.ts';
import { addDomain, makeDataFolder, queueEmpty, type ServerProcess, until } from './server-process.ts';

export interface NodesOptions {
  nodes: number;
  minutes: number;
  seed: number;
  posters: number;
  progress(line: string): void;
}

export interface NodesFigures {
  seconds: number;
  troubles: Readonly<Record<Trouble, number>>;
  messages: number;
  recipients: number;
  /** Answers that were no 200, and requests without one; each was asked again under its key. */
  askedAgain: number;
  /** Between two acceptances, ms. */
  longestPauseMs: number;
  duplicates: number;
  flagged: number;
}

const TROUBLES = [
  'kill',
  'pause',
  'restart',
  'sessions',
  'swallow',
  'database-stop',
  'database-crash',
] as const;
export type Trouble = (typeof TROUBLES)[number];

/** Of quiet before a trouble. */
const QUIET_MS = [5_000, 15_000] as const;
/** Longer than a node may be silent: 30 s in life. */
const SILENT_MS = 60_000 / Number(process.env.FASTER ?? 5);
const DATABASE_AWAY_MS = 5_000;
/** A poster rests between its messages, so that an hour's events can be counted. */
const PACE_MS = 250;

interface Node {
  name: string;
  folder: string;
  proxy: TestProxy;
  server: ServerProcess;
}

export async function runNodesCampaign(options: NodesOptions): Promise<NodesFigures> {
  const cleanups: (() => unknown)[] = [];
  const defer = (end: () => unknown): void => void cleanups.push(end);
  try {
    return await play(options, defer);
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

async function play(options: NodesOptions, defer: (end: () => unknown) => void): Promise<NodesFigures> {
  const { progress } = options;
  const draw = seeded(options.seed);
  // The first numbers of neighbouring seeds are alike.
  for (let i = 0; i < 8; i++) draw();
  const cluster = await startCluster({ settings: { autovacuum: 'on' } });
  defer(() => cluster.remove());
  const { sink, start } = await prepareNodes({ sink: {}, limit: 20, database: {}, defer });
  const nodes: Node[] = [];
  for (let n = 1; n <= options.nodes; n++) {
    const proxy = await proxyTo(cluster.url);
    const folder = await makeDataFolder();
    defer(() => proxy.close());
    defer(folder.remove);
    const name = `node${n}`;
    const server = await start(name, { POSTRIDER_DATABASE: proxy.url, POSTRIDER_DATA: folder.path });
    nodes.push({ name, folder: folder.path, proxy, server });
  }
  const [first] = nodes;
  if (first === undefined) throw new RangeError('There is no node');
  await addDomain(first.server);

  const startedMs = performance.now();
  const load = startPosters(nodes, first.server.token, options);
  const troubles = Object.fromEntries(TROUBLES.map((trouble) => [trouble, 0])) as Record<Trouble, number>;
  while (performance.now() - startedMs < options.minutes * 60_000) {
    await rest(QUIET_MS[0] + draw() * (QUIET_MS[1] - QUIET_MS[0]));
    const trouble = pick(TROUBLES, draw);
    const node = pick(nodes, draw);
    const atMs = performance.now();
    await suffer(trouble, node, cluster, async () => {
      const env = { POSTRIDER_DATABASE: node.proxy.url, POSTRIDER_DATA: node.folder };
      node.server = await start(node.name, env);
    });
    for (const each of nodes) await isWell(each.server);
    troubles[trouble] += 1;
    const tookMs = Math.round(performance.now() - atMs);
    progress(
      `${Math.round((performance.now() - startedMs) / 1000)} s: ${trouble} ${node.name}, all well after ${tookMs} ms; ${load.acknowledged()} acknowledged`,
    );
  }
  const books = await load.stop();
  await queueEmpty(first.server, 120_000);
  const figures = await reckon(first.server, sink, books);
  if (figures.acknowledged !== books.length) throw new Error('not every request was answered in the end');
  if (figures.final.delivered !== figures.recipients)
    throw new Error(`final states: ${JSON.stringify(figures.final)} of ${figures.recipients}`);
  for (const { name, server } of nodes) {
    const { code, signal } = await server.terminate();
    if (code !== 0) throw new Error(`${name} ended with ${code ?? signal}`);
  }
  const { messages, recipients, duplicates, flagged } = figures;
  return {
    seconds: Math.round((performance.now() - startedMs) / 1000),
    ...{ troubles, messages, recipients, duplicates, flagged },
    askedAgain: load.askedAgain(),
    longestPauseMs: Math.round(load.longestPauseMs()),
  };
}

/** Resolves when the trouble is over; `again` starts the node on its folder. */
async function suffer(
  trouble: Trouble,
  { server, proxy }: Node,
  cluster: TestCluster,
  again: () => Promise<void>,
): Promise<void> {
  switch (trouble) {
    case 'kill':
      await server.kill();
      return again();
    case 'restart': {
      const { code, signal } = await server.terminate();
      if (code !== 0) throw new Error(`a node that was told to stop ended with ${code ?? signal}`);
      return again();
    }
    case 'pause':
      process.kill(server.pid, 'SIGSTOP');
      await rest(SILENT_MS);
      process.kill(server.pid, 'SIGCONT');
      return;
    case 'swallow':
      proxy.swallow();
      await rest(SILENT_MS);
      proxy.resume();
      return;
    case 'sessions':
      // In the middle of whatever they do.
      await runSql(
        cluster.url,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      );
      return;
    case 'database-stop':
    case 'database-crash':
      await cluster.stop(trouble === 'database-stop' ? 'fast' : 'immediate');
      await rest(DATABASE_AWAY_MS);
      return cluster.start();
  }
}

async function isWell(server: ServerProcess): Promise<void> {
  await until('a node is well again', 60_000, async () => {
    const answer = await server.get('/healthz').catch(() => null);
    return answer?.status === 200;
  });
}

/** Posters that go round the nodes, and ask again elsewhere under the same key until the answer is 200. */
function startPosters(nodes: readonly Node[], token: string, options: NodesOptions) {
  const books: Posted[] = [];
  let stopping = false;
  let next = 0;
  let again = 0;
  let lastMs = performance.now();
  let longestMs = 0;
  const target = (turn: number) => ({ url: nodes[turn % nodes.length]?.server.url ?? '', token });
  const poster = async (own: number): Promise<void> => {
    for (let turn = own; !stopping; turn++) {
      const key = `s${options.seed}-${next++}`;
      const recipients = [`${key}@${SITES[turn % SITES.length]}`];
      let answer = await post(target(turn), { key, recipients, answerMs: 5_000 });
      while (answer.status !== 200) {
        again += 1;
        turn += 1;
        await rest(100);
        answer = await postAgain(target(turn), answer);
      }
      books.push(answer);
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
      await rest(PACE_MS);
    }
  };
  const loops = Promise.all(Array.from({ length: options.posters }, (_, i) => poster(i)));
  // Told by `stop`.
  loops.catch(() => undefined);
  return {
    acknowledged: () => books.length,
    askedAgain: () => again,
    longestPauseMs: () => longestMs,
    async stop() {
      stopping = true;
      await loops;
      return books;
    },
  };
}

function pick<Item>(from: readonly Item[], draw: () => number): Item {
  const item = from[Math.floor(draw() * from.length)];
  if (item === undefined) throw new RangeError('There is nothing to draw from');
  return item;
}
