/**
 * Makes the types of the client (src/client/api-types.ts) from the document of the API: the requests and answers of the
 * operations that the client, the dashboard or a command uses, and every schema that these refer to.
 */
import { join } from 'node:path';
import { openApiText } from './api.ts';
import { formatted } from './formatted.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const CLIENT_TYPES = join(ROOT, 'src', 'client', 'api-types.ts');

/** Operations that the client has a method for, or whose answers the dashboard or a command reads. */
const OPERATIONS: ReadonlySet<string> = new Set([
  ...['sendEmail', 'listEmails', 'getEmail', 'listEmailEvents', 'cancelEmail', 'retryEmail'],
  ...['streamEvents', 'getStats', 'getMe'],
  ...['listWebhooks', 'createWebhook', 'getWebhook', 'updateWebhook', 'testWebhook'],
  ...['rotateWebhookSecret', 'listWebhookCalls', 'getWebhookCall', 'replayWebhook'],
  ...['listDomains', 'createDomain', 'getDomain', 'getDmarc', 'verifyDomain'],
  ...['listSuppressions', 'addSuppressions', 'getSuppression', 'deleteSuppression'],
  ...['listCaptures', 'getCapture', 'deleteCaptures', 'waitForCapture', 'streamCaptures', 'listInboxes'],
  ...['releaseCapture', 'getCaptureSpam', 'listSandboxRules', 'createSandboxRule', 'deleteSandboxRules'],
  ...['listTemplates', 'createTemplate', 'getTemplate', 'updateTemplate', 'renderTemplate', 'renderTexts'],
  ...['getSession', 'listSessions', 'makeTotpSecret', 'switchOnTotp', 'switchOffTotp'],
  ...['getIdentityProvider', 'goToIdentityProvider'],
  ...['getAttention', 'getQueue', 'getSite', 'tryPath', 'listHolds', 'holdQueue', 'releaseQueue'],
  ...['listCauses', 'resendCause', 'deleteOverride', 'getConfig', 'listTokens'],
  ...['createToken', 'rotateToken', 'revokeToken', 'listSmtpCredentials', 'createSmtpCredential'],
  ...['listPeople', 'createPerson', 'updatePerson', 'listAudit'],
  ...['runDoctor', 'listNodes', 'getWarmup', 'listRefusals', 'erasePerson', 'listPaths'],
]);

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  prefixItems?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

interface Operation {
  operationId?: string;
  parameters?: { in?: string; name?: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: unknown;
  responses?: unknown;
}

/** The whole file. */
export function clientTypesText(): string {
  const document = JSON.parse(openApiText()) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const { schemas } = document.components;
  const wanted = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ operationId }) => operationId !== undefined && OPERATIONS.has(operationId));
  if (wanted.length !== OPERATIONS.size) throw new Error('an operation of the client is not in the API');
  const queries = wanted.flatMap((operation) => {
    const inQuery = (operation.parameters ?? []).filter((one) => one.in === 'query');
    return inQuery.length === 0 ? [] : [`  ${operation.operationId}: ${queryText(inQuery)};`];
  });
  // Refusals are thrown, with their problems.
  const named = reached([wanted, { $ref: '#/components/schemas/ProblemItem' }], schemas);
  const types = [...named].sort().map((name) => {
    const schema = schemas[name] ?? {};
    const about = schema.description === undefined ? '' : `/** ${schema.description} */\n`;
    return `${about}export type ${name} = ${typeText(schema)};\n`;
  });
  return formatted(
    CLIENT_TYPES,
    `/**
 * What the API takes and answers, as far as the client knows it. Written by docs/generate.ts from openapi.json: change the
 * schemas of the server and run \`npm run docs\`. In one piece, because the types name each other.
 */

${types.join('\n')}
/** Parameters in the query, by operation. */
export interface Queries {
${queries.join('\n')}
}
`,
  );
}

/** Names of the schemas that are referred to, directly or by others. */
function reached(from: unknown, schemas: Readonly<Record<string, Schema>>): Set<string> {
  const names = new Set<string>();
  const follow = (value: unknown): void => {
    // A reference is the value of $ref, or a text of its own where an extension names a schema.
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name) || name === 'Problem') continue;
      names.add(name);
      follow(schemas[name]);
    }
  };
  follow(from);
  return names;
}

function queryText(parameters: NonNullable<Operation['parameters']>): string {
  const properties = Object.fromEntries(
    parameters.map(({ name = '', description, schema }) => [
      name,
      { ...schema, ...(description === undefined ? {} : { description }) },
    ]),
  );
  const required = parameters.filter((one) => one.required === true).map(({ name = '' }) => name);
  return typeText({ type: 'object', properties, required });
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.anyOf !== undefined) return union(schema.anyOf.map(typeText));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeText({ ...schema, type })));
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      if (schema.prefixItems !== undefined)
        return `readonly [${schema.prefixItems.map(typeText).join(', ')}]`;
      return `readonly (${typeText(schema.items ?? {})})[]`;
    case 'object':
      return objectText(schema);
    default:
      return 'unknown';
  }
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const about = schema.description === undefined ? '' : `/** ${schema.description} */\n`;
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${about}${key}${required.includes(name) ? '' : '?'}: ${typeText(schema)};\n`;
  });
  if (members.length > 0) return `{\n${members.join('')}}`;
  const values = typeof additionalProperties === 'object' ? typeText(additionalProperties) : 'unknown';
  return `Readonly<Record<string, ${values}>>`;
}

function union(members: readonly string[]): string {
  return [...new Set(members)].join(' | ');
}
