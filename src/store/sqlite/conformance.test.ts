/**
 * The SQLite engine against what any engine must do. Every part runs on the caller's thread, where opening costs a
 * tenth, alone and as one that other processes may share. Everything that goes in or comes out is cloned there as a
 * message port clones it: a value that loses something on the way to a thread fails here. The parts below run on the
 * real threads as well: what is theirs alone is starting, closing and dying, contents in shared memory, errors that
 * cross, and readers that see what the writer has committed.
 */
import { copyFileSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { describeAcceptance } from '../conformance/acceptance.ts';
import { describeCaptures } from '../conformance/captures.ts';
import { describeClaims } from '../conformance/claims.ts';
import { describeStoreConformance, EVERY_SHARED_PART } from '../conformance/conformance.ts';
import { describeEvents } from '../conformance/events.ts';
import { openedBy } from '../conformance/fixtures.ts';
import { describeInstance } from '../conformance/instance.ts';
import { describeKeyed } from '../conformance/keyed.ts';
import { describeNodes } from '../conformance/nodes.ts';
import { describeReaders } from '../conformance/readers.ts';
import { describeSharing } from '../conformance/sharing.ts';
import type { Store } from '../store.ts';
import { openSqliteStore } from './open.ts';
import { temporaryFolder } from './test-support.ts';

const ON_THREADS = [
  describeInstance,
  describeNodes,
  describeAcceptance,
  describeClaims,
  describeKeyed,
  describeEvents,
  describeCaptures,
  describeReaders,
];

describeStoreConformance('SQLite', () => opened({ threads: 0 }));
describeStoreConformance('SQLite shared', () => opened({ threads: 0, shared: true }), EVERY_SHARED_PART);
describeStoreConformance('SQLite on threads', () => opened({}), ON_THREADS);
describeStoreConformance('SQLite shared on threads', () => opened({ shared: true }), [describeSharing]);

/** A new database: migrating an empty file takes five times as long as opening a copy of this one. */
const migrated = temporaryFolder();
beforeAll(async () => {
  const path = migrated.file('store.db');
  await (await openSqliteStore({ path, clock: systemClock, threads: 0 })).close();
});
afterAll(() => migrated.remove());

async function opened(options: { threads?: 0; shared?: boolean }) {
  const folder = temporaryFolder();
  const path = folder.file('store.db');
  copyFileSync(migrated.file('store.db'), path);
  const open = async () => {
    const store = await openSqliteStore({ path, clock: systemClock, patienceMs: 1, ...options });
    return options.threads === 0 ? cloning(store) : store;
  };
  return openedBy(open, () => folder.remove());
}

/** The store with its parameters and results cloned on the way, as between threads. */
function cloning(store: Store): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      return (...params: unknown[]) => {
        const result: unknown = method.apply(target, params.map(crossed));
        return result instanceof Promise ? result.then(crossed) : result;
      };
    },
  });
}

/** A value as it arrives on the other side; whoever listens stays on this one. */
function crossed(value: unknown): unknown {
  return typeof value === 'function' ? value : structuredClone(value);
}
