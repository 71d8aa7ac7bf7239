// The server under test for the engine's own measurements: `bin/postrider serve` in a process of its own on an empty
// data folder, unsigned, and its API as a function. Removed with `stop`.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/fakes/own-postfix.ts';
import { SENDER_DOMAIN } from '../messages.ts';
import { run } from '../peers/settings.ts';
import { anonymousMiBOf, startProcess, stopProcess, waitForFile, waitForPort } from '../processes.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'postrider');

export interface EngineServer {
  /** A request below /api/v1; throws unless it answers 2xx. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  memoryMiB(): number;
  stop(): Promise<void>;
}

/** `settings`: environment names without POSTRIDER_. */
export async function startEngineServer(settings: Record<string, string>): Promise<EngineServer> {
  const data = mkdtempSync('/var/tmp/postrider-engine-');
  const port = await freePort();
  const env: Record<string, string> = {
    POSTRIDER_DATA: data,
    POSTRIDER_HTTP: `127.0.0.1:${port}`,
    POSTRIDER_HOSTNAME: 'postrider.bench.example.com',
    POSTRIDER_DKIM: 'off',
    POSTRIDER_QUEUE_LIMIT: '2000000',
  };
  for (const [name, value] of Object.entries(settings)) env[`POSTRIDER_${name}`] = value;
  const own = await startProcess(process.execPath, [PROGRAM, 'serve'], { logFile: '/dev/null', env });
  await waitForPort(port, own, 20_000);
  await waitForFile(join(data, 'admin-token'), own, 10_000);
  await run(PROGRAM, ['domain', 'add', SENDER_DOMAIN, '--verified', '--data', data], env);
  const token = readFileSync(join(data, 'admin-token'), 'utf8').trim();
  return {
    async call(method, path, body) {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
      return JSON.parse(text);
    },
    memoryMiB: () => anonymousMiBOf([own.pid]),
    async stop() {
      await stopProcess(own, 35_000);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Sends by batches of a hundred, four at a time. */
export async function sendAll(server: EngineServer, messages: readonly object[]): Promise<void> {
  const batches: object[][] = [];
  for (let at = 0; at < messages.length; at += 100) batches.push(messages.slice(at, at + 100));
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const answer = (await server.call('POST', '/email/batch', { Messages: batch })) as { Rejected: number };
      if (answer.Rejected > 0) throw new Error(`${answer.Rejected} messages of a batch were refused`);
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}

/** A small text message. */
export function textMessage(to: string, id: number, priority: 'critical' | 'normal' | 'bulk'): object {
  return {
    From: { email: `news@${SENDER_DOMAIN}` },
    To: [{ email: to }],
    Subject: `Message ${id}`,
    ContentType: 'Text',
    PlainContent: 'A few lines of text, as a notification has them.\n'.repeat(20),
    Headers: { 'X-Bench-Id': String(id) },
    Priority: priority,
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
