// The product itself, driven from outside like the others: `bin/postrider serve` on an empty data folder, all
// roles in one process, everything relayed to the sink, the sender domain added by the command line, the token
// read from the file that the first start leaves in the data folder. Log lines are dropped unless asked for.
// By SMTP the token is the password of the submission listener, which takes a login over TLS only.
// As nodes, each process sends from an address of its own, directly: a relay is used by one node at a time.
// Without --dkim signing is switched off by POSTRIDER_DKIM=off; the table's column "signed" shows whether it was.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFakeDns, type FakeZones } from '../../test/fakes/fake-dns.ts';
import { freePort } from '../../test/fakes/own-postfix.ts';
import type { Backlog } from '../backlog.ts';
import type { BenchDatabase } from '../database.ts';
import { SENDER_DOMAIN, siteAddress, siteDomain } from '../messages.ts';
import { type OwnProcess, startProcess, stopProcess, waitForFile, waitForPort } from '../processes.ts';
import type { Certificate, Door, Peer, PeerSetting, RunningPeer } from '../types.ts';
import { run } from './settings.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Of each source, where there are several nodes. */
const SOURCE_CONNECTIONS = 5;
const programIn = (root: string): string => join(root, 'bin', 'postrider');

/** What makes one row of ours different from another. */
interface Variant {
  name: string;
  /** The clone or package that runs. Default: this clone. */
  root?: string;
  /** The queue that it begins with. */
  backlog?: Backlog;
  /** Default: SQLite. */
  database?: BenchDatabase | undefined;
  /** How many processes share the database, each with a source of its own; undefined = one without sources. */
  nodes?: number | undefined;
}

/** The server of this repository, or of another folder. */
export function postrider(variant: Variant = { name: 'postrider' }): Peer {
  const { name, root = ROOT } = variant;
  return {
    name,
    compiles: true,
    async missing() {
      return existsSync(programIn(root)) ? undefined : `${programIn(root)} is not there`;
    },
    async version() {
      return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
    },
    start: (setting) => start(setting, programIn(root), variant),
  };
}

async function start(setting: PeerSetting, program: string, variant: Variant): Promise<RunningPeer> {
  const { backlog, database, nodes } = variant;
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  const common: Record<string, string> = {
    POSTRIDER_HOSTNAME: 'postrider.bench.example.com',
    ...(setting.dkim ? {} : { POSTRIDER_DKIM: 'off' }),
    ...(setting.recipients > 50 ? { POSTRIDER_MAX_RECIPIENTS: String(setting.recipients) } : {}),
    ...(setting.certificate === undefined ? {} : tlsKeys(setting.certificate)),
    ...(setting.preload === undefined ? {} : { LD_PRELOAD: setting.preload }),
  };
  try {
    if (database !== undefined) {
      const { url, remove } = await database.open(setting.dir);
      undo.push(remove);
      common.POSTRIDER_DATABASE = url;
    }
    const byMx = nodes !== undefined || setting.sites > 0;
    if (!byMx) common.POSTRIDER_ROUTE = `smtp://127.0.0.1:${setting.sinkPort}`;
    else {
      const dns = await createFakeDns(zonesOf(setting.sites));
      undo.push(() => dns.close());
      Object.assign(common, {
        POSTRIDER_ROUTE: 'mx',
        POSTRIDER_DNS: dns.text,
        POSTRIDER_MX_PORT: String(setting.sinkPort),
        POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
        POSTRIDER_SECRET_KEY: randomBytes(32).toString('hex'),
        ...((nodes ?? 1) > 1 && database?.name === 'SQLite' ? { POSTRIDER_SHARED_STORE: 'on' } : {}),
      });
    }
    const started: { own: OwnProcess; door: Door }[] = [];
    for (let n = 0; n < (nodes ?? 1); n += 1) {
      const data = join(setting.dir, `data${n}`);
      mkdirSync(data, { mode: 0o700 });
      backlog?.copyTo(join(data, 'postrider.db'));
      if (byMx) writeShaping(data);
      if (nodes !== undefined) writeSource(data, n);
      const node = await startNode(setting, program, data, common);
      started.push(node);
      undo.push(() => stopProcess(node.own, 35_000));
      if (n === 0) {
        await run(program, ['domain', 'add', SENDER_DOMAIN, '--verified', '--data', data], common);
      }
    }
    return {
      doors: started.map(({ door }) => door),
      roots: started.map(({ own }) => own.pid),
      ...(database?.roots === undefined ? {} : { databaseRoots: database.roots }),
      stop,
    };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

function tlsKeys({ certFile, keyFile }: Certificate): Record<string, string> {
  return {
    POSTRIDER_HTTP_CERTIFICATE: certFile,
    POSTRIDER_HTTP_CERTIFICATE_KEY: keyFile,
    POSTRIDER_TLS_CERT: certFile,
    POSTRIDER_TLS_KEY: keyFile,
  };
}

/** Every site has a host name of its own, for an address of the sink. */
function zonesOf(sites: number): FakeZones {
  const zones: FakeZones = { 'example.net': { A: ['127.0.0.1'] } };
  for (let site = 0; site < sites; site += 1) {
    const domain = siteDomain(site);
    zones[domain] = { MX: [`mx.${domain}`] };
    zones[`mx.${domain}`] = { A: [siteAddress(site)] };
  }
  return zones;
}

/** The source of the nth node. */
function writeSource(data: string, n: number): void {
  const source = { id: `source${n}`, address: `127.0.0.${n + 2}` };
  writeFileSync(join(data, 'postrider.json'), JSON.stringify({ sources: [source] }));
}

/** Receivers set no limit but connections. */
function writeShaping(data: string): void {
  const limits = {
    connections: SOURCE_CONNECTIONS,
    messagesPerConnection: 100_000,
    newConnectionsPerMinute: null,
    messagesPerSecond: null,
  };
  writeFileSync(
    join(data, 'shaping.json'),
    JSON.stringify([
      { id: 'default', limits },
      { id: 'small', limits },
    ]),
  );
}

async function startNode(
  setting: PeerSetting,
  program: string,
  data: string,
  common: Readonly<Record<string, string>>,
): Promise<{ own: OwnProcess; door: Door }> {
  const port = await freePort();
  const smtpPort = setting.door === 'smtp' ? await freePort() : undefined;
  const own = await startProcess(process.execPath, [program, 'serve'], {
    logFile: setting.logs ? join(setting.dir, 'postrider.log') : '/dev/null',
    env: {
      ...common,
      POSTRIDER_DATA: data,
      POSTRIDER_HTTP: `127.0.0.1:${port}`,
      ...(smtpPort === undefined ? {} : { POSTRIDER_SUBMISSION_TLS: `127.0.0.1:${smtpPort}` }),
      ...(setting.inspectPort === undefined
        ? {}
        : { NODE_OPTIONS: `--inspect=127.0.0.1:${setting.inspectPort}` }),
    },
  });
  try {
    await waitForPort(port, own, 60_000);
    await waitForFile(join(data, 'admin-token'), own, 10_000);
    const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
    if (smtpPort === undefined)
      return { own, door: { kind: 'http', port, token, secure: setting.certificate !== undefined } };
    await waitForPort(smtpPort, own, 10_000);
    return { own, door: { kind: 'smtp', port: smtpPort, token, secure: true, pipelining: true } };
  } catch (cause) {
    await stopProcess(own);
    throw cause;
  }
}
