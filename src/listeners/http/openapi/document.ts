/**
 * The OpenAPI 3.1 document of the API, made from the routes: what the server mounts is what stands
 * in it. Given the routes and an address, leaves plain JSON with its keys in a fixed order. The committed `openapi.json`
 * is this without an address; a server serves it with its own.
 */

import { capital } from '../../../lib/capital.ts';
import { EVENT_KINDS } from '../../../model/event.ts';
import { SCOPES } from '../../../model/token.ts';
import { problemBody } from '../problem.ts';
import { type ApiRoute, BASE, needsAllDomains } from '../route.ts';
import { type Components, createComponents, type Json } from './components.ts';
import { openPaths } from './open-paths.ts';
import { errorsOf, refusals, sharedRefusals } from './refusals.ts';
import { ABOUT, HEADERS, PARAMETERS, PATH_PARAMETERS, TAGS, tagOf } from './texts.ts';
import { webhookPayloads } from './webhook-payloads.ts';

const HEADER = '#/components/headers';

/** The document. `publicUrl`: address of the server without a slash at its end; '' = relative. */
export function openApiDocument(routes: readonly ApiRoute[], publicUrl = ''): Json {
  const components = createComponents();
  components.output(problemBody);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([a-z]+)/gi, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, components) };
  }
  const webhooks = webhookSection(components);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Postrider',
      version: '1.0.0',
      summary: 'Sends email and tells what became of it',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${publicUrl}${BASE}` }],
    security: [{ bearer: [] }, { session: [] }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths: { ...paths, ...openPaths(components, publicUrl) },
    webhooks,
    components: {
      schemas: components.all(),
      responses: sharedRefusals(),
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: `A token of this server. Its scopes: ${SCOPES.map((scope) => `\`${scope}\``).join(', ')}. \`admin\` implies every other. Operations with \`x-all-domains\` need a token for all domains.`,
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-postrider',
          description:
            'The session of a person, for the dashboard of this server alone. Requests that change something also carry `X-Postrider-Dashboard` and an `Origin` of this server.',
        },
      },
    },
  };
}

function operation(route: ApiRoute, components: Components): Json {
  const { scope, id, summary, body } = route;
  const parameters = parametersOf(route, components);
  const status = String(route.status ?? 200);
  return {
    operationId: id,
    summary,
    description: withoutLinks(route.description),
    tags: [tagOf(route.path)],
    security: route.open === true ? [] : [{ bearer: scope === null ? [] : [scope] }, { session: [] }],
    ...(needsAllDomains(route) ? { 'x-all-domains': true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.mayBeEmpty !== true,
            content: {
              'application/json': {
                schema: components.input(body.schema, `${capital(id)}Request`),
                example: body.example,
              },
            },
          },
        }),
    responses: {
      [status]: {
        description: summary,
        headers: {
          'X-Request-Id': { $ref: `${HEADER}/RequestId` },
          ...Object.fromEntries(
            Object.entries(route.headers ?? {}).map(([name, description]) => [
              name,
              { description, schema: { type: 'string' } },
            ]),
          ),
          ...(route.idempotent === true
            ? { 'Idempotency-Replayed': { $ref: `${HEADER}/IdempotencyReplayed` } }
            : {}),
          RateLimit: { $ref: `${HEADER}/RateLimit` },
          'RateLimit-Policy': { $ref: `${HEADER}/RateLimitPolicy` },
        },
        content: contentOf(route, components),
      },
      ...refusals(errorsOf(route)),
    },
  };
}

function contentOf(route: ApiRoute, components: Components): Json {
  const schema = components.output(route.answer, `${capital(route.id)}Answer`);
  if (route.media === undefined) return { 'application/json': { schema } };
  if (route.media !== 'text/event-stream') return { [route.media]: { schema } };
  // OpenAPI 3.1 has no word for the parts of a stream: the extension names the schema of each `data`. It is a plain text,
  // because a reference object is allowed only where the specification has a place for one.
  const { $ref } = schema as { $ref?: unknown };
  if (typeof $ref !== 'string') throw new TypeError(`the answer of ${route.id} needs a name of its own`);
  return { 'text/event-stream': { schema: { type: 'string' }, 'x-event-data': $ref } };
}

function parametersOf(route: ApiRoute, components: Components): Json[] {
  const { path } = route;
  const segments = path.split('/');
  const inPath = segments.flatMap((segment, i) => {
    if (!segment.startsWith(':')) return [];
    const facts = PATH_PARAMETERS[`${segments[i - 1]}/${segment}`]?.facts;
    if (facts === undefined) throw new TypeError(`say what ${segment} of ${path} is`);
    return [{ name: segment.slice(1), in: 'path', required: true, ...facts }];
  });
  const inQuery = components
    .members(route.query ?? {})
    .map(({ name, required, schema: { description, ...schema } }) => ({
      name,
      in: 'query',
      ...(description === undefined ? {} : { description }),
      required,
      schema,
    }));
  const shared = [
    ...(route.idempotent === true ? ['IdempotencyKey'] : []),
    ...(route.body === undefined && inQuery.length === 0 ? [] : ['Prefer']),
    ...(route.media === 'text/event-stream' ? ['LastEventId'] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...inPath, ...inQuery, ...shared];
}

function webhookSection(components: Components): Json {
  const headers = ['WebhookId', 'WebhookTimestamp', 'WebhookSignature'];
  return Object.fromEntries(
    webhookPayloads().map(({ type, kind, meaning, schema }) => [
      type,
      {
        post: {
          operationId: `on${type.split(/[._]/).map(capital).join('')}`,
          summary: capital(meaning),
          description: `Called for webhooks of \`${EVENT_KINDS[kind].token}\` or \`all\`. Signed as Standard Webhooks says; any other answer than 2xx is tried again.`,
          tags: ['Webhooks'],
          security: [],
          parameters: headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: components.output(schema, `${type.split(/[._]/).map(capital).join('')}Payload`),
              },
            },
          },
          responses: {
            '2XX': { description: 'Taken' },
            '410': { description: 'Not wanted any more: the webhook is switched off' },
          },
        },
      },
    ]),
  );
}

/** Links of the reference lead nowhere here. */
function withoutLinks(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}
