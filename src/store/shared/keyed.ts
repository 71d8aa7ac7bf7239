/**
 * What the result of an operation means for its idempotency key: whether something was created, so that the key is taken,
 * and the answer that is stored with it.
 */
import type { IdempotencyEntry, KeyHeld } from '../topics/acceptance.ts';
import type { ResultOf } from './operation.ts';

const NOTHING_MADE: ReadonlySet<string> = new Set(['taken', 'ended', 'full', 'exists', 'limit']);

/** The results that mean that nothing was created: `false`, a word, another kind. */
export function hasCreated(value: unknown): boolean {
  if (value === false || (typeof value === 'string' && NOTHING_MADE.has(value))) return false;
  if (typeof value !== 'object' || value === null || !('kind' in value)) return true;
  return value.kind === 'created' || value.kind === 'added';
}

/** The answer with what only the store knows: `$id`, `$added`, `$existing`. */
export function answerBody(body: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return body;
  if ('kind' in value && value.kind === 'created' && 'id' in value)
    return body.replace('"$id"', String(value.id));
  if ('added' in value && 'existing' in value) {
    return body.replace('"$added"', String(value.added)).replace('"$existing"', String(value.existing));
  }
  return body;
}

/** What a key means for another request with it; null = the key is free. */
export function heldBy(found: ResultOf<'findIdempotent'>, { fingerprint }: IdempotencyEntry): KeyHeld | null {
  if (found === null) return null;
  return Buffer.compare(found.fingerprint, fingerprint) === 0
    ? { kind: 'replay', status: found.status, body: found.body }
    : { kind: 'key-reused' };
}
