/**
 * How soon GET /sandbox/wait answers, with many inboxes under load: each inbox waits for its own mail, mail by mail, while
 * all the others get theirs. Given --inboxes, --mails (measured, per inbox), --before (there already, per inbox) and
 * --pause (ms from one mail of an inbox to its next, on average: 100 inboxes and 300 are 300 mails a second), it
 * prints percentiles of the time from a capture's CapturedAt to the end of its answer, and how many answers were another
 * inbox's. Server and clients share one machine; the clock is the same.
 *
 *   node bench/sandbox-wait.ts --inboxes 100 --mails 20 --before 100
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config.ts';
import { createLoggers } from '../src/lib/log.ts';
import { startServer } from '../src/server.ts';

const { values } = parseArgs({
  options: {
    inboxes: { type: 'string', default: '100' },
    mails: { type: 'string', default: '20' },
    before: { type: 'string', default: '100' },
    pause: { type: 'string', default: '300' },
  },
});
const [inboxes, mails, before] = [Number(values.inboxes), Number(values.mails), Number(values.before)];
const pauseMs = Number(values.pause);
const data = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
const server = await startServer({
  mode: 'dev',
  loaded: loadConfig('dev', { data }, { POSTRIDER_HTTP: '127.0.0.1:0', POSTRIDER_SUBMISSION: '127.0.0.1:0' }),
  logs: createLoggers({ destination: { write: () => {} }, level: 'error', maskAddresses: false }),
  version: 'bench',
});
const agent = new Agent({ keepAlive: true, maxSockets: 400 });

/** One request; its status and body. */
function call(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' };
    const sent = request(`${server.localUrl}/api/v1${path}`, { method, agent, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      );
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

const mailTo = (inbox: number, subject: string) => ({
  From: { email: 'bench@example.com' },
  To: [{ email: `user+inbox-${inbox}@example.net` }],
  Subject: subject,
  ContentType: 'HTML',
  HTMLContent: '<p>Your code is 482913, or follow <a href="https://example.org/x">this</a></p>',
});

const started = performance.now();
for (let n = 0; n < before; n++) {
  for (let first = 0; first < inboxes; first += 100) {
    const size = Math.min(100, inboxes - first);
    const Messages = Array.from({ length: size }, (_, i) => mailTo(first + i, `before ${n}`));
    const answer = await call('POST', '/email/batch', { Messages });
    if (answer.status !== 200) throw new Error(`batch: ${answer.status} ${answer.text}`);
  }
}
console.log(`${inboxes} x ${before} mails before, in ${Math.round(performance.now() - started)} ms`);

const latencies: number[] = [];
let strangers = 0;
let lost = 0;
await Promise.all(
  Array.from({ length: inboxes }, async (_, inbox) => {
    for (let n = 0; n < mails; n++) {
      const subject = `mail ${n} of ${inbox};`;
      const path = `/sandbox/wait?Inbox=inbox-${inbox}&Subject=${encodeURIComponent(subject)}&Timeout=60`;
      const waiting = call('GET', path);
      // The waiter is there before the mail comes, as in a test that waits for what it has just asked for.
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 2 * pauseMs));
      await call('POST', '/email', mailTo(inbox, subject));
      const answer = await waiting;
      const at = Date.now();
      if (answer.status !== 200) {
        lost += 1;
        continue;
      }
      const capture = JSON.parse(answer.text) as { Inbox: string; Subject: string; CapturedAt: string };
      if (capture.Inbox !== `inbox-${inbox}` || capture.Subject !== subject) strangers += 1;
      latencies.push(at - Date.parse(capture.CapturedAt));
    }
  }),
);
latencies.sort((a, b) => a - b);
const percentile = (p: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * p))];
console.log(
  `waits: ${latencies.length}, p50 ${percentile(0.5)} ms, p90 ${percentile(0.9)} ms, p99 ${percentile(0.99)} ms, max ${latencies.at(-1)} ms; of another inbox: ${strangers}; not answered: ${lost}`,
);
agent.destroy();
await server.stop(10_000);
rmSync(data, { recursive: true, force: true });
