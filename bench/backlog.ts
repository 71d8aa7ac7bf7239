// A database with so many recipients queued, as a bad day leaves them: put off, due again within the next hours, spread
// over a thousand sites. Made once through the store itself and copied for each run; nothing of it falls due meanwhile.
import { constants, copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/lib/clock.ts';
import { openSqliteStore } from '../src/store/sqlite/open.ts';
import type { NewMessage } from '../src/store/topics/acceptance.ts';
import { random, storedMessage, storedRecipient } from './stored-message.ts';

const RECIPIENTS = 50;
const SITES = 1_000;
const MESSAGES_A_COMMIT = 20;
const CONTENT_BYTES = 2_048;
const HOUR_MS = 3_600_000;

/** A database to begin runs with. */
export type Backlog = {
  readonly recipients: number;
  /** Puts a copy where a server will look for its database. */
  copyTo(path: string): void;
};

/** Makes the database in a folder of its own below `baseDir`; whoever made `baseDir` removes it. */
export async function makeBacklog(baseDir: string, recipients: number): Promise<Backlog> {
  const made = join(mkdtempSync(join(baseDir, 'backlog-')), 'postrider.db');
  const store = await openSqliteStore({ path: made, clock: systemClock });
  try {
    const epoch = await store.beginEpoch({ nodeId: 'bench', now: systemClock.now() });
    const content = random.bytes(CONTENT_BYTES);
    let done = 0;
    while (done < recipients) {
      const messages: NewMessage[] = [];
      for (let i = 0; i < MESSAGES_A_COMMIT && done < recipients; i += 1) {
        const count = Math.min(RECIPIENTS, recipients - done);
        messages.push(message(content, done, count));
        done += count;
      }
      await store.commitAccepted({ messages, epoch, idempotency: null });
    }
  } finally {
    await store.close();
  }
  return { recipients, copyTo: (path) => copyFileSync(made, path, constants.COPYFILE_FICLONE) };
}

function message(content: Uint8Array, first: number, count: number): NewMessage {
  const now = systemClock.now();
  const recipients = Array.from({ length: count }, (_, i) => {
    const n = first + i;
    // A step that shares no factor with the number of sites visits all of them.
    const domain = `site${(n * 7) % SITES}.example`;
    return storedRecipient({
      address: `reader${n}@${domain}`,
      domain,
      kind: 'BCC',
      state: 'queued',
      dueAt: now + HOUR_MS + ((n * 7919) % (4 * HOUR_MS)),
      waitReason: 'deferred',
    });
  });
  return storedMessage(content, recipients, { domain: 'queued.example' });
}
