/**
 * Whether a request's Content-Type is JSON: `application/json` or any `+json`, with any parameters; absent counts as
 * JSON. Not called for empty bodies.
 */
import { AppError } from '../../../lib/errors.ts';

const JSON_TYPE =
  /^[ \t]{0,8}(?:application\/json|[a-z0-9!#$&^_.-]{1,64}\/[a-z0-9!#$&^_.-]{1,64}\+json)[ \t]{0,8}(?:;|$)/i;

const MAX_SHOWN = 100;

/** Throws AppError media-type (415). */
export function requireJson(contentType: string | undefined): void {
  if (contentType === undefined || contentType === '') return;
  if (JSON_TYPE.test(contentType)) return;
  const said = contentType.slice(0, MAX_SHOWN).replace(/[^\x20-\x7e]/g, '?');
  throw new AppError('media-type', {
    message: `The body must be JSON: send the header Content-Type: application/json (it says "${said}")`,
  });
}
