/**
 * Idempotency keys of created things other than mail: webhooks, domains, tokens and others. The key is stored first,
 * in the same transaction; another request with the same key waits there until this transaction has ended. An
 * operation that creates nothing (a limit, a taken name) leaves the key free.
 */
import { answerBody, hasCreated, heldBy } from '../../shared/keyed.ts';
import type { ParamsOf, ResultOf } from '../../shared/operation.ts';
import { KeyTaken } from '../../store.ts';
import type { IdempotencyEntry, KeyHeld } from '../../topics/acceptance.ts';
import type { Db } from './db.ts';

/** Thrown by work that has a result but must store nothing. */
export class NothingStored extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('Nothing was to be stored');
    this.result = result;
  }
}

/** Runs work with its key, inside a transaction. Throws KeyTaken, NothingStored. */
export async function runKeyed<Result>(
  db: Db,
  entry: IdempotencyEntry,
  work: () => Promise<Result>,
): Promise<Result> {
  const held = await takeKey(db, entry);
  if (held !== null) throw new KeyTaken(held);
  const result = await work();
  if (!hasCreated(result)) throw new NothingStored(result);
  const body = answerBody(entry.body, result);
  if (body !== entry.body) {
    const sql = 'UPDATE idempotency SET body = $1 WHERE owner = $2 AND operation = $3 AND key = $4';
    await db.run(sql, body, entry.owner, entry.operation, entry.key);
  }
  return result;
}

/** Takes a key that is free or expired; otherwise returns what is stored with it. */
export async function takeKey(db: Db, entry: IdempotencyEntry): Promise<KeyHeld | null> {
  const taken = await db.run(
    `INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (owner, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint,
       status = excluded.status, body = excluded.body, created_at = excluded.created_at
     WHERE idempotency.created_at < $8`,
    ...[entry.owner, entry.operation, entry.key, entry.fingerprint, entry.status, entry.body],
    ...[entry.createdAt, entry.expiresBefore],
  );
  return taken > 0 ? null : heldKey(db, entry);
}

/** The answer stored with a key; null = the key is free. */
export async function heldKey(db: Db, entry: IdempotencyEntry): Promise<KeyHeld | null> {
  return heldBy(await findKey(db, entry), entry);
}

/** What is stored with a key younger than `expiresBefore`, or null. */
export async function findKey(
  db: Db,
  { owner, operation, key, expiresBefore }: ParamsOf<'findIdempotent'>,
): Promise<ResultOf<'findIdempotent'>> {
  const row = await db.get<NonNullable<ResultOf<'findIdempotent'>>>(
    `SELECT fingerprint, status::int4 AS status, body FROM idempotency
     WHERE owner = $1 AND operation = $2 AND key = $3 AND created_at >= $4`,
    ...[owner, operation, key, expiresBefore],
  );
  return row ?? null;
}
