/**
 * Names and shapes of the operations that cross to the threads, derived from the Store interface: whatever it
 * promises there, an operation takes and gives here, synchronously. Adding a method to Store without an operation
 * for it is a type error in open.ts, an operation without an entry in its table one in operations.ts.
 */
import type { Store } from '../../store.ts';
import type { Connection } from './connection.ts';
import type { Session } from './session.ts';

/** Operations that change something; they run in the writer thread, in the order given. */
export type WriteName =
  | 'instanceId'
  | 'beginEpoch'
  | 'heartbeat'
  | 'endEpoch'
  | 'reclaim'
  | 'refile'
  | 'takeLeases'
  | 'giveLeases'
  | 'commitAccepted'
  | 'claimDue'
  | 'hurry'
  | 'claimExpired'
  | 'settle'
  | 'release'
  | 'cancelQueued'
  | 'requeue'
  | 'reschedule'
  | 'addSuppressions'
  | 'removeSuppressions'
  | 'purgeSuppressions'
  | 'appendEvents'
  | 'recordReturn'
  | 'putOffNotices'
  | 'appendReaderFacts'
  | 'unsubscribe'
  | 'createWebhook'
  | 'deleteWebhook'
  | 'updateWebhook'
  | 'rotateWebhookSecret'
  | 'prepareCalls'
  | 'claimCalls'
  | 'settleCalls'
  | 'replayCalls'
  | 'addDomain'
  | 'setDomainStatus'
  | 'updateDomain'
  | 'rotateDomainKey'
  | 'replaceRetiredKey'
  | 'removeDomain'
  | 'addToken'
  | 'revokeToken'
  | 'endMadeWith'
  | 'rotateToken'
  | 'touchToken'
  | 'addSigningKey'
  | 'addSmtpCredential'
  | 'removeSmtpCredential'
  | 'saveWarmup'
  | 'addTemplate'
  | 'changeTemplate'
  | 'removeTemplate'
  | 'purgeCauses'
  | 'deleteCaptures'
  | 'putCaptureTexts'
  | 'addSandboxRule'
  | 'removeSandboxRules'
  | 'useSandboxRule'
  | 'purgeIdempotency'
  | 'eraseMessages'
  | 'eraseElsewhere'
  | 'eraseLooseEvents'
  | 'scrub'
  | 'purgeContents'
  | 'purgeMessages'
  | 'purgeCaptures'
  | 'purgeCalls'
  | 'purgeLooseEvents'
  | 'purgeOptOuts'
  | 'purgeLeftovers'
  | 'putOverrides'
  | 'removeOverride'
  | 'purgeOverrides'
  | 'putPathStates'
  | 'purgePathStates'
  | 'addPathChanges'
  | 'purgePathChanges'
  | 'putEgressFacts'
  | 'purgeEgressFacts'
  | 'addHold'
  | 'releaseHolds'
  | 'purgeHolds'
  | 'putMtaSts'
  | 'addTlsCounts'
  | 'purgeTls';

/** Operations that only read; each sees every write that resolved before it was called. */
export type ReadName = Exclude<
  keyof Store,
  WriteName | 'capabilities' | 'writable' | 'onCaptured' | 'onSuppressed' | 'close'
>;

export type ParamsOf<Name extends WriteName | ReadName> = Parameters<Store[Name]>[0];
export type ResultOf<Name extends WriteName | ReadName> = Awaited<ReturnType<Store[Name]>>;

export type WriteTable = {
  [Name in WriteName]: (session: Session, params: ParamsOf<Name>) => ResultOf<Name>;
};
export type ReadTable = {
  [Name in ReadName]: (db: Connection, params: ParamsOf<Name>) => ResultOf<Name>;
};
