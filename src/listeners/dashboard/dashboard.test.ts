/** How the files of the dashboard are served: compression, caching, access, and the answer if the dashboard was not built. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDashboard } from './dashboard.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'accept-encoding': 'gzip, deflate' };
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-ui-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>built</title>');
  writeFileSync(join(folder, 'assets', 'index-aB3.js'), 'run()');
  writeFileSync(join(folder, 'assets', 'index-aB3.js.gz'), gzipSync('run()'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function ask(path: string, headers: Readonly<Record<string, string>> = {}, from = folder, params = {}) {
  const { routes } = createDashboard(from, () => 'http://127.0.0.1:8025');
  const route = routes.find((one) => one.path === path);
  if (route === undefined) throw new Error(`no route ${path}`);
  return route.handle({ params, header: (name) => headers[name] });
}

describe('the dashboard', () => {
  it('is the page at its own addresses for a browser, never kept without asking', () => {
    for (const path of ['/', '/inbox', '/inbox/*']) {
      const { status, headers, body } = ask(path, BROWSER);
      expect([status, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-cache',
      ]);
      expect(String(body)).toContain('built');
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  it('names the API for programs', () => {
    for (const accept of ['application/json', '*/*', '']) {
      const { headers, body } = ask('/', { accept });
      expect(headers['content-type']).toContain('application/json');
      expect(JSON.parse(String(body))).toEqual({
        API: 'http://127.0.0.1:8025/api/v1',
        Reference: 'http://127.0.0.1:8025/api/v1/docs',
        OpenAPI: 'http://127.0.0.1:8025/api/v1/openapi.json',
      });
    }
  });

  it('gives a file once and for ever, compressed for whoever reads that', () => {
    const file = { file: 'index-aB3.js' };
    const small = ask('/assets/:file', BROWSER, folder, file);
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(small.headers['cache-control']).toContain('immutable');
    expect(small.headers.vary).toContain('accept-encoding');
    const refused = ask('/assets/:file', { 'accept-encoding': 'gzip;q=0, br' }, folder, file);
    expect(refused.headers['content-encoding']).toBeUndefined();
    expect(String(refused.body)).toBe('run()');
    const tag = String(small.headers.etag);
    // Forms of one file that differ in their octets may not share a strong tag.
    expect(tag).toMatch(/^W\/"/);
    for (const known of [tag, `"other", ${tag}`, '*']) {
      const again = ask('/assets/:file', { 'if-none-match': known }, folder, file);
      expect([again.status, again.body, again.headers.vary]).toEqual([304, '', small.headers.vary]);
    }
    expect(ask('/assets/:file', { 'if-none-match': '"other"' }, folder, file).status).toBe(200);
  });

  it('answers nothing outside its folder', () => {
    for (const file of ['index-other.js', '../index.html', '..%2findex.html', '', '__proto__'])
      expect(ask('/assets/:file', BROWSER, folder, { file }).status).toBe(404);
  });

  it('gives an empty page for previews that runs nothing and loads pictures at the most', () => {
    for (const [path, img] of [
      ['/preview', 'data:'],
      ['/preview/pictures', 'data: https: http:'],
    ] as const) {
      const { status, headers, body } = ask(path, BROWSER);
      expect([status, String(body).replace(/<title>.*<\/title>/, '')]).toEqual([
        200,
        expect.not.stringMatching(/script|style/),
      ]);
      expect(headers['content-security-policy']).toBe(
        `sandbox allow-same-origin; default-src 'none'; img-src ${img}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
      );
      expect(headers['referrer-policy']).toBe('no-referrer');
    }
  });

  it('is the page for a browser, with status 404, where nothing is', () => {
    const missing = (headers: Readonly<Record<string, string>>, from = folder) =>
      createDashboard(from, () => 'http://127.0.0.1:8025').missingPage((name) => headers[name]);
    const page = missing({ ...BROWSER, 'if-none-match': '*' });
    expect([page?.status, String(page?.body)]).toEqual([404, expect.stringContaining('built')]);
    expect(page?.headers['content-security-policy']).toContain("default-src 'none'");
    for (const accept of ['application/json', '*/*', '']) expect(missing({ accept })).toBeNull();
    expect(missing(BROWSER, join(folder, 'nowhere'))).toBeNull();
  });

  it('says how to build it where it is not built', () => {
    const { status, body } = ask('/', BROWSER, join(folder, 'nowhere'));
    expect(status).toBe(200);
    expect(String(body)).toContain('npm run build:ui');
  });
});
