/**
 * The PostgreSQL engine against what any engine must do. While it is being built, the parts that it passes are listed
 * here; it is complete when that is `EVERY_SHARED_PART`.
 */
import { afterAll, beforeAll } from 'vitest';
import { describeAcceptance } from '../conformance/acceptance.ts';
import { describeAlerts } from '../conformance/alerts.ts';
import { describeAudit } from '../conformance/audit.ts';
import { describeCallPortions } from '../conformance/call-portions.ts';
import { describeCalls } from '../conformance/calls.ts';
import { describeCancelRetry } from '../conformance/cancel-retry.ts';
import { describeCaptures } from '../conformance/captures.ts';
import { describeCauses } from '../conformance/causes.ts';
import { describeClaims } from '../conformance/claims.ts';
import { describeStoreConformance, type Part } from '../conformance/conformance.ts';
import { describeDomains } from '../conformance/domains.ts';
import { describeErasing } from '../conformance/erasing.ts';
import { describeEvents } from '../conformance/events.ts';
import { describeInstance } from '../conformance/instance.ts';
import { describeKeyed } from '../conformance/keyed.ts';
import { describeLeftovers } from '../conformance/leftovers.ts';
import { describeLimits } from '../conformance/limits.ts';
import { describeMessages } from '../conformance/messages.ts';
import { describeNodes } from '../conformance/nodes.ts';
import { describeNotices } from '../conformance/notices.ts';
import { describePeople } from '../conformance/people.ts';
import { describeReaders } from '../conformance/readers.ts';
import { describeRepeats } from '../conformance/repeats.ts';
import { describeRetention } from '../conformance/retention.ts';
import { describeReturns } from '../conformance/returns.ts';
import { describeRouteKeys } from '../conformance/route-keys.ts';
import { describeSandboxRules } from '../conformance/sandbox-rules.ts';
import { describeScheduling } from '../conformance/scheduling.ts';
import { describeSettling } from '../conformance/settling.ts';
import { describeSharing } from '../conformance/sharing.ts';
import { describeSmtpCredentials } from '../conformance/smtp-credentials.ts';
import { describeStats } from '../conformance/stats.ts';
import { describeSuppressions } from '../conformance/suppressions.ts';
import { describeTemplates } from '../conformance/templates.ts';
import { describeTls } from '../conformance/tls.ts';
import { describeTokens } from '../conformance/tokens.ts';
import { describeWaiting } from '../conformance/waiting.ts';
import { describeWarmups } from '../conformance/warmups.ts';
import { describeWebhookChanges } from '../conformance/webhook-changes.ts';
import { describeWebhooks } from '../conformance/webhooks.ts';
import { describeWidePages } from '../conformance/wide-pages.ts';
import { describePostgres, openedStore, type TestDatabase, testDatabase } from './test-support.ts';

const PASSED: readonly Part[] = [
  describeAcceptance,
  describeAlerts,
  describeAudit,
  describeCallPortions,
  describeCalls,
  describeCancelRetry,
  describeCaptures,
  describeCauses,
  describeClaims,
  describeDomains,
  describeErasing,
  describeEvents,
  describeInstance,
  describeKeyed,
  describeLeftovers,
  describeLimits,
  describeMessages,
  describeNodes,
  describeNotices,
  describePeople,
  describeReaders,
  describeRepeats,
  describeRetention,
  describeReturns,
  describeRouteKeys,
  describeSandboxRules,
  describeScheduling,
  describeSettling,
  describeSharing,
  describeSmtpCredentials,
  describeStats,
  describeSuppressions,
  describeTemplates,
  describeTls,
  describeTokens,
  describeWaiting,
  describeWarmups,
  describeWebhookChanges,
  describeWebhooks,
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
