// The command line of the benchmark: which options there are, their defaults and their help. Wrong usage ends
// with a sentence that names the option, the value and what is allowed.
import { parseArgs } from 'node:util';
import { isPostgresUrl } from '../src/lib/postgres-url.ts';
import type { Door } from './types.ts';

/** What the user asked for. */
export type Options = {
  readonly dkim: boolean;
  readonly bodyBytes: number;
  readonly messages: number;
  /** undefined = as each product needs. */
  readonly warmup: number | undefined;
  readonly connections: number;
  /** Messages in a request to ours. */
  readonly batch: number;
  /** Of each message. */
  readonly recipients: number;
  /** TLS towards the injector and the sink. */
  readonly tls: boolean;
  /** How ours takes mail in. */
  readonly door: Door['kind'];
  readonly runs: number;
  readonly only: readonly string[] | undefined;
  /** Folders of other versions of ours. */
  readonly against: readonly string[];
  /** They are measured at the same time, and nothing else. */
  readonly together: boolean;
  readonly oneAtATime: boolean;
  readonly slowFsyncMs: number;
  /** Receiving sites, found by MX; 0 = everything through one relay. */
  readonly sites: number;
  readonly delayMs: number;
  /** The far end offers CHUNKING. */
  readonly chunking: boolean;
  /** Recipients that wait in the queue of a second row of ours; 0 = there is none. */
  readonly backlog: number;
  /** Where ours stores, a row each: `sqlite`, `postgres`, or the URL of a PostgreSQL whose role may create databases. */
  readonly databases: readonly string[];
  /** How many processes of ours share one database, a row each; empty = one, without sources. */
  readonly nodes: readonly number[];
  readonly timeoutMs: number;
  readonly baseDir: string;
  readonly logs: boolean;
  readonly keepSamples: boolean;
  readonly help: boolean;
};

/** Printed by --help. */
export const HELP = `npm run bench -- [options]

Measures postrider, and Postfix and Haraka where they are installed, on this machine: messages go in over
HTTP or SMTP, are made durable, and are delivered to a local SMTP sink. Prints one Markdown table of medians.

  --dkim             sign with RSA-2048 (opendkim for Postfix, its plugin for Haraka)
  --size 10k|100k    bytes of text in a message (k = 1024; any number)        default 10k
  --messages N       measured messages a run                                  default 10000; 1000 one at a time
                     or with several recipients
  --warmup N         messages before them; from 16000 deliveries on their CPU is a column
                     default 25000 deliveries where the product compiles while it runs (ours, Haraka), else 500
  --connections N    parallel connections of the injector                     default 50
  --batch N          messages in a request to ours, by POST /email/batch       default 1
  --recipients N     recipients of each message, up to 100; each counts        default 1
                     Postfix and Haraka twice: one recipient a transaction, recipients together
  --tls              TLS on both sides: HTTPS, or SMTP that begins with TLS; the sink offers STARTTLS
  --door http|smtp   how the load comes in to ours; smtp: with a login, so     default http
                     over TLS, also without --tls
  --runs K           runs of each product, interleaved; the median is printed default 3
  --only A,B         only these: postrider, postfix, haraka
  --against FOLDER   another clone or package of ours, measured in turn with this one
  --together         with --against: all versions of ours at the same time, each with a load of its own,
                     and what their CPU is of the first one's; the load of the machine is the same for all
  --one-at-a-time    latency: the next message only when the last one is at the sink
  --slow-fsync MS    every fsync takes at least this long (a preloaded library, needs gcc)
  --sites N          to N sites in turn instead of through one relay; without Haraka
  --delay-ms MS      the far end answers this much later (a round trip away)
  --chunking         the far end offers CHUNKING
  --backlog N        ours alone, once with an empty queue and once with N recipients waiting in it (1000000)
  --database A,B     ours alone, once on each: sqlite, postgres (a server is started from Debian's programs),
                     postgres://… (a role that may create databases; its CPU is not known)
  --nodes 1,2        ours alone, once with so many processes on one database, each sends from its own address,
                     with 5 connections: with --delay-ms 100 the distance limits it, not the machine
  --timeout S        limit for one run's load                                 default 300
  --dir FOLDER       where the products keep their queues; a real disk         default /var/tmp
  --logs             let the products write their mail logs (dropped otherwise)
  --keep-samples     leave the first delivered header of each in bench/.cache/samples
  --help

Example: three interleaved runs of all three, signed, as on a disk whose fsync takes 2 ms
  npm run bench -- --dkim --slow-fsync 2 --messages 5000
Example: does a change cost less? 1 % is seen, because both run in the same seconds
  npm run bench -- --against ../before --together --connections 25 --messages 8000 --runs 4
Example: 50 recipients a message, over TLS, all by SMTP
  npm run bench -- --recipients 50 --tls --door smtp --messages 500
`;

/** Reads the arguments; throws an Error with one sentence for the user where they are wrong. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: {
      dkim: { type: 'boolean', default: false },
      size: { type: 'string', default: '10k' },
      messages: { type: 'string' },
      warmup: { type: 'string' },
      connections: { type: 'string', default: '50' },
      batch: { type: 'string', default: '1' },
      recipients: { type: 'string', default: '1' },
      tls: { type: 'boolean', default: false },
      door: { type: 'string', default: 'http' },
      runs: { type: 'string', default: '3' },
      only: { type: 'string' },
      against: { type: 'string', multiple: true, default: [] },
      together: { type: 'boolean', default: false },
      'one-at-a-time': { type: 'boolean', default: false },
      'slow-fsync': { type: 'string', default: '0' },
      sites: { type: 'string', default: '0' },
      'delay-ms': { type: 'string', default: '0' },
      chunking: { type: 'boolean', default: false },
      backlog: { type: 'string', default: '0' },
      database: { type: 'string' },
      nodes: { type: 'string' },
      timeout: { type: 'string', default: '300' },
      dir: { type: 'string', default: '/var/tmp' },
      logs: { type: 'boolean', default: false },
      'keep-samples': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const oneAtATime = values['one-at-a-time'];
  const recipients = whole('recipients', values.recipients, 1, 100);
  const batch = whole('batch', values.batch, 1, 100);
  const fewer = oneAtATime || recipients > 1;
  if (oneAtATime && recipients > 1) throw wrong('recipients', values.recipients, '1 with --one-at-a-time');
  if (values.door !== 'http' && values.door !== 'smtp') throw wrong('door', values.door, 'http or smtp');
  if (values.together && values.against.length === 0)
    throw new Error('--together compares versions of ours: name the others by --against FOLDER');
  if (values.door === 'smtp' && batch > 1) throw wrong('batch', values.batch, '1 with --door smtp');
  return {
    dkim: values.dkim,
    bodyBytes: bytes('size', values.size),
    messages: whole('messages', values.messages ?? (fewer ? '1000' : '10000'), 1, 10_000_000),
    warmup: values.warmup === undefined ? undefined : whole('warmup', values.warmup, 0, 1_000_000),
    connections: whole('connections', values.connections, 1, 2_000),
    batch,
    recipients,
    tls: values.tls,
    door: values.door,
    runs: whole('runs', values.runs, 1, 99),
    only: values.only
      ?.toLowerCase()
      .split(',')
      .map((name) => name.trim()),
    against: values.against,
    together: values.together,
    oneAtATime,
    slowFsyncMs: amount('slow-fsync', values['slow-fsync'], 1_000),
    sites: whole('sites', values.sites, 0, 100_000),
    delayMs: amount('delay-ms', values['delay-ms'], 10_000),
    chunking: values.chunking,
    backlog: whole('backlog', values.backlog, 0, 10_000_000),
    databases: listOf(values.database ?? (values.nodes === undefined ? undefined : 'sqlite')).map(database),
    nodes: listOf(values.nodes).map((text) => whole('nodes', text, 1, 9)),
    timeoutMs: whole('timeout', values.timeout, 1, 3_600) * 1000,
    baseDir: values.dir,
    logs: values.logs,
    keepSamples: values['keep-samples'],
    help: values.help,
  };
}

function listOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((one) => one.trim());
}

function database(text: string): string {
  if (text === 'sqlite' || text === 'postgres' || isPostgresUrl(text)) return text;
  throw wrong('database', text, 'sqlite, postgres or postgres://…');
}

function bytes(name: string, text: string): number {
  const match = /^(\d+)(k?)$/i.exec(text);
  const value = match === null ? Number.NaN : Number(match[1]) * (match[2] === '' ? 1 : 1024);
  if (!(value >= 512 && value <= 16 * 1024 * 1024)) throw wrong(name, text, 'a size from 512 to 16384k');
  return value;
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw wrong(name, text, `a whole number from ${least} to ${most}`);
  return value;
}

function amount(name: string, text: string, most: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= most)) throw wrong(name, text, `a number of milliseconds up to ${most}`);
  return value;
}

function wrong(name: string, text: string, allowed: string): Error {
  return new Error(`--${name} ${text}: must be ${allowed}`);
}
