/** Reading the document as plain JSON: references followed, members taken as what they should be. */
import { isJsonObject } from '../../../lib/json-object.ts';
import type { Json } from '../openapi/components.ts';

/** An object, or an empty one. */
export function object(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The part that a `$ref` leads to, or the part itself. */
export function resolve(document: Json, part: unknown): Json {
  const given = object(part);
  const ref = text(given.$ref);
  if (!ref.startsWith('#/')) return given;
  let at: unknown = document;
  for (const segment of ref.slice(2).split('/')) at = object(at)[segment];
  return { ...object(at), ...given };
}

/** One operation of the document. */
export interface PageOperation {
  id: string;
  method: string;
  path: string;
  /** Address of the server with its base path. */
  base: string;
  tag: string;
  summary: string;
  description: string;
  scopes: readonly string[];
  /** Tokens that are limited to domains may not call it. */
  allDomains: boolean;
  open: boolean;
  parameters: readonly Json[];
  body: { schema: Json; example: unknown } | null;
  responses: Json;
}

/** Every operation of `paths`, in order. */
export function operationsOf(document: Json): readonly PageOperation[] {
  const base = text(object(list(document.servers)[0]).url);
  return Object.entries(object(document.paths)).flatMap(([path, item]) => {
    const own = text(object(list(object(item).servers)[0]).url);
    return Object.entries(object(item))
      .filter(([method]) => method !== 'servers')
      .map(([method, given]): PageOperation => {
        const operation = object(given);
        const security = list(operation.security);
        const content = object(object(object(operation.requestBody).content)['application/json']);
        return {
          id: text(operation.operationId),
          method: method.toUpperCase(),
          path,
          base: own === '' ? base : own.replace(/\/$/, ''),
          tag: text(list(operation.tags)[0]),
          summary: text(operation.summary),
          description: text(operation.description),
          scopes: list(object(security[0]).bearer).map(text),
          allDomains: operation['x-all-domains'] === true,
          open: security.length === 0,
          parameters: list(operation.parameters).map((parameter) => resolve(document, parameter)),
          body:
            operation.requestBody === undefined
              ? null
              : { schema: object(content.schema), example: content.example },
          responses: object(operation.responses),
        };
      });
  });
}
