/**
 * Work that is written once for both engines. It is a generator, in which `yield*` stands where a function of one engine
 * would wait for a statement: in SQLite a statement has answered when it returns, and nothing is yielded; in PostgreSQL the
 * promise of its answer is, and `finished` awaits it.
 */
export type Work<Result> = Iterable<Promise<unknown>, Result, unknown>;

/** Work that is done already. */
export function done<Result>(value: Result): Work<Result> {
  return { [Symbol.iterator]: () => ({ next: () => ({ done: true, value }) }) };
}

/** Work that ends with a promise. */
export function* awaited<Result>(promise: Promise<Result>): Work<Result> {
  return (yield promise) as Result;
}

/** The result of work that waits for nothing. */
export function resultOf<Result>(work: Work<Result>): Result {
  const step = work[Symbol.iterator]().next();
  if (step.done !== true) throw new Error('Work of SQLite had to wait');
  return step.value;
}

/** The result of work once all of it has answered. What fails ends it: work catches nothing. */
export async function finished<Result>(work: Work<Result>): Promise<Result> {
  const steps = work[Symbol.iterator]();
  let step = steps.next();
  while (step.done !== true) step = steps.next(await step.value);
  return step.value;
}

/** The text of a statement in one engine: of what stands in braces as `{a|b}`, SQLite reads a, and PostgreSQL b. */
export function textFor(engine: 'sqlite' | 'postgres', sql: string): string {
  return sql.replace(/\{([^{}|]*)\|([^{}|]*)\}/g, engine === 'sqlite' ? '$1' : '$2');
}
