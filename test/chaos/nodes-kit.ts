/**
 * Several real processes on one database that notice each other five times faster than in life (quick-node.ts; with
 * `FASTER=1` in the environment as in life), before a far end that counts what it takes. Given where the database is;
 * leaves processes, what was posted, and the comparison of both ends.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { type SinkOptions, type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { allEvents, timeline } from './reckoning.ts';
import { makeDataFolder, type ServerProcess, startServerProcess } from './server-process.ts';

const PROGRAM = join(import.meta.dirname, 'quick-node.ts');

/** Domains with mail servers of their own, at the same far end. */
export const SITES = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test', 'f.test'] as const;

export interface Nodes {
  sink: SmtpSink;
  /** `env`: further settings, with POSTRIDER_DATA one that is started again; `routing`: other sources than the one address that all share. */
  start(name: string, env?: Record<string, string>, routing?: object): Promise<ServerProcess>;
}

/** A far end behind one MX, and nodes that send to it. `database`: the settings of the environment that name it. */
export async function prepareNodes(options: {
  sink: SinkOptions;
  limit: number;
  database: Record<string, string>;
  /** Ends what was started, last first. */
  defer(end: () => unknown): void;
}): Promise<Nodes> {
  const { defer } = options;
  const sink = await startSmtpSink({ host: '127.17.0.1', ...options.sink });
  defer(() => sink.close());
  const dns = await createFakeDns({
    'example.net': { MX: ['mx.example.net'] },
    'mx.example.net': { A: ['127.17.0.1'] },
    ...Object.fromEntries(
      SITES.flatMap((site) => [
        [site, { MX: [`mx.${site}`] }],
        [`mx.${site}`, { A: ['127.17.0.1'] }],
      ]),
    ),
  });
  defer(() => dns.close());
  return {
    sink,
    async start(name, env = {}, routing = {}) {
      const data = env.POSTRIDER_DATA ?? (await ownFolder(defer));
      const sources = [{ id: 'nat', address: '127.0.0.1', shared: true }];
      await writeFile(join(data, 'postrider.json'), JSON.stringify({ sources, ...routing }));
      const server = await startServerProcess({
        data,
        program: PROGRAM,
        env: {
          ...options.database,
          FASTER: process.env.FASTER ?? '5',
          POSTRIDER_SECRET_KEY: '5e'.repeat(32),
          POSTRIDER_HOSTNAME: `${name}.sender.test`,
          POSTRIDER_ROUTE: 'mx',
          POSTRIDER_DNS: dns.text,
          POSTRIDER_MX_PORT: String(sink.port),
          POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
          POSTRIDER_MAX_CONNECTIONS: String(options.limit),
          POSTRIDER_RETRY: '200ms',
          ...env,
        },
      });
      defer(() => server.kill());
      return server;
    },
  };
}

async function ownFolder(defer: (end: () => unknown) => void): Promise<string> {
  const { path, remove } = await makeDataFolder();
  defer(remove);
  return path;
}

let posted = 0;

/** The message's id. */
export async function post(server: ServerProcess, domain = 'example.net'): Promise<string> {
  posted += 1;
  const body = {
    From: { email: 'sender@example.com' },
    To: [{ email: `reader-${posted}@${domain}` }],
    Subject: `message ${posted}`,
    // Of other mail one connection of the limit is kept free.
    Priority: 'critical',
    ContentType: 'Text',
    PlainContent: 'Hello',
  };
  const { MessageID } = await server.api<{ MessageID: string }>('/email', { method: 'POST', body });
  return MessageID;
}

export async function postMany(servers: readonly ServerProcess[], count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const server = servers[i % servers.length];
    if (server !== undefined) ids.push(await post(server));
  }
  return ids;
}

/** Epoch of the node that holds a lease to send, as `server` shows it, or null. */
export async function senderOf(server: ServerProcess): Promise<number | null> {
  const { Items } = await server.api<{ Items: { Epoch: number; Status: string; Leases: string[] }[] }>(
    '/nodes',
  );
  const holder = Items.find(({ Leases }) => Leases.some((name) => name.startsWith('send ')));
  return holder?.Epoch ?? null;
}

/** What the node has said last of its epoch. */
export function epochOf(server: ServerProcess): number {
  const said = server.lines.findLast(({ epoch, ended, msg }) => {
    return typeof epoch === 'number' && (msg === 'started' || typeof ended === 'number');
  });
  return Number(said?.epoch);
}

/** The id in the headers of a message, as the far end got it. */
export function idOf(data: Buffer): string {
  return /^Message-ID: <([^@>]+)@/im.exec(data.toString('latin1'))?.[1] ?? '';
}

/**
 * Both ends: everything acknowledged was delivered once, and a second copy comes only with its mark. How many came twice.
 * `unanswered`: posts without an answer, of which some may have been stored.
 */
export async function bothEndsAgree(
  server: ServerProcess,
  sink: SmtpSink,
  ids: readonly string[],
  unanswered = 0,
): Promise<number> {
  const events = await allEvents(server);
  const delivered = events.filter(({ kind }) => kind === 'delivered').map(({ messageId }) => messageId);
  if (unanswered === 0) expect(delivered.toSorted()).toEqual(ids.toSorted());
  expect(new Set(delivered).size).toBe(delivered.length);
  expect(ids.filter((id) => !delivered.includes(id))).toEqual([]);
  expect(delivered.length).toBeLessThanOrEqual(ids.length + unanswered);
  const copies = new Map<string, number>();
  for (const { data } of sink.messages) {
    const id = idOf(data);
    copies.set(id, (copies.get(id) ?? 0) + 1);
  }
  expect([...copies.keys()].toSorted()).toEqual(delivered.toSorted());
  let twice = 0;
  for (const [id, count] of copies) {
    if (count === 1) continue;
    twice += 1;
    const [told] = (await timeline(server, id)).filter(({ Event }) => Event === 'delivered');
    expect(told?.PossibleDuplicate).toBe(true);
  }
  return twice;
}
