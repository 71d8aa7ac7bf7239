/**
 * The server that `sandbox-wait.ts` measures, in a process of its own. Given a data folder, how many inboxes and how many
 * mails each of them holds, it fills the store directly where that is not done yet (a file says so, so that a folder
 * serves many runs), starts the development server on free ports, prints one JSON line `{url, token, seededMs}` and stops
 * when its standard input ends.
 *
 *   node bench/sandbox-server.ts <folder> <inboxes> <mails per inbox>
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { systemClock } from '../src/lib/clock.ts';
import { uuidv7 } from '../src/lib/ids.ts';
import { createLoggers } from '../src/lib/log.ts';
import { createSystemRandom } from '../src/lib/random.ts';
import type { MessageId } from '../src/model/message.ts';
import { keptFields, SUBMISSION_DEFAULTS } from '../src/model/submission.ts';
import { startServer } from '../src/server.ts';
import { openSqliteStore } from '../src/store/sqlite/open.ts';

const [folder = '', inboxes = '100', each = '100'] = process.argv.slice(2);
const random = createSystemRandom();
const AT_ONCE = 500;

mkdirSync(folder, { recursive: true });
const mark = join(folder, `seeded-${inboxes}-${each}`);
const began = performance.now();
const fresh = !existsSync(mark);
const loaded = loadConfig(
  'dev',
  { data: folder },
  { POSTRIDER_HTTP: '127.0.0.1:0', POSTRIDER_SUBMISSION: '127.0.0.1:0' },
);
if (fresh) await seed(join(folder, 'postrider.db'), Number(inboxes), Number(each));
const seededMs = Math.round(performance.now() - began);
if (fresh) writeFileSync(mark, '');
const server = await startServer({
  mode: 'dev',
  loaded,
  logs: createLoggers({ destination: { write: () => {} }, level: 'error', maskAddresses: false }),
  version: 'bench',
});
console.log(JSON.stringify({ url: server.localUrl, token: server.adminToken, seededMs }));
process.stdin.resume();
process.stdin.once('end', () => {
  void server.stop(10_000).then(() => process.exit(0));
});

/** Captured mail as delivery leaves it: neighbours in the order of capturing are in different inboxes. */
async function seed(path: string, count: number, mails: number): Promise<void> {
  const store = await openSqliteStore({ path, clock: systemClock });
  const epoch = await store.beginEpoch({ nodeId: 'seed', now: Date.now() });
  const prefix = new TextEncoder().encode(
    `X-Postrider-Ref: ${'r'.repeat(40)}\r\nDKIM-Signature: v=1; b=${'s'.repeat(340)}\r\n`,
  );
  const total = count * mails;
  for (let first = 0; first < total; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, total - first);
    const now = Date.now();
    const committed = await store.commitAccepted({
      epoch,
      idempotency: null,
      messages: Array.from({ length: size }, (_, i) => message((first + i) % count, first + i, now)),
    });
    if (committed.kind !== 'committed') throw new Error(`not committed: ${committed.kind}`);
    const deliveries = committed.messages.flatMap((one) => one.deliveries);
    await store.settle({
      now,
      settlements: deliveries.map(({ id }, i) => ({
        deliveryId: id,
        epoch,
        state: 'delivered',
        route: 'sandbox',
        countAttempt: true,
        events: [{ id: uuidv7(systemClock, random), kind: 'delivered', at: now, detail: null }],
        capture: {
          id: uuidv7(systemClock, random),
          at: now,
          envelopeFrom: 'bounce@example.com',
          inbox: `inbox-${(first + i) % count}`,
          prefix,
        },
      })),
    });
  }
  await store.close();
}

function message(inbox: number, n: number, now: number) {
  const to = `user+inbox-${inbox}@example.net`;
  const subject = `Order ${n} of your shop is on its way`;
  const text = `Hello user ${inbox}, your order ${n} is on its way. Your code is ${100_000 + (n % 900_000)}.\r\n`;
  return {
    id: uuidv7(systemClock, random) as MessageId,
    domain: 'example.com',
    tokenId: 'bench',
    ...keptFields({
      ...SUBMISSION_DEFAULTS,
      subject,
      tags: n % 1_000 === 0 ? ['newsletter'] : ['order'],
      metadata: { order: String(n) },
    }),
    lists: {
      from: { name: 'Shop', address: 'bench@example.com' },
      to: [{ name: '', address: to }],
      cc: [],
      bcc: [],
      replyTo: [],
    },
    sandbox: true,
    content: new TextEncoder().encode(
      `From: Shop <bench@example.com>\r\nTo: ${to}\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text.repeat(8)}`,
    ),
    bodyOffset: 0,
    needsSmtpUtf8: false,
    eightBit: false,
    createdAt: now,
    expiresAt: now + 3_600_000,
    expiryGiven: false,
    dateOffset: null,
    recipients: [
      {
        address: to,
        domain: 'example.net',
        kind: 'To' as const,
        state: 'sending' as const,
        dueAt: now,
        waitReason: null,
        sandbox: 'deliver' as const,
        events: [{ id: uuidv7(systemClock, random), kind: 'accepted' as const, at: now, detail: null }],
      },
    ],
  };
}
