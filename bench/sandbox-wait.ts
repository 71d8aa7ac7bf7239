/**
 * How soon GET /sandbox/wait answers: the server in one process, the clients in this one, mail at a steady rate that does
 * not slow down when answers do (open loop). Each mail goes to the next inbox in turn and has a waiter of its own, there
 * `--lead` ms before it; in between a trivial request (`/healthz`) shows what the machine itself costs at that moment.
 *
 * Given --inboxes, --before (mails that each holds already), --rate (mails a second), --mails (in all), --by (the filter
 * besides Subject: Inbox or To), --runs, --data (a folder to seed once and keep) and --one-by-one (each mail waits for the
 * answer about the one before), it prints per run percentiles of the time to the end of the waiter's answer, from
 * CapturedAt (taken just before the commit, whole ms) and from the end of POST's answer; answers of another inbox, and
 * mails nobody was told of.
 *
 *   node bench/sandbox-wait.ts --inboxes 100 --before 100 --rate 50 --mails 1000
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    inboxes: { type: 'string', default: '100' },
    before: { type: 'string', default: '100' },
    rate: { type: 'string', default: '50' },
    mails: { type: 'string', default: '1000' },
    lead: { type: 'string', default: '500' },
    by: { type: 'string', default: 'Inbox' },
    runs: { type: 'string', default: '3' },
    data: { type: 'string' },
    'one-by-one': { type: 'boolean', default: false },
  },
});
const inboxes = Number(values.inboxes);
const mails = Number(values.mails);
const everyMs = 1000 / Number(values.rate);
const leadMs = Number(values.lead);
const folder = values.data ?? mkdtempSync(join(tmpdir(), 'postrider-bench-'));
const server = await startServer();
const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });
console.log(
  `${inboxes} inboxes with ${values.before} mails each (seeded in ${server.seededMs} ms), by ${values.by} and Subject`,
);
console.log(
  '| run | mails | p50 | p90 | p99 | max | from POST: p50 | p90 | p99 | healthz p99 | strangers | missed |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
for (let run = 0; run < Number(values.runs); run += 1) await measure(run);
agent.destroy();
await server.stop();
if (values.data === undefined) rmSync(folder, { recursive: true, force: true });

interface Sample {
  fromCaptureMs: number;
  fromPostMs: number;
}

async function measure(run: number): Promise<void> {
  const samples: Sample[] = [];
  const trivial: number[] = [];
  let strangers = 0;
  let missed = 0;
  const one = async (n: number): Promise<void> => {
    const inbox = n % inboxes;
    const subject = `Sign in ${run}-${n}-${server.id};`;
    const filter =
      values.by === 'To' ? { To: `user+inbox-${inbox}@example.net` } : { Inbox: `inbox-${inbox}` };
    const query = new URLSearchParams({ ...filter, Subject: subject, Timeout: '30' });
    const waiting = call('GET', `/api/v1/sandbox/wait?${query}`);
    await pause(leadMs);
    const posted = await call('POST', '/api/v1/email', mailTo(inbox, subject));
    if (posted.status !== 200) throw new Error(`POST /email: ${posted.status} ${posted.text}`);
    const answer = await waiting;
    if (answer.status !== 200) {
      missed += 1;
      return;
    }
    const capture = JSON.parse(answer.text) as { Inbox: string; Subject: string; CapturedAt: string };
    if (capture.Inbox !== `inbox-${inbox}` || capture.Subject !== subject) strangers += 1;
    samples.push({
      fromCaptureMs: answer.at - Date.parse(capture.CapturedAt),
      fromPostMs: answer.at - posted.at,
    });
  };
  const ping = async (): Promise<void> => {
    const at = now();
    trivial.push((await call('GET', '/healthz')).at - at);
  };
  if (values['one-by-one']) {
    for (let n = 0; n < mails; n += 1) {
      await one(n);
      await ping();
    }
  } else {
    const running: Promise<void>[] = [];
    const start = now();
    for (let n = 0; n < mails; n += 1) {
      const early = start + n * everyMs - now();
      if (early > 0) await pause(early);
      running.push(one(n), ping());
    }
    await Promise.all(running);
  }
  const capture = percentiles(samples.map((sample) => sample.fromCaptureMs));
  const post = percentiles(samples.map((sample) => sample.fromPostMs));
  const cells = [run + 1, mails, ...capture, ...post.slice(0, 3), percentiles(trivial)[2], strangers, missed];
  console.log(`| ${cells.join(' | ')} |`);
}

/** p50, p90, p99 and the longest. */
function percentiles(given: readonly number[]): string[] {
  const sorted = [...given].sort((a, b) => a - b);
  return [0.5, 0.9, 0.99, 1].map((p) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN).toFixed(1),
  );
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** One request; its answer and when it had ended. */
function call(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string; at: number }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
    const sent = request(`${server.url}${path}`, { method, agent, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const at = now();
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString(), at });
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function mailTo(inbox: number, subject: string) {
  return {
    From: { email: 'bench@example.com' },
    To: [{ email: `user+inbox-${inbox}@example.net` }],
    Subject: subject,
    ContentType: 'HTML',
    HTMLContent: '<p>Your code is 482913, or follow <a href="https://example.org/x">this</a></p>',
  };
}

async function startServer() {
  const file = new URL('./sandbox-server.ts', import.meta.url).pathname;
  const args = ['--disable-warning=ExperimentalWarning', file, folder, String(inboxes), values.before];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    const started = JSON.parse(line) as { url: string; token: string; seededMs: number };
    return {
      ...started,
      /** Subjects of an earlier process over the same data are not this one's. */
      id: Math.round(now()).toString(36),
      async stop() {
        child.stdin.end();
        await ended;
      },
    };
  }
  throw new Error('the server did not start');
}
