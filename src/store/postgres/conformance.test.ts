/** The PostgreSQL engine against what any engine must do, also for several stores over the same database. */
import { afterAll, beforeAll } from 'vitest';
import { describeStoreConformance, EVERY_HINTING_PART } from '../conformance/conformance.ts';
import { describePostgres, openedStore, type TestDatabase, testDatabase } from './test-support.ts';

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database?.close());
  describeStoreConformance('PostgreSQL', () => openedStore(database), EVERY_HINTING_PART);
});
