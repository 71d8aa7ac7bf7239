// The product itself, driven from outside like the others: `bin/postrider serve` on an empty data folder, all
// roles in one process, everything relayed to the sink, the sender domain added by the command line, the token
// read from the file that the first start leaves in the data folder. Log lines are dropped unless asked for.
// Without --dkim signing is switched off by POSTRIDER_DKIM=off; the table's column "signed" shows whether it was.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backlog } from '../backlog.ts';
import { SENDER_DOMAIN } from '../messages.ts';
import { startProcess, stopProcess, waitForFile, waitForPort } from '../processes.ts';
import type { Peer, PeerSetting, RunningPeer } from '../types.ts';
import { freePort, run } from './settings.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PROGRAM = join(ROOT, 'bin', 'postrider');

/** The server of this repository; with a backlog it begins with that queue. */
export function postrider(backlog: Backlog | null = null): Peer {
  return {
    name: backlog === null ? 'postrider' : `postrider-${backlog.recipients}-queued`,
    async missing() {
      return existsSync(join(ROOT, 'src', 'main.ts')) ? undefined : 'src/main.ts is not there yet';
    },
    async version() {
      return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
    },
    start: (setting) => start(setting, backlog),
  };
}

async function start(setting: PeerSetting, backlog: Backlog | null): Promise<RunningPeer> {
  const data = join(setting.dir, 'data');
  mkdirSync(data, { mode: 0o700 });
  backlog?.copyTo(join(data, 'postrider.db'));
  const port = await freePort();
  const env = {
    POSTRIDER_DATA: data,
    POSTRIDER_HTTP: `127.0.0.1:${port}`,
    POSTRIDER_ROUTE: `smtp://127.0.0.1:${setting.sinkPort}`,
    POSTRIDER_HOSTNAME: 'postrider.bench.example.com',
    ...(setting.dkim ? {} : { POSTRIDER_DKIM: 'off' }),
  };
  const own = await startProcess(process.execPath, [PROGRAM, 'serve'], {
    logFile: setting.logs ? join(setting.dir, 'postrider.log') : '/dev/null',
    env: { ...env, ...(setting.preload === undefined ? {} : { LD_PRELOAD: setting.preload }) },
  });
  try {
    await waitForPort(port, own, 20_000);
    await waitForFile(join(data, 'admin-token'), own, 10_000);
    await run(PROGRAM, ['domain', 'add', SENDER_DOMAIN, '--verified', '--data', data], env);
    const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
    return { door: { kind: 'http', port, token }, roots: [own.pid], stop: () => stopProcess(own, 35_000) };
  } catch (cause) {
    await stopProcess(own);
    throw cause;
  }
}
