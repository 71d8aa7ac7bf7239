/**
 * Worker thread: does one job at a time that may take long, so that megabytes of JSON, base64, templates or untrusted
 * MIME do not block the event loop. Posts back the result; bytes are transferred, not copied. Errors are reported,
 * never fatal; a job that does not end is ended with its thread.
 */
import { parentPort } from 'node:worker_threads';
import { AppError, type Problem } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json-object.ts';
import { inOneGo } from '../../lib/turns.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import { composeInputInSteps } from '../../pipeline/accept/compose-input.ts';
import type { PersonalFacts } from '../../pipeline/accept/personal-rules.ts';
import { compose } from '../../pipeline/compose/compose.ts';
import { createCompiledCache } from '../../pipeline/compose/template/compiled-cache.ts';
import { type CompiledTemplate, compileTemplate } from '../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../pipeline/compose/template/template-error.ts';
import { bodyText, jsonProblem, parseJsonObject } from './body/json-body.ts';
import { readCaptured } from './sandbox/captured-wish.ts';
import { quoteLongContentIds } from './send/attachments.ts';
import { BATCH_LIST, readBatchEnvelope } from './send/batch-envelope.ts';
import { parseEmailBody, readEmailObject } from './send/read-email.ts';
import { type FoundTemplate, namedTemplate } from './send/template-fields.ts';
import type { TemplateForWorker } from './templates/stored-templates.ts';
import { templateMistake } from './templates/template-problems.ts';
import { namesIn, readRender, readTemplate, render, renderTexts } from './templates/template-request.ts';
import type {
  EmailJob,
  JobKind,
  JobOf,
  PersonalQuestion,
  PersonalReply,
  PreparedEmail,
  RenderedTemplate,
  RenderJob,
  ResultOf,
  SplitBatch,
  WorkerAnswer,
  WorkerJob,
  WorkerReady,
} from './worker-messages.ts';

const compiled = createCompiledCache({ maxTemplates: 20, maxBytes: 8 * 1024 * 1024 });
const port = parentPort;
if (port !== null) {
  let onReply: ((personal: PersonalOptions | null) => void) | null = null;
  const ask = (asks: PersonalFacts): Promise<PersonalOptions | null> => {
    port.postMessage({ asks } satisfies PersonalQuestion);
    return new Promise((resolve) => {
      onReply = resolve;
    });
  };
  port.on('message', async (message: WorkerJob | PersonalReply) => {
    if ('personal' in message) {
      onReply?.(message.personal);
      return;
    }
    const answer = await run(message, ask);
    port.postMessage(answer, answer.ok ? transferable(answer.result) : []);
  });
  port.postMessage({ ready: true } satisfies WorkerReady);
}

type Ask = (asks: PersonalFacts) => Promise<PersonalOptions | null>;

async function run(message: WorkerJob, ask: Ask): Promise<WorkerAnswer> {
  try {
    return { ok: true, result: await resultOf(message, ask) };
  } catch (error) {
    if (error instanceof AppError) return { ok: true, result: { ok: false, problems: error.problems } };
    const failed = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ok: false, failed };
  }
}

function resultOf(message: WorkerJob, ask: Ask): ResultOf<JobKind> | Promise<ResultOf<JobKind>> {
  switch (message.kind) {
    case 'email':
      return prepare(message.job, ask);
    case 'split':
      return split(message.job);
    case 'template': {
      const { body, strict, isNew } = message.job;
      return { ok: true, ...readTemplate(body, { strict, isNew }) };
    }
    case 'names': {
      const { texts } = message.job;
      return { ok: true, names: namesIn(texts) };
    }
    case 'render':
      return rendered(message.job);
    case 'render-texts': {
      const { body, strict } = message.job;
      return { ok: true, ...renderTexts(body, strict) };
    }
    case 'captured':
      return readCaptured(message.job.body, message.job.wish);
  }
}

/** The buffers that are returned without copying. */
function transferable(result: ResultOf<JobKind>): ArrayBuffer[] {
  const given: (Uint8Array | null)[] = [];
  if ('kind' in result) {
    if (result.kind === 'file') given.push(result.file?.content ?? null);
    if (result.kind === 'contents') given.push(result.json);
    if (result.kind === 'page') given.push(result.page);
  }
  if ('composed' in result) given.push(result.composed.bytes);
  else if ('messages' in result) given.push(...result.messages);
  else if ('body' in result) given.push(result.body);
  return given.flatMap((bytes) => (bytes?.buffer instanceof ArrayBuffer ? [bytes.buffer] : []));
}

function rendered(job: RenderJob): RenderedTemplate {
  const wish = readRender(job.body, job.strict);
  const version = wish.Version ?? job.version;
  if (version !== job.version) return { ok: 'needs-version', version, body: job.body };
  const template = compiledTemplate(job.template);
  if ('problem' in template) throw new AppError(template.problem);
  return { ok: true, filled: render(template, wish), version };
}

/** Divides a batch into its messages as JSON texts, in which long content ids keep all digits. */
function split(job: JobOf<'split'>): SplitBatch {
  const text = bodyText(job.body);
  const object = parseJsonObject(quoteLongContentIds(text));
  if (object === null) {
    return { ok: false, problems: [{ name: 'json-malformed', message: jsonProblem(text, BATCH_LIST) }] };
  }
  const envelope = readBatchEnvelope(object, job.strict);
  if (!envelope.ok) return envelope;
  const encoder = new TextEncoder();
  const messages = envelope.messages.map((message) =>
    isJsonObject(message) ? ownBuffer(encoder.encode(JSON.stringify(message))) : null,
  );
  return { ok: true, messages };
}

async function prepare(job: EmailJob, ask: Ask): Promise<PreparedEmail> {
  const parsed = parseEmailBody(job.body);
  const named = job.template === undefined ? namedTemplate(parsed.object) : null;
  if (named !== null) return { ok: 'needs-template', named, body: job.body };
  const template = foundTemplate(job.template);
  if (template !== null && template !== undefined && 'problem' in template) {
    return { ok: false, problems: [template.problem] };
  }
  const options = {
    strict: job.strict,
    ...(job.review === undefined ? {} : { review: job.review }),
    blockedExtensions: new Set(job.blockedExtensions),
    nowMs: job.dateMs,
    template,
  };
  const read = readEmailObject(parsed, job.limits, options);
  if (!read.ok) return read;
  const { submission, warnings, ignored, review } = read;
  const { fromDomain, lane, headers } = submission;
  const personal = await ask({ fromDomain, lane, headers, personal: submission.personal ?? null });
  const { messageId } = job;
  const dateMs = submission.sendAt ?? job.dateMs;
  const composed = compose(inOneGo(composeInputInSteps(submission, { messageId, dateMs, personal })));
  return {
    ok: true,
    warnings,
    ignored,
    review,
    submission: {
      ...submission,
      body:
        submission.body.kind === 'html' ? { kind: 'html', html: '', text: null } : { kind: 'text', text: '' },
      attachments: [],
    },
    composed: {
      bytes: ownBuffer(composed.bytes),
      bodyOffset: composed.bodyOffset,
      needsSmtpUtf8: composed.needsSmtpUtf8,
      ...(composed.places === undefined ? {} : { places: composed.places }),
    },
  };
}

function foundTemplate(given: EmailJob['template']): FoundTemplate | { problem: Problem } | null | undefined {
  if (given === undefined || given === null) return given;
  const template = compiledTemplate(given);
  return 'problem' in template ? template : { domain: given.domain, compiled: template };
}

function compiledTemplate({ key, texts }: TemplateForWorker): CompiledTemplate | { problem: Problem } {
  try {
    const template = compiled.get(key) ?? compileTemplate(texts);
    compiled.set(key, template);
    return template;
  } catch (error) {
    if (error instanceof TemplateError) return { problem: templateMistake(error) };
    throw error;
  }
}

/** Bytes that fill their buffer, so that transferring it passes nothing else. */
function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
    ? bytes
    : new Uint8Array(bytes);
}
