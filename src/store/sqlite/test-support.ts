/** Shared by the tests of this engine: a folder for database files, stores over it, and a clock that is set by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Store } from '../store.ts';
import type { NewMessage } from '../topics/acceptance.ts';
import { commitAccepted } from './acceptance.ts';
import type { Connection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { createSession, type Session } from './engine/session.ts';
import { openSqliteStore } from './open.ts';

/** Makes a folder for one test's files; `file` gives a path inside, `remove` deletes everything. */
export function temporaryFolder(): { file(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  return {
    file: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A store over a file of its own, which works on the thread of the test; `close` also deletes the file. */
export async function openTestStore(
  clock: Clock,
  options: Partial<Parameters<typeof openSqliteStore>[0]> = {},
): Promise<Store> {
  const folder = temporaryFolder();
  const path = folder.file('store.db');
  const store = await openSqliteStore({ path, clock, patienceMs: 0, threads: 0, ...options });
  return {
    ...store,
    async close() {
      await store.close();
      folder.remove();
    },
  };
}

/**
 * A folder with stores over its files, without waiting for locks; `close` closes everything that was opened and deletes
 * it.
 */
export function storeFolder() {
  const folder = temporaryFolder();
  const opened: Store[] = [];
  return {
    file: folder.file,
    async open(path = folder.file('store.db'), shared = false): Promise<Store> {
      const store = await openSqliteStore({ path, clock: systemClock, patienceMs: 1, shared });
      opened.push(store);
      return store;
    },
    async close(): Promise<void> {
      await Promise.all(opened.map((store) => store.close()));
      folder.remove();
    },
  };
}

/** A new database, unlocked, that contains these messages, committed in one transaction. */
export function filledDatabase(
  path: string,
  messages: Iterable<NewMessage>,
): { db: Connection; session: Session } {
  const db = openDatabase(path);
  const session = createSession(db);
  db.exec('BEGIN');
  for (const message of messages) {
    commitAccepted(session, { messages: [message], epoch: 1, idempotency: null });
  }
  db.exec('COMMIT');
  return { db, session };
}

/** A clock that stands still until `advance`, which fires due timers in order. */
export function createManualClock(): Clock & { advance(ms: number): void } {
  let now = 1_790_000_000_000;
  let timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    monotonicMs: () => now,
    setTimer(delayMs, fire) {
      const timer = { at: now + Math.max(0, delayMs), fire };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        now = next.at;
        next.fire();
      }
      now = until;
    },
  };
}
