/**
 * Every operation of the API in one list, in documented order. The server mounts exactly these; the reference pages and
 * the document are checked against it.
 */

import type { SendRate } from '../../../policy/limits/send-rate.ts';
import { createCreateOnce } from '../create-once.ts';
import type { HttpDeps, HttpOptions } from '../deps.ts';
import { createIdempotency, type Idempotency } from '../idempotency.ts';
import type { ApiRoute } from '../route.ts';
import { createCaptureFeed } from '../sandbox/capture-feed.ts';
import type { CapturedReader } from '../sandbox/captured-reader.ts';
import { createNearestCaptures } from '../sandbox/sandbox-nearest.ts';
import { createCaptureSearch } from '../sandbox/sandbox-search.ts';
import { createEmailReader } from '../send/email-reader.ts';
import { emailSchema } from '../send/fields.ts';
import { batchEmailOperation } from '../send/send-batch.ts';
import { sendEmailOperation } from '../send/send-email.ts';
import { validateEmailOperation } from '../send/validate-email.ts';
import { createStoredTemplates } from '../templates/stored-templates.ts';
import { createTemplateWork } from '../templates/template-work.ts';
import type { WorkerPool } from '../worker-pool.ts';
import { attentionOperation } from './attention.ts';
import { auditOperation } from './audit.ts';
import { cancelRetryOperations } from './cancel-retry.ts';
import { causeOperations } from './causes.ts';
import { doctorOperations } from './doctor.ts';
import { domainOperations } from './domains.ts';
import { eraseOperation } from './erase.ts';
import { eventStreamOperation } from './event-stream.ts';
import { eventListOperation } from './events.ts';
import { holdOperations } from './holds.ts';
import { meOperation } from './me.ts';
import { messagePartOperations } from './message-parts.ts';
import { messageOperations } from './messages.ts';
import { nodeOperations } from './nodes.ts';
import { operatorOperations } from './operator.ts';
import { overrideOperations } from './overrides.ts';
import { pathOperations } from './paths.ts';
import { peopleOperations } from './people.ts';
import { refusalOperations } from './refusals.ts';
import { rescheduleOperation } from './reschedule.ts';
import { resendOperation } from './resend.ts';
import { sandboxOperations } from './sandbox.ts';
import { sandboxReleaseOperation } from './sandbox-release.ts';
import { sandboxRuleOperations } from './sandbox-rules.ts';
import { sandboxSeenOperation } from './sandbox-seen.ts';
import { sandboxStreamOperation } from './sandbox-stream.ts';
import { sandboxWaitOperation } from './sandbox-wait.ts';
import { sessionOperations } from './session.ts';
import { providerOperations } from './session-provider.ts';
import { smtpCredentialOperations } from './smtp-credentials.ts';
import { statsOperations } from './stats.ts';
import { suppressionOperations } from './suppressions.ts';
import { templateOperations } from './templates.ts';
import { timelineOperation } from './timeline.ts';
import { tokenOperations } from './tokens.ts';
import { webhookOperations } from './webhooks.ts';

/** What the operations share inside this listener. */
export interface Shared {
  workers: WorkerPool;
  captured: CapturedReader;
  idempotency: Idempotency;
  sendRate: SendRate;
}

/** The routes below /api/v1. */
export function apiRoutes(deps: HttpDeps, options: HttpOptions, shared: Shared): readonly ApiRoute[] {
  const window = { windowMs: options.idempotencyWindowMs };
  const createOnce = createCreateOnce({ ...deps, idempotency: shared.idempotency }, window);
  const createWithPasswordOnce = createCreateOnce(
    { ...deps, idempotency: createIdempotency(deps, { ...window, fingerprintKey: deps.fingerprintKey }) },
    window,
  );
  const templates = createStoredTemplates(deps.store);
  const reader = createEmailReader(
    { ...deps, templates, workers: shared.workers },
    {
      limits: options.email,
      blockedExtensions: options.blockedExtensions,
      workerThresholdBytes: options.workerThresholdBytes,
    },
  );
  const email = emailSchema(options.email);
  const { captured } = shared;
  const search = createCaptureSearch(deps.store, captured);
  const feed = createCaptureFeed(deps);
  const nearest = createNearestCaptures(deps.store);
  return [
    sendEmailOperation({ ...shared, acceptance: deps.acceptance, reader, email }),
    validateEmailOperation({ ...deps, reader, email }),
    batchEmailOperation({ ...shared, clock: deps.clock, acceptance: deps.acceptance, reader, email }),
    ...webhookOperations({ ...deps, createOnce }),
    eventListOperation(deps),
    timelineOperation(deps),
    eventStreamOperation(deps, { perTenant: options.streamsPerTenant }),
    ...statsOperations(deps),
    ...messageOperations({ ...deps, captured }),
    ...messagePartOperations({ ...deps, captured }),
    ...cancelRetryOperations(deps, { maxAgeMs: options.maxAgeMs }),
    rescheduleOperation(deps, { maxAgeMs: options.maxAgeMs }),
    eraseOperation(deps),
    ...domainOperations({ ...deps, createOnce }),
    ...suppressionOperations({ ...deps, createOnce }),
    ...templateOperations({
      ...deps,
      createOnce,
      work: createTemplateWork({ templates, workers: shared.workers }),
    }),
    ...tokenOperations({ ...deps, createOnce }),
    meOperation(deps, {
      limits: options.email,
      maxBodyBytes: options.maxBodyBytes,
      streamsPerTenant: options.streamsPerTenant,
      mode: options.mode,
    }),
    ...smtpCredentialOperations({ ...deps, createOnce }),
    ...sessionOperations(deps),
    ...providerOperations({ ...deps, provider: deps.identityProvider ?? null }),
    ...peopleOperations({
      ...deps,
      createOnce: createWithPasswordOnce,
      hasProvider: deps.identityProvider != null,
    }),
    auditOperation(deps),
    ...sandboxOperations({ ...deps, search, captured }),
    ...sandboxRuleOperations({ ...deps, createOnce }),
    sandboxReleaseOperation(
      { ...deps, idempotency: shared.idempotency },
      { simulatorDomain: options.simulatorDomain },
    ),
    resendOperation(
      { ...deps, idempotency: shared.idempotency },
      { simulatorDomain: options.simulatorDomain },
    ),
    sandboxSeenOperation(deps),
    sandboxWaitOperation({ ...deps, search, feed, nearest }),
    sandboxStreamOperation({ ...deps, search, feed }, { perTenant: options.streamsPerTenant }),
    attentionOperation(deps),
    ...operatorOperations(deps),
    ...refusalOperations(deps),
    ...nodeOperations(deps),
    ...doctorOperations(deps),
    ...pathOperations(deps),
    ...holdOperations({ ...deps, createOnce }),
    ...overrideOperations(deps),
    ...causeOperations(deps, { maxAgeMs: options.maxAgeMs }),
  ];
}
