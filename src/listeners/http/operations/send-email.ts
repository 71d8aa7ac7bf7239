/**
 * POST /email (api.md §4, §5, §8): body → submission → acceptance → `{MessageID}`.
 * The order of refusals is part of the interface: media type, JSON, idempotency, all field errors together, then what
 * acceptance itself refuses. 200 is given only after acceptance has committed. Large bodies are read and composed in
 * a worker; the answer is the same.
 */
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import type { MessageId } from '../../../model/message.ts';
import type { Caller } from '../../../model/submission.ts';
import type { Acceptance, AcceptRequest } from '../../../pipeline/accept/accept.ts';
import type { EmailAnswer } from '../contract/answers.ts';
import { quoteLongContentIds } from '../contract/attachments.ts';
import type { EmailLimits } from '../contract/email-limits.ts';
import { readEmailObject } from '../contract/email-request.ts';
import { bodyText, jsonProblem, parseJsonObject } from '../contract/json-body.ts';
import type { EmailWorkerPool } from '../email-worker-pool.ts';
import { type Idempotency, parseIdempotencyKey } from '../idempotency.ts';
import { requireJson } from '../json-media-type.ts';
import { prefersStrict } from '../prefer.ts';
import { type ApiAnswer, type ApiRequest, type ApiRoute, json } from '../route.ts';
import type { StoredTemplates } from '../stored-templates.ts';

const OPERATION = 'POST /email';

export interface SendEmailDeps {
  acceptance: Acceptance;
  idempotency: Idempotency;
  workers: EmailWorkerPool;
  templates: StoredTemplates;
  clock: Clock;
  random: Random;
}

export interface SendEmailOptions {
  limits: EmailLimits;
  blockedExtensions: readonly string[];
  workerThresholdBytes: number;
}

/** The route of the send operation. */
export function sendEmailRoute(deps: SendEmailDeps, options: SendEmailOptions): ApiRoute {
  const blockedExtensions = new Set(options.blockedExtensions);
  return { method: 'POST', path: '/email', scope: 'email:send', countsAsSend: true, handle };

  async function handle(request: ApiRequest): Promise<ApiAnswer> {
    requireJson(request.header('content-type'));
    const keyHeader = request.header('idempotency-key');
    const key = keyHeader === undefined ? null : parseIdempotencyKey(keyHeader);
    const large = request.body.length > options.workerThresholdBytes;
    // A body that is no JSON is refused before the key is looked at; a large one is parsed once, in the worker.
    const parsed = large ? null : parse(request.body);
    if (key === null) return send(request, parsed, null);
    const check = await deps.idempotency.begin({
      owner: request.caller.owner,
      operation: OPERATION,
      key,
      body: request.body,
    });
    if (check.kind === 'replay') return replay(check.status, check.body);
    try {
      return await send(request, parsed, {
        operation: check.operation,
        key: check.key,
        fingerprint: check.fingerprint,
      });
    } finally {
      check.release();
    }
  }

  async function send(
    request: ApiRequest,
    parsed: ReturnType<typeof parse> | null,
    idempotency: AcceptRequest['idempotency'],
  ): Promise<ApiAnswer> {
    const strict = prefersStrict(request.header('prefer'));
    const { caller } = request;
    const result =
      parsed === null
        ? await deps.acceptance.accept({ caller, idempotency, ...(await prepareInWorker(request, strict)) })
        : await deps.acceptance.accept({
            caller,
            idempotency,
            submission: await read(caller, parsed, strict),
          });
    if (result.kind === 'replay') return replay(result.status, result.body);
    const answer: EmailAnswer = { MessageID: result.messageId };
    return json(answer, 200, { location: `/api/v1/email/${result.messageId}` });
  }

  async function read(caller: Caller, { object, text }: ReturnType<typeof parse>, strict: boolean) {
    const template = await deps.templates.forRequest(caller, object);
    const found = readEmailObject(
      object,
      options.limits,
      { strict, blockedExtensions, nowMs: deps.clock.now(), template },
      () => parseJsonObject(quoteLongContentIds(text)),
    );
    if (!found.ok) throw new AppError(found.problems);
    return found.submission;
  }

  async function prepareInWorker(
    request: ApiRequest,
    strict: boolean,
  ): Promise<Pick<AcceptRequest, 'submission'> & { prepared: NonNullable<AcceptRequest['prepared']> }> {
    const messageId = uuidv7(deps.clock, deps.random) as MessageId;
    const dateMs = deps.clock.now();
    const job = {
      limits: options.limits,
      strict,
      blockedExtensions: options.blockedExtensions,
      messageId,
      dateMs,
    };
    let found = await deps.workers.prepare({ ...job, body: request.body });
    if (found.ok === 'needs-template') {
      const { named, body } = found;
      const template = await deps.templates.texts(request.caller, named.id, named.version);
      found = await deps.workers.prepare({ ...job, body, template });
    }
    if (found.ok === 'needs-template') throw new AppError('internal');
    if (!found.ok) throw new AppError(found.problems);
    return { submission: found.submission, prepared: { messageId, dateMs, composed: found.composed } };
  }
}

/** Throws AppError json-malformed. */
function parse(body: Uint8Array) {
  const text = bodyText(body);
  if (text === null) throw new AppError('json-malformed', { message: 'The body is not valid UTF-8' });
  const object = parseJsonObject(text);
  if (object === null) throw new AppError('json-malformed', { message: jsonProblem(text) });
  return { object, text };
}

function replay(status: number, body: string): ApiAnswer {
  return { status, headers: { 'idempotency-replayed': 'true' }, body };
}
