/**
 * The PostgreSQL engine against what any engine must do. While it is being built, the parts that it passes are listed
 * here; it is complete when that is `EVERY_SHARED_PART`.
 */
import { afterAll, beforeAll } from 'vitest';
import { describeAcceptance } from '../conformance/acceptance.ts';
import { describeClaims } from '../conformance/claims.ts';
import { describeStoreConformance, type Part } from '../conformance/conformance.ts';
import { describeEvents } from '../conformance/events.ts';
import { describeInstance } from '../conformance/instance.ts';
import { describeMessages } from '../conformance/messages.ts';
import { describeNodes } from '../conformance/nodes.ts';
import { describeSettling } from '../conformance/settling.ts';
import { describeWidePages } from '../conformance/wide-pages.ts';
import { describePostgres, openedStore, type TestDatabase, testDatabase } from './test-support.ts';

const PASSED: readonly Part[] = [
  describeAcceptance,
  describeClaims,
  describeEvents,
  describeInstance,
  describeMessages,
  describeNodes,
  describeSettling,
  describeWidePages,
];

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database?.close());
  describeStoreConformance('PostgreSQL', () => openedStore(database), PASSED);
});
