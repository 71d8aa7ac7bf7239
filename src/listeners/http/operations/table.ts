/**
 * Every operation of the API in one list, in documented order. The server mounts exactly these; the reference pages and
 * the document are checked against it.
 */

import { createCreateOnce } from '../create-once.ts';
import type { ApiParts, HttpDeps, HttpOptions, Shared } from '../deps.ts';
import { createWithKey } from '../idempotency.ts';
import type { ApiRoute } from '../route.ts';
import { createCaptureFeed } from '../sandbox/capture-feed.ts';
import { createNearestCaptures } from '../sandbox/sandbox-nearest.ts';
import { createCaptureSearch } from '../sandbox/sandbox-search.ts';
import { createEmailReader } from '../send/email-reader.ts';
import { emailSchema } from '../send/fields.ts';
import { batchEmailOperation } from '../send/send-batch.ts';
import { sendEmailOperation } from '../send/send-email.ts';
import { validateEmailOperation } from '../send/validate-email.ts';
import { createStoredTemplates } from '../templates/stored-templates.ts';
import { createTemplateWork } from '../templates/template-work.ts';
import { attentionOperation } from './attention.ts';
import { auditOperation } from './audit.ts';
import { cancelRetryOperations } from './cancel-retry.ts';
import { causeOperations } from './causes.ts';
import { dmarcOperation } from './dmarc.ts';
import { doctorOperation } from './doctor.ts';
import { domainOperations } from './domains.ts';
import { eraseOperation } from './erase.ts';
import { eventStreamOperation } from './event-stream.ts';
import { eventListOperation } from './events.ts';
import { holdOperations } from './holds.ts';
import { meOperation } from './me.ts';
import { messagePartOperations } from './message-parts.ts';
import { messageOperations } from './messages.ts';
import { nodeOperation } from './nodes.ts';
import { operatorOperations } from './operator.ts';
import { overrideOperations } from './overrides.ts';
import { pathOperations } from './paths.ts';
import { peopleOperations } from './people.ts';
import { refusalOperation } from './refusals.ts';
import { rescheduleOperation } from './reschedule.ts';
import { sandboxOperations } from './sandbox.ts';
import { sandboxRuleOperations } from './sandbox-rules.ts';
import { sandboxSeenOperation } from './sandbox-seen.ts';
import { sandboxStreamOperation } from './sandbox-stream.ts';
import { sandboxWaitOperation } from './sandbox-wait.ts';
import { resendOperation, sandboxReleaseOperation } from './sent-again.ts';
import { sessionOperations } from './session.ts';
import { providerOperations } from './session-provider.ts';
import { smtpCredentialOperations } from './smtp-credentials.ts';
import { statsOperation } from './stats.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';
import { timelineOperation } from './timeline.ts';
import { tokenOperations } from './tokens.ts';
import { webhookOperations } from './webhooks.ts';

/** The routes below /api/v1. */
export function apiRoutes(deps: HttpDeps, options: HttpOptions, shared: Shared): readonly ApiRoute[] {
  const window = { windowMs: options.idempotencyWindowMs };
  const withPassword = createWithKey(deps, { ...window, fingerprintKey: deps.fingerprintKey });
  const templates = createStoredTemplates(deps.store);
  const parts: ApiParts = {
    ...deps,
    ...shared,
    createOnce: createCreateOnce({ ...deps, withKey: shared.withKey }, window),
    createWithPasswordOnce: createCreateOnce({ ...deps, withKey: withPassword }, window),
    work: createTemplateWork({ templates, workers: shared.workers }),
    reader: createEmailReader(
      { ...deps, templates, workers: shared.workers },
      {
        limits: options.email,
        blockedExtensions: options.blockedExtensions,
        workerThresholdBytes: options.workerThresholdBytes,
      },
    ),
    email: emailSchema(options.email),
    search: createCaptureSearch(deps.store, shared.captured),
    feed: createCaptureFeed(deps),
    nearest: createNearestCaptures(deps.store),
  };
  return [
    sendEmailOperation(parts),
    validateEmailOperation(parts),
    batchEmailOperation(parts),
    ...webhookOperations(parts),
    eventListOperation(parts),
    timelineOperation(parts),
    eventStreamOperation(parts, options),
    statsOperation(parts),
    ...messageOperations(parts),
    ...messagePartOperations(parts),
    ...cancelRetryOperations(parts, options),
    rescheduleOperation(parts, options),
    eraseOperation(parts),
    ...domainOperations(parts),
    dmarcOperation(parts),
    ...suppressionOperations(parts),
    ...templateOperations(parts),
    ...tokenOperations(parts),
    meOperation(parts, options),
    ...smtpCredentialOperations(parts),
    ...sessionOperations(parts),
    ...providerOperations(parts),
    ...peopleOperations(parts),
    auditOperation(parts),
    ...sandboxOperations(parts),
    ...sandboxRuleOperations(parts),
    sandboxReleaseOperation(parts, options),
    resendOperation(parts, options),
    sandboxSeenOperation(parts),
    sandboxWaitOperation(parts),
    sandboxStreamOperation(parts, options),
    attentionOperation(parts),
    ...operatorOperations(parts),
    refusalOperation(parts),
    nodeOperation(parts),
    doctorOperation(parts),
    ...pathOperations(parts),
    ...holdOperations(parts),
    ...overrideOperations(parts),
    ...causeOperations(parts, options),
  ];
}
