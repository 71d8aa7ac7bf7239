/** A time in a request body: ISO 8601 with an offset, or Unix seconds; returned as milliseconds. */
import { z } from 'zod';
import { MAX_SECONDS, parseInstant } from '../../../lib/instant.ts';

const error = 'must be a time as ISO 8601 with an offset, e.g. 2026-11-20T00:00:00Z, or Unix seconds';

export const instant = z
  .union([z.number().min(0).max(MAX_SECONDS), z.string().meta({ format: 'date-time' })], { error })
  .transform((given, context) => {
    const at = parseInstant(given);
    if (at !== null) return at;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
