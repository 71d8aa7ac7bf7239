/**
 * The SQLite engine against what any engine must do: with its threads, and on the caller's thread alone, there as one that
 * other processes may share.
 */
import { systemClock } from '../../lib/clock.ts';
import { describeStoreConformance } from '../conformance/conformance.ts';
import { openSqliteStore } from './open.ts';
import { temporaryFolder } from './test-support.ts';

describeStoreConformance('SQLite', () => opened({}));
describeStoreConformance('SQLite without threads, shared', () => opened({ threads: 0, shared: true }));

async function opened(options: { threads?: 0; shared?: boolean }) {
  const folder = temporaryFolder();
  const open = () =>
    openSqliteStore({ path: folder.file('store.db'), clock: systemClock, patienceMs: 1, ...options });
  let store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      folder.remove();
    },
  };
}
