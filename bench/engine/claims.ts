// The queue at a million rows, one blocked site holding 40 % of them: what asking which queues are due and claiming from
// one cost, straight at the store. Rows are stored as acceptance stores them.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { NewMessage } from '../../src/store/topics/acceptance.ts';
import { newId, random, storedMessage, storedRecipient } from '../stored-message.ts';
import { quantile } from './server.ts';

const RECIPIENTS = 50;
const SITES = 1_000;

export async function measureClaims(rows: number): Promise<string> {
  const dir = mkdtempSync('/var/tmp/postrider-claims-');
  const store = await openSqliteStore({ path: join(dir, 'db'), clock: systemClock });
  try {
    const epoch = await store.beginEpoch({ nodeId: 'bench', now: systemClock.now() });
    const content = random.bytes(2_048);
    for (let done = 0; done < rows; ) {
      const messages = Array.from({ length: 20 }, () => message(content, done));
      done += 20 * RECIPIENTS;
      await store.commitAccepted({ messages, epoch, idempotency: null });
    }
    const now = systemClock.now() + 1_000;
    const due = await timed(50, () => store.dueQueues({ dueBefore: now, limit: 10_000 }));
    const queues = (await store.dueQueues({ dueBefore: now, limit: 10_000 })).filter(
      ({ recipientDomain }) => recipientDomain !== 'blocked.example',
    );
    let next = 0;
    const claim = await timed(500, async () => {
      const queueId = queues[next++ % queues.length]?.queueId ?? 0;
      const claimed = await store.claimDue({
        queueId,
        epoch,
        now,
        limit: 20,
        maxBytes: 1e7,
        eventId: newId(),
      });
      if (claimed.length === 0) throw new Error('a due queue gave nothing');
    });
    const show = (all: number[]) => `${quantile(all, 0.5).toFixed(2)} | ${quantile(all, 0.99).toFixed(2)}`;
    return `| ${rows} rows, ${SITES} sites, 40 % in one | due queues ${show(due)} | claim of 20 ${show(claim)} |`;
  } finally {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function message(content: Uint8Array, first: number): NewMessage {
  const now = systemClock.now();
  const recipients = Array.from({ length: RECIPIENTS }, (_, i) => {
    const n = first + i;
    const domain = n % 5 < 2 ? 'blocked.example' : `site${Math.floor(Math.random() * SITES)}.example`;
    return storedRecipient({
      address: `r${n}@${domain}`,
      domain,
      kind: 'To',
      state: 'queued',
      dueAt: now,
      waitReason: null,
    });
  });
  return storedMessage(content, recipients);
}

async function timed(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const before = performance.now();
    await work();
    all.push(performance.now() - before);
  }
  return all;
}
