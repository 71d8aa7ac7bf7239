/**
 * The tables that the threads run: one synchronous function per operation of the Store, and which of them wait for
 * company. A name that is missing here does not compile.
 */
import * as accept from './accept.ts';
import { prepareCalls } from './call-portions.ts';
import * as cancelRetry from './cancel-retry.ts';
import * as captures from './captures.ts';
import * as causes from './causes.ts';
import * as domains from './domains.ts';
import * as egress from './egress.ts';
import type { ReadTable, WriteTable } from './engine/operation-types.ts';
import * as erasing from './erasing.ts';
import * as events from './events.ts';
import * as instance from './instance.ts';
import { purgeLeftovers } from './leftovers.ts';
import * as limits from './limits.ts';
import * as messages from './messages.ts';
import * as nodes from './nodes.ts';
import * as notices from './notices.ts';
import * as optOuts from './opt-outs.ts';
import * as queue from './queue.ts';
import * as quota from './quota.ts';
import * as readers from './readers.ts';
import { refile } from './refile.ts';
import * as retention from './retention.ts';
import * as returns from './returns.ts';
import * as sandboxRules from './sandbox-rules.ts';
import * as smtpCredentials from './smtp-credentials.ts';
import * as stats from './stats.ts';
import * as suppressions from './suppressions.ts';
import * as templates from './templates.ts';
import * as tls from './tls.ts';
import * as tokens from './tokens.ts';
import * as waiting from './waiting.ts';
import * as warmups from './warmups.ts';
import * as webhookChanges from './webhook-changes.ts';
import * as webhooks from './webhooks.ts';

/** Everything the writer thread can do. */
export const WRITES: WriteTable = {
  instanceId: instance.instanceId,
  beginEpoch: nodes.beginEpoch,
  heartbeat: nodes.heartbeat,
  endEpoch: nodes.endEpoch,
  reclaim: nodes.reclaim,
  takeLeases: nodes.takeLeases,
  giveLeases: nodes.giveLeases,
  refile,
  commitAccepted: accept.commitAccepted,
  claimDue: queue.claimDue,
  hurry: queue.hurry,
  claimExpired: queue.claimExpired,
  settle: queue.settle,
  release: queue.release,
  cancelQueued: cancelRetry.cancelQueued,
  requeue: cancelRetry.requeue,
  reschedule: cancelRetry.reschedule,
  addSuppressions: suppressions.addSuppressions,
  removeSuppressions: suppressions.removeSuppressions,
  purgeSuppressions: suppressions.purgeSuppressions,
  appendEvents: events.appendEvents,
  recordReturn: returns.recordReturn,
  putOffNotices: notices.putOffNotices,
  appendReaderFacts: readers.appendReaderFacts,
  unsubscribe: readers.unsubscribe,
  createWebhook: webhooks.createWebhook,
  deleteWebhook: webhooks.deleteWebhook,
  updateWebhook: webhookChanges.updateWebhook,
  rotateWebhookSecret: webhookChanges.rotateWebhookSecret,
  prepareCalls,
  claimCalls: webhooks.claimCalls,
  settleCalls: webhooks.settleCalls,
  replayCalls: webhooks.replayCalls,
  addDomain: domains.addDomain,
  setDomainStatus: domains.setDomainStatus,
  updateDomain: domains.updateDomain,
  rotateDomainKey: domains.rotateDomainKey,
  replaceRetiredKey: domains.replaceRetiredKey,
  removeDomain: domains.removeDomain,
  addToken: tokens.addToken,
  revokeToken: tokens.revokeToken,
  endMadeWith: tokens.endMadeWith,
  rotateToken: tokens.rotateToken,
  touchToken: tokens.touchToken,
  addSigningKey: tokens.addSigningKey,
  addSmtpCredential: smtpCredentials.addSmtpCredential,
  removeSmtpCredential: smtpCredentials.removeSmtpCredential,
  saveWarmup: warmups.saveWarmup,
  addTemplate: templates.addTemplate,
  changeTemplate: templates.changeTemplate,
  removeTemplate: templates.removeTemplate,
  purgeCauses: causes.purgeCauses,
  deleteCaptures: captures.deleteCaptures,
  putCaptureTexts: captures.putCaptureTexts,
  addSandboxRule: sandboxRules.addSandboxRule,
  removeSandboxRules: sandboxRules.removeSandboxRules,
  useSandboxRule: sandboxRules.useSandboxRule,
  purgeIdempotency: accept.purgeIdempotency,
  eraseMessages: erasing.eraseMessages,
  eraseElsewhere: erasing.eraseElsewhere,
  eraseLooseEvents: erasing.eraseLooseEvents,
  scrub: erasing.scrub,
  purgeContents: retention.purgeContents,
  purgeMessages: retention.purgeMessages,
  purgeCaptures: retention.purgeCaptures,
  purgeCalls: retention.purgeCalls,
  purgeLooseEvents: retention.purgeLooseEvents,
  purgeOptOuts: optOuts.purgeOptOuts,
  purgeLeftovers,
  putOverrides: limits.putOverrides,
  removeOverride: limits.removeOverride,
  purgeOverrides: limits.purgeOverrides,
  putPathStates: limits.putPathStates,
  purgePathStates: limits.purgePathStates,
  addPathChanges: egress.addPathChanges,
  purgePathChanges: egress.purgePathChanges,
  putEgressFacts: egress.putEgressFacts,
  purgeEgressFacts: egress.purgeEgressFacts,
  addHold: limits.addHold,
  releaseHolds: limits.releaseHolds,
  purgeHolds: limits.purgeHolds,
  putMtaSts: tls.putMtaSts,
  addTlsCounts: tls.addTlsCounts,
  purgeTls: tls.purgeTls,
};

/** Everything a reader thread can do. */
export const READS: ReadTable = {
  findIdempotent: accept.findIdempotent,
  listNodes: nodes.listNodes,
  quotaUse: quota.quotaUse,
  quotaUses: quota.quotaUses,
  dueQueues: queue.dueQueues,
  readContent: messages.readContent,
  readPlaces: readers.readPlaces,
  knowsOptOut: readers.knowsOptOut,
  queueCounts: queue.queueCounts,
  waitingQueues: waiting.waitingQueues,
  nextDueAt: queue.nextDueAt,
  suppressedAmong: suppressions.suppressedAmong,
  suppressedDomains: suppressions.suppressedDomains,
  listSuppressions: suppressions.listSuppressions,
  dueNotices: notices.dueNotices,
  returnSubjects: returns.returnSubjects,
  outcomeRates: returns.outcomeRates,
  returnedDomains: returns.returnedDomains,
  findEvents: events.findEvents,
  countEvents: events.countEvents,
  lastEventSeq: events.lastEventSeq,
  stats: stats.stats,
  listWebhooks: webhooks.listWebhooks,
  getWebhook: webhooks.getWebhook,
  nextCallDueAt: webhooks.nextCallDueAt,
  listCalls: webhooks.listCalls,
  countPendingCalls: webhookChanges.countPendingCalls,
  getDomain: domains.getDomain,
  listDomains: domains.listDomains,
  isReturnHost: domains.isReturnHost,
  getToken: tokens.getToken,
  listTokens: tokens.listTokens,
  signingKeys: tokens.signingKeys,
  getSmtpCredential: smtpCredentials.getSmtpCredential,
  listSmtpCredentials: smtpCredentials.listSmtpCredentials,
  getTemplate: templates.getTemplate,
  templateVersion: templates.templateVersion,
  listTemplateVersions: templates.listTemplateVersions,
  listTemplates: templates.listTemplates,
  getMessage: messages.getMessage,
  listMessages: messages.listMessages,
  findCaptures: captures.findCaptures,
  unreadCaptures: captures.unreadCaptures,
  capturesSince: captures.capturesSince,
  getCapture: captures.getCapture,
  listInboxes: captures.listInboxes,
  releaseFacts: captures.releaseFacts,
  listSandboxRules: sandboxRules.listSandboxRules,
  ruleSubject: sandboxRules.ruleSubject,
  domainsWithMail: retention.domainsWithMail,
  findMentions: erasing.findMentions,
  findExpired: retention.findExpired,
  contentBytes: retention.contentBytes,
  storedBytes: retention.storedBytes,
  findOldestContents: retention.findOldestContents,
  listOverrides: limits.listOverrides,
  listPathStates: limits.listPathStates,
  listPathChanges: egress.listPathChanges,
  listEgressFacts: egress.listEgressFacts,
  listHolds: limits.listHolds,
  listPastHolds: limits.listPastHolds,
  listWarmups: warmups.listWarmups,
  listCauses: causes.listCauses,
  getCause: causes.getCause,
  causeMembers: causes.causeMembers,
  getMtaSts: tls.getMtaSts,
  staleMtaSts: tls.staleMtaSts,
  tlsCounts: tls.tlsCounts,
};
