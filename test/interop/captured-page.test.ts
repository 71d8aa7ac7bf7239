/** The page of a captured message in a real browser: hostile HTML runs nothing, loads nothing and connects to nobody. */
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, hasBrowser } from '../browser/chromium.ts';
import { addDomain, fileScope, type Instance, startInstance, temporaryFolder } from '../scenarios/harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;
/** Whoever connects to it was told to by the mail. */
let outside: { url: string; connections: number; requests: string[] };

async function listen(made: Server): Promise<number> {
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    made.closeAllConnections();
    return new Promise((resolve) => made.close(resolve));
  });
  return (made.address() as AddressInfo).port;
}

beforeAll(async () => {
  server = await startInstance(scope, {});
  token = await addDomain(server, 'example.com');
  const seen = { url: '', connections: 0, requests: [] as string[] };
  const far = createServer((request, response) => {
    seen.requests.push(request.url ?? '');
    response.end('');
  });
  far.on('connection', () => {
    seen.connections += 1;
  });
  seen.url = `http://127.0.0.1:${await listen(far)}`;
  outside = seen;
});

const hostile = (url: string) => `
<script>document.documentElement.setAttribute('data-ran', 'script')</script>
<script src="${url}/script.js"></script>
<link rel="stylesheet" href="${url}/style.css"><link rel="preconnect" href="${url}"><link rel="prefetch" href="${url}/prefetch">
<link rel="icon" href="${url}/icon">
<meta http-equiv="refresh" content="0;url=${url}/refresh"><base href="${url}/">
<style>@import url(${url}/import.css); @font-face { font-family: f; src: url(${url}/font) } body { font-family: f; background: url(${url}/background) }</style>
<img src="${url}/pixel" srcset="${url}/srcset 2x" onerror="document.documentElement.setAttribute('data-ran','onerror')">
<img src="x" onerror="document.documentElement.setAttribute('data-ran','onerror')">
<svg onload="document.documentElement.setAttribute('data-ran','svg')"><image href="${url}/svg-image"/><use href="${url}/use#a"/></svg>
<iframe src="${url}/frame"></iframe><iframe srcdoc="<script>parent.document.documentElement.setAttribute('data-ran','srcdoc')</script><img src='${url}/inner'>"></iframe>
<object data="${url}/object"></object><embed src="${url}/embed"><video src="${url}/video" poster="${url}/poster" autoplay></video><audio src="${url}/audio" autoplay></audio>
<form action="${url}/form" id="f"><input name="a" autofocus onfocus="this.form.submit()"></form>
<details open ontoggle="document.documentElement.setAttribute('data-ran','toggle')">d</details>
<a href="javascript:alert(1)">a</a><table background="${url}/table"><tr><td>still readable</td></tr></table>
<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${url}/speculation"]}]}</script>`;

async function captured(html: string): Promise<{ headers: Headers; text: string; status: number }> {
  const id = await server.send(
    { Sandbox: true, HTMLContent: html, PlainContent: 'x', To: [{ email: 'page@example.net' }] },
    { token },
  );
  await server.settled(id);
  const { ID } = (await server.call('GET', '/sandbox/wait?To=page@example.net', { token })).json;
  return server.call('GET', `/sandbox/messages/${ID}/html`, { token });
}

/** What the browser made of a page that a server of ours shows it. */
async function dom(page: string, headers: Record<string, string>): Promise<string> {
  const shown = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
    response.end(page);
  });
  const url = `http://127.0.0.1:${await listen(shown)}/`;
  const profile = join(await temporaryFolder(scope), 'profile');
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const child = spawn(CHROMIUM ?? '', [
    ...args,
    `--user-data-dir=${profile}`,
    '--virtual-time-budget=3000',
    '--dump-dom',
    url,
  ]);
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  await new Promise((resolve) => child.once('close', resolve));
  return out;
}

describe('the page of a captured message', () => {
  it('says what it may do, whoever shows it', async () => {
    const page = await captured(hostile('https://evil.example'));
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'.*; frame-ancestors 'self'$/,
    );
    expect(page.text).not.toContain(' href="javascript:');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.text).toMatch(
      /^<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy"/,
    );
    expect(page.text.slice(1)).not.toMatch(/<(link|base)\b/i);
  });

  it.skipIf(!hasBrowser)(
    'does nothing in a browser (skipped without Chromium)',
    { timeout: 180_000 },
    async () => {
      const evil = hostile(outside.url);
      // What the browser does without any of it, so that this test can fail.
      const bare = await dom(evil.replace(/<meta[^>]*>|<form.*<\/form>/g, ''), {});
      expect(bare).toContain('data-ran="');
      expect(outside.requests).toContain('/pixel');
      outside.requests.length = 0;
      outside.connections = 0;

      const page = await captured(evil);
      const asPage = await dom(page.text, {
        'content-security-policy': page.headers.get('content-security-policy') ?? '',
      });
      expect(asPage).toContain('still readable');
      expect(asPage).not.toContain('data-ran="');
      expect([outside.requests, outside.connections]).toEqual([[], 0]);

      // As a dashboard shows it: from a string, without the answer's headers.
      const text = page.text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
      await dom(`<!doctype html><iframe sandbox srcdoc="${text}"></iframe>`, {});
      expect([outside.requests, outside.connections]).toEqual([[], 0]);
    },
  );
});
