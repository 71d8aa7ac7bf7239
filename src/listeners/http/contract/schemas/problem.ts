/** Schema of the one error body (RFC 9457 with two dialects beside it), and of the empty answer. */
import { z } from 'zod';
import type { ProblemBody, ProblemItem } from '../answers/problem.ts';
import { captureSummary } from './captures.ts';
import { exactly } from './exactly.ts';

export const problemItem = exactly<ProblemItem>()(
  z
    .object({
      Code: z.int().describe('Stable'),
      Name: z.string().describe('Stable'),
      Message: z.string(),
      Field: z.string().optional().describe('A JSON Pointer in documented spelling'),
      Line: z.int().optional().describe('Where in a template, from 1'),
      Column: z.int().optional(),
    })
    .meta({ id: 'ProblemItem' }),
);

export const problemBody = exactly<ProblemBody>()(
  z
    .object({
      type: z.string().describe('Address of the page that explains the first error'),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      instance: z.string().describe('Names the request'),
      Error: z.string().describe('The first error in words'),
      Errors: z.array(problemItem).min(1).describe('Every error that was found, in the order of the fields'),
      Nearest: z
        .array(captureSummary)
        .optional()
        .describe(
          'GET /sandbox/wait, 408: the newest captures where it looked, or else elsewhere; at most three',
        ),
    })
    .meta({ id: 'Problem', description: 'Why a request was refused' }),
);

/** `{}`: done, and there is nothing to say. */
export const nothing = z.strictObject({}).meta({ id: 'Nothing', description: 'Done' });
