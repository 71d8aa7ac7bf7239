/**
 * The PostgreSQL engine against what any engine must do. While it is being built, the parts that it passes are listed
 * here; it is complete when that is `EVERY_SHARED_PART`.
 */
import { afterAll, beforeAll } from 'vitest';
import { describeAudit } from '../conformance/audit.ts';
import { describeStoreConformance, type Part } from '../conformance/conformance.ts';
import { describeInstance } from '../conformance/instance.ts';
import { describeLimits } from '../conformance/limits.ts';
import { describePeople } from '../conformance/people.ts';
import { describeSmtpCredentials } from '../conformance/smtp-credentials.ts';
import { describeTemplates } from '../conformance/templates.ts';
import { describeTls } from '../conformance/tls.ts';
import { describeWarmups } from '../conformance/warmups.ts';
import { describePostgres, openedStore, type TestDatabase, testDatabase } from './test-support.ts';

const PASSED: readonly Part[] = [
  describeInstance,
  describeAudit,
  describeLimits,
  describePeople,
  describeSmtpCredentials,
  describeTemplates,
  describeTls,
  describeWarmups,
];

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database?.close());
  describeStoreConformance('PostgreSQL', () => openedStore(database), PASSED);
});
