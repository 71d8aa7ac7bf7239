/** Schemas of the few values that most answers are made of. */
import { z } from 'zod';

/** An instant: ISO 8601, UTC, milliseconds. */
export const time = z.iso.datetime({ precision: 3 });

/** A count of things. */
export const count = z.int().min(0);

/** A page of `items`, named `id` in the document. */
export function pageOf<Item extends z.ZodType>(id: string, items: Item) {
  return z
    .object({
      Items: z.array(items),
      HasMore: z.boolean().describe('There is a next page'),
      NextCursor: z.string().nullable().describe('`After` of the next page; null on the last one'),
    })
    .meta({ id });
}
