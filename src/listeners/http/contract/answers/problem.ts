/** The body of every refusal (api.md §5): RFC 9457 members, `Errors` with stable codes, `Error` as one text. */
import type { CaptureSummary } from './captures.ts';

/** Every error answer (RFC 9457 and two dialects beside it). */
export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  Error: string;
  Errors: readonly {
    Code: number;
    Name: string;
    Message: string;
    Field?: string;
    /** Where in a template, from 1. */
    Line?: number;
    Column?: number;
  }[];
  /** GET /sandbox/wait, 408: at most three captures where it looked, or else elsewhere. */
  Nearest?: readonly CaptureSummary[];
}
