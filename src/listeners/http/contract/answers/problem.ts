/** The body of every refusal: RFC 9457 members, `Errors` with stable codes, `Error` as one text. */
import type { CaptureSummary } from './captures.ts';

/** One problem of a request. */
export interface ProblemItem {
  /** Stable number, e.g. 8. */
  Code: number;
  /** Stable name, e.g. `subject-required`. */
  Name: string;
  Message: string;
  /** JSON Pointer into the request, e.g. `/To/0/email`. */
  Field?: string;
  /** Where in a template, counted from 1. */
  Line?: number;
  Column?: number;
}

/** Every error answer (RFC 9457 and two dialects beside it). */
export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  Error: string;
  Errors: readonly ProblemItem[];
  /** GET /sandbox/wait, 408: at most three captures where it looked, or else elsewhere. */
  Nearest?: readonly CaptureSummary[];
}
