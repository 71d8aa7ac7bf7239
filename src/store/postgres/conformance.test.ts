/**
 * The PostgreSQL engine against what any engine must do. While it is being built, the parts that it passes are listed
 * here; it is complete when that is `EVERY_SHARED_PART`.
 */
import { afterAll, beforeAll } from 'vitest';
import { describeAcceptance } from '../conformance/acceptance.ts';
import { describeAudit } from '../conformance/audit.ts';
import { describeClaims } from '../conformance/claims.ts';
import { describeStoreConformance, type Part } from '../conformance/conformance.ts';
import { describeEvents } from '../conformance/events.ts';
import { describeInstance } from '../conformance/instance.ts';
import { describeLimits } from '../conformance/limits.ts';
import { describeMessages } from '../conformance/messages.ts';
import { describeNodes } from '../conformance/nodes.ts';
import { describePeople } from '../conformance/people.ts';
import { describeSettling } from '../conformance/settling.ts';
import { describeSmtpCredentials } from '../conformance/smtp-credentials.ts';
import { describeTemplates } from '../conformance/templates.ts';
import { describeTls } from '../conformance/tls.ts';
import { describeWarmups } from '../conformance/warmups.ts';
import { describeWidePages } from '../conformance/wide-pages.ts';
import { describePostgres, openedStore, type TestDatabase, testDatabase } from './test-support.ts';

const PASSED: readonly Part[] = [
  describeAcceptance,
  describeAudit,
  describeClaims,
  describeEvents,
  describeInstance,
  describeLimits,
  describeMessages,
  describeNodes,
  describePeople,
  describeSettling,
  describeSmtpCredentials,
  describeTemplates,
  describeTls,
  describeWarmups,
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
