/**
 * Holds a schema equal to the interface of an answer, at compile time and in both directions: a member that is added to
 * one and not to the other, or has another type there, does not compile. `readonly` does not count, because JSON has no
 * such thing.
 */
import type { z } from 'zod';

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
