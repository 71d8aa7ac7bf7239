/** Messages between the main thread and the worker that does what may take long. */
import type { Problem } from '../../lib/errors.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import type { Submission } from '../../model/submission.ts';
import type { TemplateTexts } from '../../model/template.ts';
import type { PersonalFacts } from '../../pipeline/accept/personal-rules.ts';
import type { Composed } from '../../pipeline/compose/compose.ts';
import type { FilledTemplate } from '../../pipeline/compose/template/template.ts';
import type { CapturedAnswer, CapturedWish } from './sandbox/captured-wish.ts';
import type { EmailLimits } from './send/limits.ts';
import type { EmailRemarks } from './send/read-email.ts';
import type { TemplateForWorker } from './templates/stored-templates.ts';
import type { GivenTemplate } from './templates/template-request.ts';

export type Problems = { ok: false; problems: readonly [Problem, ...Problem[]] };

/** The body is transferred: the sender no longer has it. */
export interface EmailJob {
  body: Uint8Array;
  limits: EmailLimits;
  strict: boolean;
  review?: boolean;
  blockedExtensions: readonly string[];
  messageId: string;
  dateMs: number;
  /** The template of the request's TemplateID; undefined = not looked up yet, null = there is none. */
  template?: TemplateForWorker | null;
}

export type PreparedEmail =
  /** The submission comes without its contents: they are in `composed`, and copying them would double the cost. */
  | ({ ok: true; submission: Submission; composed: Composed } & EmailRemarks)
  | Problems
  /** The request names a template: it must be sent again, together with it. The bytes are returned. */
  | { ok: 'needs-template'; named: { id: string; version: number | null }; body: Uint8Array };

/** The JSON of each message of a batch; null for an item that is not an object. */
export type SplitBatch = { ok: true; messages: readonly (Uint8Array | null)[] } | Problems;

/** What a request says of a template, its texts free of mistakes; or what names the texts of a stored one ask for. */
export type CheckedTemplate = { ok: true; given: GivenTemplate; names: readonly string[] } | Problems;
export type TemplateNames = { ok: true; names: readonly string[] } | Problems;

/** A body of POST /templates/{id}/render with the version it may mean. */
export interface RenderJob {
  body: Uint8Array;
  strict: boolean;
  template: TemplateForWorker;
  /** Version of `template`; if the body names another one, that is requested. */
  version: number;
}

export type RenderedTemplate =
  | { ok: true; filled: FilledTemplate; version: number }
  | Problems
  /** The bytes are returned. */
  | { ok: 'needs-version'; version: number; body: Uint8Array };

/** Texts of a body of POST /templates/render, filled in. */
export type RenderedTexts = { ok: true; filled: FilledTemplate; names: readonly string[] } | Problems;

/** Kind → input and result. */
export interface Jobs {
  email: { job: EmailJob; result: PreparedEmail };
  split: { job: { body: Uint8Array; strict: boolean }; result: SplitBatch };
  template: { job: { body: Uint8Array; strict: boolean; isNew: boolean }; result: CheckedTemplate };
  names: { job: { texts: TemplateTexts }; result: TemplateNames };
  render: { job: RenderJob; result: RenderedTemplate };
  'render-texts': { job: { body: Uint8Array; strict: boolean }; result: RenderedTexts };
  captured: { job: { body: Uint8Array; wish: CapturedWish }; result: CapturedAnswer };
}

export type JobKind = keyof Jobs;
export type JobOf<Kind extends JobKind> = Jobs[Kind]['job'];
export type ResultOf<Kind extends JobKind> = Jobs[Kind]['result'];

export type WorkerJob = { [Kind in JobKind]: { kind: Kind; job: JobOf<Kind> } }[JobKind];
/** Once, when the worker can begin. */
export type WorkerReady = { ready: true };
export type WorkerAnswer = { ok: true; result: ResultOf<JobKind> } | { ok: false; failed: string };

/** Between reading and composing, the worker asks once for the settings of the sender's domain. */
export type PersonalQuestion = { asks: PersonalFacts };
export type PersonalReply = { personal: PersonalOptions | null };
