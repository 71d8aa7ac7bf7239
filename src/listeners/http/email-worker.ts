/**
 * Worker thread: reads and composes one large request at a time, so that megabytes of JSON and base64 never hold up
 * the event loop that answers everybody else. Given a job by message, it posts back the checked submission without
 * its contents and the composed bytes (transferred, not copied). What it throws is reported, never fatal.
 */
import { parentPort } from 'node:worker_threads';
import { toComposeInput } from '../../pipeline/accept/compose-input.ts';
import { compose } from '../../pipeline/compose/compose.ts';
import { readEmailRequest } from './contract/email-request.ts';
import type { EmailJob, EmailJobResult, PreparedEmail } from './email-worker-messages.ts';

const port = parentPort;
if (port !== null) {
  port.on('message', (job: EmailJob) => {
    const answer = run(job);
    const transfer =
      'result' in answer && answer.result.ok && answer.result.composed.bytes.buffer instanceof ArrayBuffer
        ? [answer.result.composed.bytes.buffer]
        : [];
    port.postMessage(answer, transfer);
  });
}

function run(job: EmailJob): EmailJobResult {
  try {
    return { id: job.id, result: prepare(job) };
  } catch (error) {
    return { id: job.id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function prepare(job: EmailJob): PreparedEmail {
  const read = readEmailRequest(job.body, job.limits, {
    strict: job.strict,
    blockedExtensions: new Set(job.blockedExtensions),
    nowMs: job.dateMs,
  });
  if (!read.ok) return read;
  const { submission } = read;
  const { messageId, dateMs } = job;
  const composed = compose(toComposeInput(submission, { messageId, dateMs: submission.sendAt ?? dateMs }));
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
    },
  };
}

/** Bytes that fill their buffer, so that transferring the buffer hands over nothing else. */
function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
    ? bytes
    : new Uint8Array(bytes);
}
