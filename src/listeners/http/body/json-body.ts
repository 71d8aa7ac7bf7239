/**
 * Reads the bytes of a request body as a JSON object: UTF-8 with or without a byte order mark. Malformed JSON and anything
 * except an object at the top give null. Deep nesting is harmless: neither the parser nor any reader
 * here is recursive. Too many values are refused before they are parsed.
 */
import { isUtf8 } from 'node:buffer';
import { AppError } from '../../../lib/errors.ts';
import { syntaxFault } from '../../../lib/json-lines.ts';
import { isJsonObject, type JsonObject } from '../../../lib/json-object.ts';

/** An object without members takes 40 octets of memory, and three of a body: 32 MB of them took all memory of a small machine. */
const MAX_VALUES = 1_000_000;
const [QUOTE, COMMA, LIST, OBJECT, BACKSLASH] = Buffer.from('",[{\\');

/**
 * The text of the body without its byte order mark. Throws AppError json-malformed if it is not UTF-8, and request-too-complex
 * if it has more than a million values.
 */
export function bodyText(body: Uint8Array): string {
  if (body.length > MAX_VALUES && hasTooManyValues(body)) {
    throw new AppError('request-too-complex', {
      message: 'The body has more than a million values; divide it',
    });
  }
  if (!isUtf8(body)) {
    // PowerShell writes files so.
    const isUtf16 = (body[0] === 0xff && body[1] === 0xfe) || (body[0] === 0xfe && body[1] === 0xff);
    const message = isUtf16 ? 'The body is in UTF-16; write it in UTF-8' : 'The body is not valid UTF-8';
    throw new AppError('json-malformed', { message });
  }
  const start = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  return Buffer.from(body.buffer, body.byteOffset + start, body.byteLength - start).toString('utf8');
}

function hasTooManyValues(body: Uint8Array): boolean {
  let values = 0;
  for (let at = 0; at < body.length; at++) {
    const octet = body[at];
    if (octet === QUOTE) at = endOfText(body, at + 1);
    else if ((octet === COMMA || octet === LIST || octet === OBJECT) && ++values > MAX_VALUES) return true;
  }
  return false;
}

/** Where the quotation mark is that ends the text which begins at `start`. */
function endOfText(body: Uint8Array, start: number): number {
  for (let from = start; ; ) {
    const end = body.indexOf(QUOTE ?? 0, from);
    if (end === -1) return body.length;
    let before = end;
    while (before > from && body[before - 1] === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end;
    from = end + 1;
  }
}

/** The object in `text`, or null (the caller answers 400 `json-malformed`). */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Why `text` gave null above: where the parser stopped, if known, without any part of the text. `list`: the member that
 * holds a list, for who sent the list alone. Parses again; only for refused bodies.
 */
export function jsonProblem(text: string, list?: string): string {
  if (text.trim() === '') return 'The body is empty; it must be a JSON object';
  try {
    const value: unknown = JSON.parse(text);
    return list !== undefined && Array.isArray(value)
      ? `The body is an array; it must be an object that holds it, like {"${list}": […]}`
      : 'The body is JSON, but not an object';
  } catch (cause) {
    const fault = syntaxFault(text, cause);
    if (fault === null) return 'The body is not JSON: it ends too early';
    return `The body is not JSON: see line ${fault.line}, column ${fault.column}${fault.advice && `; ${fault.advice}`}`;
  }
}
