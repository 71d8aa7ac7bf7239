/**
 * What the store costs a message through its whole life: one acceptance (one recipient, 10 KB, one event) and one
 * settlement (delivered, one event), by 1, 8 and 64 callers at once. Prints messages a second, the CPU of the main
 * thread and of everything else (the writer, nearly) per message, and the worst wait for an acceptance.
 * `node bench/micro-store.ts [folder] [messages]`: the folder decides which disk is measured.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { openSqliteStore } from '../src/store/sqlite/open.ts';
import type { NewMessage } from '../src/store/topics/acceptance.ts';
import { newId, random, storedMessage, storedRecipient } from './stored-message.ts';

const SIZE = 10_240;

function message(content: Uint8Array): NewMessage {
  const now = systemClock.now();
  const address = `reader${now % 1000}@example.net`;
  const recipient = storedRecipient({
    address,
    domain: 'example.net',
    kind: 'To',
    state: 'sending',
    dueAt: now,
    waitReason: null,
  });
  return storedMessage(content, [recipient], {
    tokenId: '01990000-0000-7000-8000-000000000001',
    lists: {
      from: { name: 'Example', address: 'news@example.com' },
      to: [{ name: '', address }],
      cc: [],
      bcc: [],
      replyTo: [],
    },
    subject: 'Your weekly letter',
  });
}

async function run(folder: string, callers: number, count: number): Promise<void> {
  const dir = mkdtempSync(join(folder, 'micro-store-'));
  const store = await openSqliteStore({ path: join(dir, 'db'), clock: systemClock });
  const epoch = await store.beginEpoch({ nodeId: 'bench', now: systemClock.now() });
  const content = random.bytes(SIZE);
  const waits: number[] = [];
  const outcomes: Promise<unknown>[] = [];
  let left = 0;

  async function caller(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const before = systemClock.monotonicMs();
      const result = await store.commitAccepted({ messages: [message(content)], epoch, idempotency: null });
      waits.push(systemClock.monotonicMs() - before);
      if (result.kind !== 'committed') throw new Error(`Unexpected result ${result.kind}`);
      const deliveryId = result.messages[0]?.deliveries[0]?.id ?? 0;
      const at = systemClock.now();
      outcomes.push(
        store.settle({
          now: at,
          settlements: [
            {
              deliveryId,
              epoch,
              state: 'delivered',
              countAttempt: true,
              lastCode: 250,
              lastReply: '250 2.0.0 Ok: queued as 4F2A91',
              route: 'mx',
              events: [
                { id: newId(), kind: 'delivered', at, detail: { route: 'mx', remoteMta: 'mx.example.net' } },
              ],
            },
          ],
        }),
      );
    }
  }

  async function burst(messages: number): Promise<void> {
    left = messages;
    await Promise.all(Array.from({ length: callers }, caller));
    await Promise.all(outcomes.splice(0));
  }

  await burst(Math.min(2000, count));
  waits.length = 0;
  const started = systemClock.monotonicMs();
  const all = process.cpuUsage();
  const main = process.threadCpuUsage();
  await burst(count);
  const seconds = (systemClock.monotonicMs() - started) / 1000;
  const mainUsed = process.threadCpuUsage(main);
  const allUsed = process.cpuUsage(all);
  const mainUs = mainUsed.user + mainUsed.system;
  const restUs = allUsed.user + allUsed.system - mainUs;
  waits.sort((a, b) => a - b);
  const p = (share: number) => (waits[Math.floor(waits.length * share)] ?? 0).toFixed(2);
  console.log(
    `| ${callers} | ${Math.round(count / seconds)} | ${(mainUs / count).toFixed(1)} | ${(restUs / count).toFixed(1)} | ${p(0.5)} | ${p(0.99)} | ${Math.round(process.memoryUsage().rss / 1048576)} |`,
  );
  await store.close();
  rmSync(dir, { recursive: true });
}

const folder = process.argv[2] ?? tmpdir();
const count = Number(process.argv[3] ?? 20_000);
console.log(
  '| callers | messages/s | main µs | writer µs | p50 ms | p99 ms | RSS MiB |\n|---|---|---|---|---|---|---|',
);
for (const callers of [1, 8, 64]) await run(folder, callers, callers === 1 ? Math.min(count, 5000) : count);
