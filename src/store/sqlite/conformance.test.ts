/** The SQLite engine against what any engine must do. */
import { systemClock } from '../../lib/clock.ts';
import { describeStoreConformance } from '../conformance/conformance.ts';
import { openSqliteStore } from './open.ts';
import { temporaryFolder } from './test-support.ts';

describeStoreConformance('SQLite', async () => {
  const folder = temporaryFolder();
  const open = () => openSqliteStore({ path: folder.file('store.db'), clock: systemClock, patienceMs: 1 });
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
});
