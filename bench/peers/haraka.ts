// Haraka 3 as a competent administrator would set it up for bulk submission: a worker for each core, its queue
// on disk (it syncs every queue file), everything handed to the sink, TLS off on loopback unless it is asked for, log level notice.
// With DKIM through haraka-plugin-dkim. It runs on the same Node as the benchmark. It is installed beside the
// repository's own dependencies in bench/.cache/haraka (see README); nothing there is part of the package.

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/fakes/own-postfix.ts';
import { SENDER_DOMAIN } from '../messages.ts';
import { startProcess, stopProcess, waitForPort } from '../processes.ts';
import type { Peer, PeerSetting, RunningPeer } from '../types.ts';
import { type Grouping, nameOf, SELECTOR, signingKeyPem } from './settings.ts';

const INSTALLED = join(import.meta.dirname, '..', '.cache', 'haraka', 'node_modules');
const PROGRAM = join(INSTALLED, 'haraka', 'bin', 'haraka');

/** Haraka with, where asked, its DKIM plugin. */
export function haraka(grouping?: Grouping): Peer {
  return {
    name: nameOf('Haraka', grouping),
    compiles: true,
    async missing() {
      if (!existsSync(PROGRAM)) return 'Haraka is not installed (bench/README.md has the command)';
      if (!existsSync(join(INSTALLED, 'haraka-plugin-dkim'))) return 'haraka-plugin-dkim is not installed';
      return undefined;
    },
    async version() {
      const text = readFileSync(join(INSTALLED, 'haraka', 'package.json'), 'utf8');
      return (JSON.parse(text) as { version: string }).version;
    },
    start: (setting) => start(setting, grouping),
  };
}

/** Lets the injector relay and sends everything to the sink, in place of a look-up of MX records. */
const ROUTE_PLUGIN = `'use strict';
exports.hook_connect = (next, connection) => { connection.relaying = true; next(); };
exports.hook_rcpt = (next) => next(OK);
exports.hook_get_mx = (next) => next(OK, { priority: 0, exchange: '127.0.0.1', port: Number(process.env.BENCH_SINK_PORT) });
`;

async function start(setting: PeerSetting, grouping: Grouping): Promise<RunningPeer> {
  const { dir, certificate } = setting;
  const port = await freePort();
  const config = join(dir, 'config');
  // What `haraka -i` does: start from the shipped defaults, without which it does not run.
  cpSync(join(INSTALLED, 'haraka', 'config'), config, { recursive: true });
  for (const folder of [join(dir, 'plugins'), join(dir, 'queue')]) mkdirSync(folder);
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(config, name), `${lines.join('\n')}\n`);

  write('me', ['haraka.bench.example.com']);
  write('smtp.ini', [
    `listen=127.0.0.1:${port}`,
    `nodes=${availableParallelism()}`,
    'inactivity_timeout=300',
    ...(certificate === undefined ? [] : [`smtps_port=${port}`]),
  ]);
  if (certificate !== undefined) {
    cpSync(certificate.certFile, join(config, 'tls_cert.pem'));
    cpSync(certificate.keyFile, join(config, 'tls_key.pem'));
  }
  write('outbound.ini', [
    `enable_tls=${certificate !== undefined}`,
    `always_split=${grouping === 'alone'}`,
    'local_mx_ok=true',
    `concurrency_max=${Math.max(50, setting.connections)}`,
  ]);
  write('log.ini', ['[main]', 'level=notice', 'timestamps=false', 'format=default']);
  write('plugins', ['bench_route', ...(setting.dkim ? ['dkim'] : [])]);
  writeFileSync(join(dir, 'plugins', 'bench_route.js'), ROUTE_PLUGIN);
  if (setting.dkim) {
    const keys = join(config, 'dkim', SENDER_DOMAIN);
    mkdirSync(keys, { recursive: true });
    writeFileSync(join(keys, 'private'), signingKeyPem(), { mode: 0o600 });
    writeFileSync(join(keys, 'selector'), SELECTOR);
    write('dkim.ini', ['[sign]', 'enabled=true', '[canon]', 'body=relaxed', '[verify]', 'enabled=false']);
  }
  const own = await startProcess(process.execPath, [PROGRAM, '-c', dir], {
    logFile: setting.logs ? join(dir, 'haraka.log') : '/dev/null',
    cwd: dir,
    env: {
      BENCH_SINK_PORT: String(setting.sinkPort),
      NODE_PATH: INSTALLED,
      NODE_OPTIONS: undefined,
      ...(setting.preload === undefined ? {} : { LD_PRELOAD: setting.preload }),
    },
  });
  try {
    await waitForPort(port, own, 20_000);
  } catch (cause) {
    await stopProcess(own);
    throw cause;
  }
  // It writes each reply of a pipelined group on its own without TCP_NODELAY: 40 ms a message, avoided one by one.
  return {
    doors: [{ kind: 'smtp', port, pipelining: false, secure: certificate !== undefined }],
    roots: [own.pid],
    stop: () => stopProcess(own),
  };
}
