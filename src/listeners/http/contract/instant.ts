/** An instant in a request body: ISO 8601 with an offset, or Unix seconds; milliseconds come out. */
import { z } from 'zod';

const MAX_SECONDS = 253_402_300_799;

export const instant = z.union(
  [
    z
      .number()
      .min(0)
      .max(MAX_SECONDS)
      .transform((seconds) => Math.round(seconds * 1000)),
    z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
  ],
  { error: 'must be a time as ISO 8601 with an offset, e.g. 2026-11-20T00:00:00Z, or Unix seconds' },
);
