/**
 * Whether a request's Content-Type means JSON: `application/json` or any `+json`, with any parameters; absent counts
 * as JSON (api.md §4). Bodies that are empty are not asked.
 */
import { AppError } from '../../lib/errors.ts';

const JSON_TYPE =
  /^[ \t]{0,8}(?:application\/json|[a-z0-9!#$&^_.-]{1,64}\/[a-z0-9!#$&^_.-]{1,64}\+json)[ \t]{0,8}(?:;|$)/i;

/** Throws AppError media-type (415). */
export function requireJson(contentType: string | undefined): void {
  if (contentType === undefined || contentType === '') return;
  if (!JSON_TYPE.test(contentType)) throw new AppError('media-type');
}
