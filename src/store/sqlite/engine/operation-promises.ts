/**
 * What each operation of the store asks of a commit or of a reader: whether its caller is answered only after a sync, how
 * long it may wait for company, how much it writes, whether it may run long. An operation that no list names is committed at once, without a
 * sync of its own, or read beside everybody.
 */
import type { ReadName, WriteName } from './operation-types.ts';
import type { WriteCall } from './protocol.ts';

/** Answered only after a sync: what a client or a later send relies on. The rest survives the process, not the power. */
export const SYNCED: ReadonlySet<WriteName> = new Set<WriteName>([
  'instanceId',
  'beginEpoch',
  // Who takes over relies on it.
  'endEpoch',
  'commitAccepted',
  // A claim lost with the power would let the row go out again without the mark of a possible duplicate.
  'claimDue',
  'cancelQueued',
  'requeue',
  'reschedule',
  // What it reserves must not be reserved again.
  'saveWarmup',
  'addSuppressions',
  'removeSuppressions',
  // Facts from outside (a complaint, an opt-out) are told once; nobody repeats them.
  'appendEvents',
  'recordReturn',
  'appendReaderFacts',
  'unsubscribe',
  'createWebhook',
  'deleteWebhook',
  'updateWebhook',
  'rotateWebhookSecret',
  'addDomain',
  'setDomainStatus',
  'updateDomain',
  'rotateDomainKey',
  'replaceRetiredKey',
  'removeDomain',
  'addToken',
  'revokeToken',
  'endMadeWith',
  'rotateToken',
  'addSigningKey',
  'addSmtpCredential',
  'eraseMessages',
  'eraseElsewhere',
  'eraseLooseEvents',
  'removeSmtpCredential',
  'addTemplate',
  'changeTemplate',
  'removeTemplate',
  'removeOverride',
  // Who keeps mail back relies on it.
  'addHold',
  'addSandboxRule',
  'removeSandboxRules',
  'releaseHolds',
]);

/** Searches that may run long: no other read waits behind one. */
export const SEARCHES: ReadonlySet<ReadName> = new Set<ReadName>([
  'findEvents',
  'countEvents',
  'outcomeRates',
  'returnedDomains',
  'listSuppressions',
  'stats',
  'listMessages',
  'findCaptures',
  'tlsCounts',
  'listCalls',
  'countPendingCalls',
  'waitingQueues',
  'domainsWithMail',
  'findExpired',
  'findMentions',
  'contentBytes',
  'storedBytes',
  'findOldestContents',
  'listCauses',
]);

/** Portions of longer work, each bounded by itself: a commit takes one of them behind everything else. */
export const PORTIONS: ReadonlySet<WriteName> = new Set<WriteName>([
  'addSuppressions',
  'purgeSuppressions',
  'prepareCalls',
  'replayCalls',
  'purgeCauses',
  'deleteCaptures',
  'purgeIdempotency',
  'eraseMessages',
  'eraseElsewhere',
  'eraseLooseEvents',
  'scrub',
  'purgeContents',
  'purgeMessages',
  'purgeCaptures',
  'purgeCalls',
  'purgeLooseEvents',
  'purgeOptOuts',
  'purgeLeftovers',
  'purgeOverrides',
  'purgePathStates',
  'purgePathChanges',
  'purgeEgressFacts',
  'purgeHolds',
  'purgeTls',
]);

/** How many rows an operation writes, about: a commit is kept short by their sum. */
export function rowsOf(call: WriteCall): number {
  switch (call.name) {
    case 'commitAccepted':
      return call.params.messages.reduce((sum, { recipients }) => sum + recipients.length, 1);
    case 'cancelQueued':
    case 'requeue':
    case 'reschedule':
      return call.params.recipients.length;
    case 'settle':
      return call.params.settlements.length;
    case 'release':
      return call.params.deliveryIds.length;
    case 'claimDue':
    case 'claimExpired':
    case 'prepareCalls':
    case 'claimCalls':
    case 'reclaim':
    case 'refile':
      return call.params.limit;
    default:
      return patientRows(call) ?? 1;
  }
}

/** Rows of the operations that may wait for company; null for all others. */
export function patientRows(call: WriteCall): number | null {
  switch (call.name) {
    case 'settle':
      // A test that waits for its captured mail waits for this commit.
      if (call.params.settlements.some((settlement) => settlement.capture !== undefined)) return null;
      return call.params.settlements.length;
    case 'settleCalls':
      return call.params.settlements.length;
    case 'appendEvents':
      return call.params.events.length;
    case 'appendReaderFacts':
      return call.params.facts.length;
    case 'putCaptureTexts':
      return call.params.texts.length;
    case 'touchToken':
      return 1;
    default:
      return null;
  }
}
