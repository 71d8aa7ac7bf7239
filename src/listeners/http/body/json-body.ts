/**
 * Reads the bytes of a request body as a JSON object: UTF-8 with or without a byte order mark. Invalid UTF-8, malformed
 * JSON and anything except an object at the top give null. Deep nesting is harmless: neither the parser nor any reader
 * here is recursive.
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject, type JsonObject } from './json-properties.ts';

/** The text of the body without its byte order mark, or null if it is not UTF-8. */
export function bodyText(body: Uint8Array): string | null {
  if (!isUtf8(body)) return null;
  const start = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  return Buffer.from(body.buffer, body.byteOffset + start, body.byteLength - start).toString('utf8');
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
    const reason = cause instanceof Error ? cause.message : '';
    const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(reason) ?? [];
    if (line !== undefined) return `The body is not JSON: see line ${line}, column ${column}`;
    if (reason.startsWith('Unexpected end')) return 'The body is not JSON: it ends too early';
    return 'The body is not JSON';
  }
}
