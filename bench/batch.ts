/**
 * What a full batch costs everybody else: one client posts POST /email/batch again and again from a process of its own, and
 * the longest turn of the server's event loop is printed, which nobody else is answered in (in CPU time of that thread, so
 * that a busy machine does not count), with the time of each answer. Given --messages, --recipients (each), --bytes (of each
 * message's HTML), --rounds. Small bodies are read on the event loop and large ones by a worker, so run it with both.
 *
 *   node bench/batch.ts --messages 100 --recipients 50 --bytes 1000
 *   node bench/batch.ts --messages 100 --recipients 1 --bytes 200000
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config.ts';
import { createLoggers } from '../src/lib/log.ts';
import { startServer } from '../src/server.ts';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '100' },
    recipients: { type: 'string', default: '50' },
    bytes: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '10' },
  },
});
const rounds = Number(values.rounds);

if (process.send === undefined) await serve();
else process.once('message', (job) => void post(job as { url: string; token: string }));

async function serve(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const server = await startServer({
    mode: 'serve',
    loaded: loadConfig('serve', { data, route: 'sandbox', roles: 'http' }, { POSTRIDER_HTTP: '127.0.0.1:0' }),
    logs: createLoggers({ destination: { write: () => {} }, level: 'error', maskAddresses: false }),
    version: 'bench',
  });
  const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' };
  const url = `${server.localUrl}/api/v1`;
  const body = JSON.stringify({ Domain: 'example.com', Verified: true });
  const added = await fetch(`${url}/domains`, { method: 'POST', headers, body });
  if (!added.ok) throw new Error(await added.text());
  const client = fork(process.argv[1] ?? '', process.argv.slice(2));
  const turns = watchTurns();
  const longest: number[] = [];
  const times: number[] = [];
  client.on('message', (event: 'begin' | number) => {
    if (event === 'begin') turns.begin();
    else {
      times.push(event);
      longest.push(turns.longestMs());
    }
  });
  client.send({ url, token: server.adminToken });
  await new Promise((resolve) => client.once('exit', resolve));
  const middle = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0;
  console.log(
    `${values.messages} messages to ${values.recipients} recipients, ${values.bytes} octets of HTML each, ${rounds} rounds:`,
  );
  console.log(
    `answered in ${middle(times).toFixed(0)} ms (median), ${Math.max(...times).toFixed(0)} ms (longest)`,
  );
  console.log(
    `longest turn of the event loop ${middle(longest).toFixed(0)} ms (median), ${Math.max(...longest).toFixed(0)} ms (longest)`,
  );
  await server.stop(5_000);
  rmSync(data, { recursive: true });
}

/** The longest turn of this thread's event loop, in its own CPU time: what other processes take does not count. */
function watchTurns() {
  let running = false;
  let longest = 0;
  const cpu = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let before = 0;
  const turn = (): void => {
    const now = cpu();
    longest = Math.max(longest, now - before);
    before = now;
    if (running) setImmediate(turn);
  };
  return {
    begin() {
      running = true;
      longest = 0;
      before = cpu();
      setImmediate(turn);
    },
    longestMs() {
      running = false;
      return longest;
    },
  };
}

async function post({ url, token }: { url: string; token: string }): Promise<void> {
  const html = `<p>${'Words of a letter. '.repeat(Math.ceil(Number(values.bytes) / 19))}</p>`;
  for (let round = 0; round < rounds; round++) {
    const Messages = Array.from({ length: Number(values.messages) }, (_, i) => ({
      From: { email: 'bench@example.com' },
      To: Array.from({ length: Number(values.recipients) }, (_, r) => ({ email: `r${r}@d${i}.example.net` })),
      Subject: `letter ${round}.${i}`,
      ContentType: 'HTML',
      HTMLContent: html,
    }));
    const body = JSON.stringify({ Messages });
    process.send?.('begin');
    const from = performance.now();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/email/batch`, { method: 'POST', headers, body });
    const text = await answer.text();
    if (!answer.ok || !text.includes('"Rejected":0')) throw new Error(text.slice(0, 500));
    process.send?.(performance.now() - from);
  }
  process.exit(0);
}
