/**
 * Worker thread: reads and composes one large request at a time, or reads one large captured message, so that megabytes
 * of JSON and base64 never hold up the event loop that answers everybody else. Given a job by message, it posts back the
 * checked submission without its contents and the composed bytes (transferred, not copied). What it throws is reported,
 * never fatal.
 */
import { parentPort } from 'node:worker_threads';
import type { Problem } from '../../lib/errors.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import { toComposeInput } from '../../pipeline/accept/compose-input.ts';
import type { PersonalSubject } from '../../pipeline/accept/personal-rules.ts';
import { compose } from '../../pipeline/compose/compose.ts';
import { createCompiledCache } from '../../pipeline/compose/template/compiled-cache.ts';
import { compileTemplate } from '../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../pipeline/compose/template/template-error.ts';
import { readCaptured } from './captured-wish.ts';
import { quoteLongContentIds } from './contract/attachments.ts';
import { readBatchEnvelope } from './contract/email-batch.ts';
import { parseEmailBody, readEmailObject } from './contract/email-request.ts';
import { bodyText, jsonProblem, parseJsonObject } from './contract/json-body.ts';
import { isJsonObject } from './contract/json-properties.ts';
import { type FoundTemplate, namedTemplate } from './contract/template-fields.ts';
import { templateMistake } from './contract/template-problems.ts';
import type {
  EmailJob,
  PersonalQuestion,
  PersonalReply,
  PreparedEmail,
  SplitBatch,
  SplitJob,
  WorkerJob,
  WorkerResult,
} from './email-worker-messages.ts';

const compiled = createCompiledCache({ maxTemplates: 20, maxBytes: 8 * 1024 * 1024 });
const port = parentPort;
if (port !== null) {
  let onReply: ((personal: PersonalOptions | null) => void) | null = null;
  const ask = (id: number, asks: PersonalSubject): Promise<PersonalOptions | null> => {
    port.postMessage({ id, asks } satisfies PersonalQuestion);
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
    port.postMessage(answer, transferable(answer));
  });
}

type Ask = (id: number, asks: PersonalSubject) => Promise<PersonalOptions | null>;

async function run(job: WorkerJob, ask: Ask): Promise<WorkerResult> {
  const { id } = job;
  try {
    switch (job.kind) {
      case 'email':
        return { id, kind: 'email', result: await prepare(job, ask) };
      case 'split':
        return { id, kind: 'split', result: split(job) };
      case 'captured':
        return { id, kind: 'captured', result: await readCaptured(job.body, job.wish) };
    }
  } catch (error) {
    const failed = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { id, kind: 'failed', failed };
  }
}

/** What goes back without being copied. */
function transferable(answer: WorkerResult): ArrayBuffer[] {
  if (answer.kind === 'failed') return [];
  if (answer.kind === 'captured') {
    return answer.result.kind === 'file' && answer.result.file !== null
      ? [answer.result.file.content.buffer]
      : [];
  }
  const given =
    answer.kind === 'email' ? [bytesOf(answer.result)] : answer.result.ok ? answer.result.messages : [];
  return given.flatMap((bytes) => (bytes?.buffer instanceof ArrayBuffer ? [bytes.buffer] : []));
}

/** Takes a batch apart: its messages as JSON texts of their own, with long content ids kept to the digit. */
function split(job: SplitJob): SplitBatch {
  const text = bodyText(job.body);
  if (text === null) {
    return { ok: false, problems: [{ name: 'json-malformed', message: 'The body is not valid UTF-8' }] };
  }
  const object = parseJsonObject(quoteLongContentIds(text));
  if (object === null) {
    return { ok: false, problems: [{ name: 'json-malformed', message: jsonProblem(text) }] };
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
  if (!parsed.ok) return parsed;
  const named = job.template === undefined ? namedTemplate(parsed.object) : null;
  if (named !== null) return { ok: 'needs-template', named, body: job.body };
  const template = compiledTemplate(job.template);
  if (template !== null && template !== undefined && 'problem' in template) {
    return { ok: false, problems: [template.problem] };
  }
  const options = {
    strict: job.strict,
    blockedExtensions: new Set(job.blockedExtensions),
    nowMs: job.dateMs,
    template,
  };
  const read = readEmailObject(parsed.object, job.limits, options, parsed.withExactIds);
  if (!read.ok) return read;
  const { submission } = read;
  const { fromDomain, lane, headers } = submission;
  const asks = { fromDomain, lane, headers, personal: submission.personal ?? null };
  const personal = await ask(job.id, asks);
  const { messageId } = job;
  const dateMs = submission.sendAt ?? job.dateMs;
  const composed = compose(toComposeInput(submission, { messageId, dateMs, personal }));
  return {
    ok: true,
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

function compiledTemplate(
  given: EmailJob['template'],
): FoundTemplate | { problem: Problem } | null | undefined {
  if (given === undefined || given === null) return given;
  const { key, domain, texts } = given;
  try {
    const template = compiled.get(key) ?? compileTemplate(texts);
    compiled.set(key, template);
    return { domain, compiled: template };
  } catch (error) {
    if (error instanceof TemplateError) return { problem: templateMistake(error) };
    throw error;
  }
}

/** What travels back without being copied. */
function bytesOf(result: PreparedEmail): Uint8Array | null {
  if (result.ok === true) return result.composed.bytes;
  return result.ok === 'needs-template' ? result.body : null;
}

/** Bytes that fill their buffer, so that transferring the buffer hands over nothing else. */
function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
    ? bytes
    : new Uint8Array(bytes);
}
