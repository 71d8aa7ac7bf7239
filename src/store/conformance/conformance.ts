/**
 * Conformance: every method and promise of `Store`, tested only through the interface. Each test runs on a new empty
 * store. An engine is complete when this passes unchanged.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import { describeAcceptance } from './acceptance.ts';
import { describeAlerts } from './alerts.ts';
import { describeAudit } from './audit.ts';
import { describeCallPortions } from './call-portions.ts';
import { describeCalls } from './calls.ts';
import { describeCancelRetry } from './cancel-retry.ts';
import { describeCaptures } from './captures.ts';
import { describeCauses } from './causes.ts';
import { describeClaims } from './claims.ts';
import { describeDmarcReports } from './dmarc-reports.ts';
import { describeDomains } from './domains.ts';
import { describeErasing } from './erasing.ts';
import { describeEvents } from './events.ts';
import type { OpenedStore, Suite } from './fixtures.ts';
import { describeHints } from './hints.ts';
import { describeInstance } from './instance.ts';
import { describeKeyed } from './keyed.ts';
import { describeLeftovers } from './leftovers.ts';
import { describeLimits } from './limits.ts';
import { describeMessages } from './messages.ts';
import { describeNodes } from './nodes.ts';
import { describeNotices } from './notices.ts';
import { describePeople } from './people.ts';
import { describeReaders } from './readers.ts';
import { describeRepeats } from './repeats.ts';
import { describeRetention } from './retention.ts';
import { describeReturns } from './returns.ts';
import { describeRouteKeys } from './route-keys.ts';
import { describeSandboxRules } from './sandbox-rules.ts';
import { describeScheduling } from './scheduling.ts';
import { describeSettling } from './settling.ts';
import { describeSharing } from './sharing.ts';
import { describeSmtpCredentials } from './smtp-credentials.ts';
import { describeStats } from './stats.ts';
import { describeSuppressions } from './suppressions.ts';
import { describeTemplates } from './templates.ts';
import { describeTls } from './tls.ts';
import { describeTokens } from './tokens.ts';
import { describeWaiting } from './waiting.ts';
import { describeWarmups } from './warmups.ts';
import { describeWebhookChanges } from './webhook-changes.ts';
import { describeWebhooks } from './webhooks.ts';
import { describeWidePages } from './wide-pages.ts';

/** A topic of the suite. */
export type Part = (suite: Suite) => void;

/** Everything an engine must do. */
const EVERY_PART: readonly Part[] = [
  describeInstance,
  describeNodes,
  describeAcceptance,
  describeClaims,
  describeWaiting,
  describeRouteKeys,
  describeSettling,
  describeCancelRetry,
  describeScheduling,
  describeKeyed,
  describeRepeats,
  describeSuppressions,
  describeEvents,
  describeWarmups,
  describeReturns,
  describeNotices,
  describeCauses,
  describeStats,
  describeWebhooks,
  describeWidePages,
  describeWebhookChanges,
  describeCallPortions,
  describeCalls,
  describeDomains,
  describeDmarcReports,
  describeTokens,
  describeSmtpCredentials,
  describePeople,
  describeAlerts,
  describeAudit,
  describeTemplates,
  describeMessages,
  describeCaptures,
  describeSandboxRules,
  describeLeftovers,
  describeRetention,
  describeErasing,
  describeLimits,
  describeTls,
  describeReaders,
];

/** The same for an engine that several processes can share. */
export const EVERY_SHARED_PART: readonly Part[] = [...EVERY_PART, describeSharing];

/** The same for an engine whose stores tell each other of changes. */
export const EVERY_HINTING_PART: readonly Part[] = [...EVERY_SHARED_PART, describeHints];

/** Declares the suite, or the given parts of it, for one engine. `openStore` must return an empty store each time. */
export function describeStoreConformance(
  name: string,
  openStore: () => Promise<OpenedStore>,
  parts: readonly Part[] = EVERY_PART,
): void {
  describe(`a ${name} store`, () => {
    let opened: OpenedStore | undefined;
    beforeEach(async () => {
      opened = await openStore();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });
    const current = (): OpenedStore => {
      if (opened === undefined) throw new Error('No store is open outside a test');
      return opened;
    };
    const asked = new Set<PropertyKey>();
    const suite: Suite = {
      store: noting(() => current().store, asked),
      async reopen() {
        const now = current();
        now.store = await now.reopen();
      },
      openAnother: () => current().openAnother(),
    };
    for (const part of parts) part(suite);

    // Behind all others, which have noted what they asked.
    if ([EVERY_PART, EVERY_SHARED_PART, EVERY_HINTING_PART].includes(parts)) {
      it('is asked for everything that it can do', () => {
        const { store } = current();
        const operations = Object.keys(store).filter(
          (name) => typeof store[name as keyof Store] === 'function',
        );
        expect(operations.length).toBeGreaterThan(100);
        expect(
          operations.filter((name) => !asked.has(name)),
          'try these',
        ).toEqual([]);
      });
    }
  });
}

/** The current store, with the names of the operations that are called noted in `asked`. */
function noting(current: () => Store, asked: Set<PropertyKey>): Store {
  return new Proxy({} as Store, {
    get(_, name) {
      asked.add(name);
      return Reflect.get(current(), name);
    },
  });
}
