/** What the document says of the paths that need no token: the contract itself, problem pages, health, keys. */
import { z } from 'zod';
import type { Components, Json } from './components.ts';

const healthAnswer = z
  .object({
    Status: z.enum(['ok', 'unavailable']),
    Checks: z.array(z.object({ Name: z.string(), Ok: z.boolean(), Detail: z.string() })),
  })
  .meta({ id: 'Health' });

/** Path → operations. Those outside of /api/v1 name their own server. */
export function openPaths(components: Components, publicUrl: string): Json {
  const atRoot = { servers: [{ url: publicUrl === '' ? '/' : publicUrl }] };
  const health = components.output(healthAnswer);
  return {
    '/': open('getRoot', 'Where the reference is', 'application/json', {
      type: 'object',
      properties: { Reference: { type: 'string' }, OpenAPI: { type: 'string' } },
      required: ['Reference', 'OpenAPI'],
    }),
    '/openapi.json': open('getOpenApi', 'This document', 'application/json', { type: 'object' }),
    '/docs': open('getDocs', 'This document as a page to read', 'text/html', { type: 'string' }),
    '/problems/{name}': open(
      'getProblem',
      'Explains an error: the page that `type` links to',
      'text/html',
      { type: 'string' },
      [
        {
          name: 'name',
          in: 'path',
          required: true,
          description: 'Name of the error',
          schema: { type: 'string' },
          example: 'subject-required',
        },
      ],
    ),
    '/healthz': {
      ...atRoot,
      ...open('getHealth', 'Whether the process answers', 'application/json', health),
    },
    '/readyz': {
      ...atRoot,
      ...open('getReadiness', 'Whether it takes work', 'application/json', health, [], {
        '503': {
          description: 'The check that is not met',
          headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
          content: { 'application/json': { schema: health } },
        },
      }),
    },
    '/.well-known/jwks.json': {
      ...atRoot,
      ...open('getKeys', 'The public keys of tokens', 'application/json', {
        type: 'object',
        properties: { keys: { type: 'array', items: { type: 'object' } } },
        required: ['keys'],
      }),
    },
  };
}

function open(
  operationId: string,
  summary: string,
  media: string,
  schema: Json,
  parameters: readonly Json[] = [],
  more: Json = {},
): Json {
  return {
    get: {
      operationId,
      summary,
      tags: ['Server'],
      security: [],
      ...(parameters.length === 0 ? {} : { parameters }),
      responses: {
        '200': {
          description: summary,
          headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
          content: { [media]: { schema } },
        },
        '400': { $ref: '#/components/responses/BadRequest' },
        ...(parameters.length === 0 ? {} : { '404': { $ref: '#/components/responses/NotFound' } }),
        ...more,
        '500': { $ref: '#/components/responses/Internal' },
      },
    },
  };
}
