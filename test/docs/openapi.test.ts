/**
 * openapi.json: what is committed is what the code makes, it is good OpenAPI 3.1 to a foreign judge and to our own rules,
 * and its examples fit its schemas. That answers fit it is held by test/scenarios/contract.test.ts.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { contractRoutes, openApiText } from '../../docs/generate/api.ts';
import { CLIENT_TYPES, clientTypesText } from '../../docs/generate/client-types.ts';
import { OPENAPI } from '../../docs/generate.ts';
import { judge, lookUp } from '../fakes/json-schema.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const LINTER = join(ROOT, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');

interface Operation {
  operationId: string;
  security: object[];
  tags: string[];
  parameters?: { $ref?: string; name?: string; in?: string }[];
  requestBody?: { content: Record<string, { schema: object; example: unknown }> };
  responses: Record<string, unknown>;
}

const text = readFileSync(OPENAPI, 'utf8');
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, Operation>>;
  tags: { name: string }[];
};
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== 'servers')
    .map(([method, operation]) => ({ path, name: `${method.toUpperCase()} ${path}`, operation })),
);

/** Called by a path in a variable, or by the contract and the test of tenants alone. */
const TRIED_OTHERWISE: ReadonlySet<string> = new Set([
  'DELETE /session/all/{id}',
  'GET /people',
  'POST /people',
  'GET /people/{id}',
  'PATCH /people/{id}',
  'DELETE /people/{id}',
  'PUT /people/{id}/password',
]);

describe('openapi.json', () => {
  it('is what the code makes', () => {
    expect(text === openApiText(), 'openapi.json is out of date: run npm run docs').toBe(true);
  });

  it('is what the types of the client are made from', () => {
    const current = readFileSync(CLIENT_TYPES, 'utf8') === clientTypesText();
    expect(current, 'src/client/api-types.ts is out of date: run npm run docs').toBe(true);
  });

  it.skipIf(!existsSync(LINTER))('pleases its linter without a warning (skipped: run npm ci)', async () => {
    const env = {
      ...process.env,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      CI: 'true',
    };
    const run = promisify(execFile)(process.execPath, [LINTER, 'lint', 'openapi.json', '--format=json'], {
      cwd: ROOT,
      env,
    });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    expect([totals.errors, totals.warnings, problems]).toEqual([0, 0, []]);
  });

  it('has every operation of the server once', () => {
    const mounted = contractRoutes().map(
      ({ method, path }) => `${method} ${path.replace(/:([a-z]+)/gi, '{$1}')}`,
    );
    const documented = operations.filter(
      ({ name, operation }) => mounted.includes(name) || operation.security.length > 0,
    );
    expect(documented.map(({ name }) => name).sort()).toEqual(mounted.sort());
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has every file of operations', () => {
    const folder = join(ROOT, 'src/listeners/http/operations');
    const files = readdirSync(folder).filter((file) => !file.endsWith('.test.ts'));
    const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'));
    const left = files.filter((file, i) => {
      const offers = /^export function \w+Operations?\(/m.test(texts[i] ?? '');
      return offers && !texts.some((text) => text.includes(`'./${file}'`));
    });
    expect(left, 'name these in operations/table.ts').toEqual([]);
  });

  it('has the worst request of every operation', () => {
    const worst = readFileSync(join(ROOT, 'test/event-loop/worst-requests.ts'), 'utf8');
    const left = operations.filter(({ operation: { operationId, security } }) => {
      return security.length > 0 && !new RegExp(`^ {4}${operationId}\\b`, 'm').test(worst);
    });
    expect(
      left.map(({ name }) => name),
      'add these to test/event-loop/worst-requests.ts',
    ).toEqual([]);
  });

  it('has a test for every operation, beside the contract', () => {
    const tests = ['test/scenarios', 'test/dialogues', 'src/listeners/http'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.test.ts') && !/contract|tenant-operations/.test(file))
        .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
    );
    const untried = operations.filter(({ path, name, operation }) => {
      if (operation.security.length === 0 || TRIED_OTHERWISE.has(name)) return false;
      const [method = ''] = name.split(' ');
      const called = path.replace(/\{\w+\}/g, '[^/\'"`?\n]+');
      // As it is called, or in the title of its tests.
      const call = new RegExp(`'${method}',\\s*[\`'"][^\n]*?${called}(?![\\w/-])`);
      return !tests.some((text) => call.test(text) || text.includes(`${name}'`));
    });
    expect(
      untried.map(({ name }) => name),
      'try these operations in test/scenarios',
    ).toEqual([]);
  });

  it('has references that lead somewhere', () => {
    const refs = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, ref = '']) => ref);
    expect(refs.length).toBeGreaterThan(100);
    for (const ref of refs) expect(() => lookUp(document, ref)).not.toThrow();
  });

  it.each(operations.map((one) => [one.name, one] as const))('%s is complete', (_, { path, operation }) => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = (operation.parameters ?? []).filter((one) => one.in === 'path').map(({ name }) => name);
    expect(declared).toEqual(inPath);
    const statuses = Object.keys(operation.responses);
    expect(statuses.filter((status) => status.startsWith('2'))).toHaveLength(1);
    if (operation.security.length > 0)
      expect(statuses).toEqual(expect.arrayContaining(['401', '403', '429', '503']));
    expect(document.tags.map(({ name }) => name)).toContain(operation.tags[0]);
  });

  it('has examples that fit', () => {
    const bodies = operations.flatMap(({ name, operation }) =>
      Object.values(operation.requestBody?.content ?? {}).map((content) => ({ name, ...content })),
    );
    expect(bodies.length).toBeGreaterThan(15);
    for (const { name, schema, example } of bodies) {
      expect(judge(document, schema, example, { closed: true }), name).toEqual([]);
    }
  });
});
