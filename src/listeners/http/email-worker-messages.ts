/** What travels between the main thread and the worker that reads and composes large requests, and reads large captures. */
import type { Problem } from '../../lib/errors.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import type { Submission } from '../../model/submission.ts';
import type { PersonalSubject } from '../../pipeline/accept/personal-rules.ts';
import type { Composed } from '../../pipeline/compose/compose.ts';
import type { CapturedAnswer, CapturedWish } from './captured-wish.ts';
import type { EmailLimits } from './contract/email-limits.ts';
import type { TemplateForWorker } from './stored-templates.ts';

export interface EmailJob {
  kind: 'email';
  id: number;
  /** Transferred: the sender has it no more. */
  body: Uint8Array;
  limits: EmailLimits;
  strict: boolean;
  blockedExtensions: readonly string[];
  messageId: string;
  dateMs: number;
  /** What the request's TemplateID stands for; undefined = not looked up yet, null = there is none. */
  template?: TemplateForWorker | null;
}

export type PreparedEmail =
  /** The submission comes without its contents: they are in `composed`, and copying them would cost twice. */
  | { ok: true; submission: Submission; composed: Composed }
  | { ok: false; problems: readonly [Problem, ...Problem[]] }
  /** The request names a template: to be asked again, with it. The bytes come back as they went. */
  | { ok: 'needs-template'; named: { id: string; version: number | null }; body: Uint8Array };

/** A batch to be taken apart. */
export interface SplitJob {
  kind: 'split';
  id: number;
  /** Transferred. */
  body: Uint8Array;
  strict: boolean;
}

export type SplitBatch =
  /** The JSON of each message; null for what is no object. */
  | { ok: true; messages: readonly (Uint8Array | null)[] }
  | { ok: false; problems: readonly [Problem, ...Problem[]] };

/** A captured message to be read. */
export interface CapturedJob {
  kind: 'captured';
  id: number;
  /** Transferred. */
  body: Uint8Array;
  wish: CapturedWish;
}

export type WorkerJob = EmailJob | SplitJob | CapturedJob;

export type WorkerResult =
  | { id: number; kind: 'email'; result: PreparedEmail }
  | { id: number; kind: 'split'; result: SplitBatch }
  | { id: number; kind: 'captured'; result: CapturedAnswer }
  | { id: number; kind: 'failed'; failed: string };

/** Between reading and composing the worker asks once what the sender's domain wants in its mail. */
export type PersonalQuestion = { id: number; asks: PersonalSubject };
export type PersonalReply = { id: number; personal: PersonalOptions | null };
