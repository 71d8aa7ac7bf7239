/**
 * `npm run soak -- --minutes 20`: one server at half load for a long time, with every kind of trouble at once: far ends of
 * all kinds, a DNS name that fails now and then, a webhook receiver that fails, clients that hang up, bounces that come back
 * later, writes of the store that fail. Memory, handles, spool and write-ahead log are looked at all the time, both ends
 * are counted when the queue is empty. Exit code 1 where something grew or does not add up.
 */
import { writeFile } from 'node:fs/promises';
import { Agent, createServer as createHttpServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createTransport } from 'nodemailer';
import { createFakeDns } from '../fakes/fake-dns.ts';
import { freePort } from '../fakes/own-postfix.ts';
import { dsn, handIn } from '../scenarios/returns-kit.ts';
import { seeded } from './campaign.ts';
import { post } from './load.ts';
import { addDomain, makeDataFolder, metric, queueEmpty, startServerProcess } from './server-process.ts';
import { countBothEnds } from './soak-count.ts';
import { KINDS, type Kind, startFarEnds } from './soak-far-ends.ts';
import { grown, minuteLine, type Sample, sampleProcess } from './soak-samples.ts';

const HELP = `One server at half load with all kinds of trouble mixed: nothing may grow, and both ends must agree.

npm run soak -- [--minutes 20] [--rate N] [--seed 1]

--rate is messages a second; without it half of what this machine does with good far ends is measured first.
Example: npm run soak -- --minutes 5 --rate 200`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    rate: { type: 'string' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}

const SAMPLE_MS = 5_000;
const MEASURE_MS = 20_000;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const TEXT = 'x'.repeat(2_000);
const POSTERS = 16;
/** One message in so many comes by SMTP, one request in so many is cut off by its client. */
const BY_SMTP = 20;
const CUT_OFF = 500;
/** One in so many goes to a far end with some trouble. */
const TROUBLED = 10;
const BOUNCED_LATER = 0.3;

const minutes = Number(values.minutes);
const draw = seeded(Number(values.seed));
const copies = new Uint8Array(1 << 24);
let taken = 0;
let returned = 0;
const due: { returnPath: string; recipient: number }[] = [];

const dns = await createFakeDns();
const farEnds = await startFarEnds(draw, (kind, recipient, returnPath) => {
  taken += 1;
  copies[recipient] = Math.min(255, (copies[recipient] ?? 0) + 1);
  if (kind === 'bouncer' && draw() < BOUNCED_LATER) due.push({ returnPath, recipient });
});
for (const kind of KINDS) {
  dns.set(`${kind}.test`, { MX: [`mx.${kind}.test`], ttl: 60 });
  dns.set(`mx.${kind}.test`, { A: [farEnds.addressOf(kind)], ttl: 60 });
}
dns.set('blind.test', { MX: ['mx.good.test'], ttl: 1 });
dns.set('down.test', { MX: ['mx.down.test'] });
dns.set('mx.down.test', { A: ['127.3.1.1'] });

let calls = 0;
const receiver = createHttpServer((request, response) => {
  calls += 1;
  request.resume();
  request.on('end', () => {
    const fate = draw();
    if (fate < 0.02) response.destroy();
    else response.writeHead(fate < 0.1 ? 503 : 200).end();
  });
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const receiverAddress = receiver.address();
const receiverPort = typeof receiverAddress === 'object' ? receiverAddress?.port : 0;

const ports = { submission: await freePort(), returns: await freePort() };
const data = await makeDataFolder();
// What strangers are asked to bear would hold the load up before any trouble does.
const limits = { messagesPerSecond: null, newConnectionsPerMinute: null, connections: 20 };
await writeFile(
  join(data.path, 'shaping.json'),
  JSON.stringify(['default', 'small'].map((id) => ({ id, limits }))),
);
const server = await startServerProcess({
  data: data.path,
  mostLines: 1_000,
  env: {
    POSTRIDER_ROUTE: 'mx',
    POSTRIDER_DNS: dns.text,
    POSTRIDER_MX_PORT: String(farEnds.port),
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
    POSTRIDER_SUBMISSION: `127.0.0.1:${ports.submission}`,
    POSTRIDER_RETURNS: `127.0.0.1:${ports.returns}`,
    POSTRIDER_RETRY: '1s,2s,5s,10s',
    POSTRIDER_MAX_AGE: '90s',
    POSTRIDER_WEBHOOK_ALLOW_HTTP: 'on',
    POSTRIDER_WEBHOOK_RETRY: '1s,2s,5s',
    POSTRIDER_RETAIN_CONTENT: '0s',
    POSTRIDER_RETAIN_CALLS: '1h',
    POSTRIDER_MAX_CONNECTIONS: '20',
    // Twenty writes in a row fail, once.
    POSTRIDER_FAILPOINT: 'store-write:20000:20',
  },
});
await addDomain(server);
await server.api('/webhooks', {
  method: 'POST',
  body: { Domain: 'example.com', Event: 'bounce', WebhookURL: `http://127.0.0.1:${receiverPort}/` },
});

interface Book {
  acknowledged: Uint8Array;
  asked: number;
  refused: number;
}
const book: Book = { acknowledged: new Uint8Array(1 << 24), asked: 0, refused: 0 };
const smtp = createTransport({
  ...{ host: '127.0.0.1', port: ports.submission, pool: true, maxConnections: 2 },
  ...{ auth: { user: 'token', pass: server.token }, tls: { rejectUnauthorized: false } },
});

const halfOfPeak = values.rate === undefined ? Math.round((await measureRate()) / 2) : Number(values.rate);
console.log(`${halfOfPeak} messages a second for ${minutes} minutes`);
const samples: Sample[] = [];
const startedMs = performance.now();
const troubles = setInterval(() => {
  dns.fault('blind.test', draw() < 0.5 ? { kind: 'servfail' } : undefined);
  cutOff();
}, 1_000);
const bounces = setInterval(() => void bringBack(), 200);
let looked = 0;
const sampler = setInterval(() => {
  void sampleProcess(server.pid, data.path).then(async (sample) => {
    samples.push({
      ...sample,
      waiting: (await metric(server, 'postrider_queue_waiting').catch(() => null)) ?? -1,
    });
    looked += 1;
    if (looked % (60_000 / SAMPLE_MS) === 0) console.log(minuteLine(samples, taken, book.asked));
  });
}, SAMPLE_MS);
await loadFor(minutes * 60_000, halfOfPeak, true);
const loadedMs = performance.now() - startedMs;
clearInterval(sampler);
clearInterval(troubles);
dns.fault('blind.test', undefined);
console.log('the load has ended; what waits is delivered or given up');
await queueEmpty(server, 240_000);
clearInterval(bounces);
smtp.close();
const exit = await server.terminate();
const sums = countBothEnds(data.path, book.acknowledged, copies);
const growth = grown(samples);
console.log(
  JSON.stringify(
    {
      minutes: Number((loadedMs / 60_000).toFixed(1)),
      rate: halfOfPeak,
      asked: book.asked,
      refused: book.refused,
      copies: taken,
      reportsReturned: returned,
      webhookCalls: calls,
      exit: exit.code,
      ...sums,
      growth,
    },
    null,
    2,
  ),
);
receiver.close();
receiver.closeAllConnections();
await farEnds.close();
await dns.close();
await data.remove();
const wrong = [...sums.wrong, ...growth.wrong, ...(exit.code === 0 ? [] : [`exit code ${exit.code}`])];
for (const what of wrong) console.log(`WRONG: ${what}`);
process.exit(wrong.length === 0 ? 0 : 1);

/** What the whole does with good far ends, a second: the second half of a short closed loop. */
async function measureRate(): Promise<number> {
  const half = MEASURE_MS / 2;
  await loadFor(half, Number.POSITIVE_INFINITY, false);
  const before = taken;
  await loadFor(half, Number.POSITIVE_INFINITY, false);
  const rate = ((taken - before) * 1000) / half;
  await queueEmpty(server, 120_000);
  return rate;
}

/** Posts for a time at a rate; what the server cannot take at that rate is not made up for later. */
async function loadFor(ms: number, rate: number, troubled: boolean): Promise<void> {
  const began = performance.now();
  const first = book.asked;
  const one = async () => {
    for (;;) {
      const now = performance.now() - began;
      if (now >= ms) return;
      if (book.asked - first >= (now / 1000) * rate) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      const n = book.asked++;
      await send(n, troubled ? domainOf() : 'good.test');
    }
  };
  await Promise.all(Array.from({ length: POSTERS }, one));
}

function domainOf(): string {
  if (draw() * TROUBLED >= 1) return 'good.test';
  const kinds = [...KINDS, 'blind', 'down'] as const;
  const kind: Kind | 'blind' | 'down' = kinds[Math.floor(draw() * kinds.length)] ?? 'good';
  return `${kind}.test`;
}

async function send(n: number, domain: string): Promise<void> {
  const to = `r${n}@${domain}`;
  if (n % BY_SMTP === 0) {
    const mail = { from: 'sender@example.com', to, subject: `${n}`, text: TEXT };
    const taken = await smtp.sendMail(mail).then(
      () => true,
      () => false,
    );
    if (taken) book.acknowledged[n] = 1;
    else book.refused += 1;
    return;
  }
  const answer = await post(server, {
    key: `soak-${n}`,
    recipients: [to],
    text: TEXT,
    agent,
    answerMs: 30_000,
  });
  if (answer.messageId !== null) book.acknowledged[n] = 1;
  else {
    book.refused += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A client that says how much it will send, sends some of it and is gone. */
function cutOff(): void {
  for (let i = 0; i < Math.max(1, halfOfPeak / CUT_OFF); i++) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => {
      socket.write('POST /api/v1/email HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"From"');
      setTimeout(() => socket.resetAndDestroy(), 100);
    });
    socket.on('error', () => {});
  }
}

/** Reports about messages that were taken before come to the listener for returned mail. */
async function bringBack(): Promise<void> {
  for (const { returnPath, recipient } of due.splice(0, 20)) {
    const report = dsn([{ recipient: `r${recipient}@bouncer.test` }], { to: returnPath });
    const reply = await handIn({ defer() {} }, ports.returns, returnPath, report).catch(() => '');
    if (reply.startsWith('250')) returned += 1;
  }
}
