/**
 * Holds a schema equal to the interface of an answer, at compile time and in both directions: a member that is added to
 * one and not to the other, or has another type there, does not compile. `readonly` does not count, because JSON has no
 * such thing. Also the few values that most answers are made of.
 */
import { z } from 'zod';

/** The type as JSON carries it: without `readonly`, and `undefined` only as absence. */
type Plain<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? Plain<Item>[]
    : { -readonly [K in keyof T]: Plain<T[K]> }
  : T extends object
    ? { -readonly [K in keyof T]: Plain<Exclude<T[K], undefined>> }
    : T;

type Same<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? unknown : 'schema and type differ';

/** `exactly<EmailAnswer>()(schema)` is the schema, where it describes that type and nothing else. */
export function exactly<Answer>() {
  return <Schema extends z.ZodType>(schema: Schema & Same<Plain<z.output<Schema>>, Plain<Answer>>): Schema =>
    schema;
}

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
