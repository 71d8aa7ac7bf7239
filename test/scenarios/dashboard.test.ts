/**
 * What the dashboard may do without a token: on a development server of this machine, from its own page, and no more than
 * to read and send. Everywhere else a request without a token is refused as before.
 */
import { request as plainRequest } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, request, startInstance } from './harness.ts';

const scope = fileScope();
let dev: Instance;

beforeAll(async () => {
  dev = await startInstance(scope, { mode: 'dev' });
});

/** The status; unlike fetch this sends whatever headers it is given. */
function status(
  server: Instance,
  method: string,
  path: string,
  more: Record<string, string> = {},
  body = '',
) {
  const { host, port } = new URL(server.server.localUrl);
  const own = {
    host,
    'sec-fetch-site': 'same-origin',
    origin: `http://${host}`,
    'x-postrider-dashboard': '1',
  };
  return new Promise<number>((resolve, reject) => {
    const sent = plainRequest({
      host: '127.0.0.1',
      port,
      method,
      path: `/api/v1${path}`,
      headers: { ...own, ...more },
    });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      answer.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sent.end(body);
  });
}

describe('without a token', () => {
  it('the own page of a development server reads and changes captured mail', async () => {
    expect(await status(dev, 'GET', '/sandbox/messages')).toBe(200);
    expect(await status(dev, 'GET', '/sandbox/stream')).toBe(200);
    const json = { 'content-type': 'application/json' };
    expect(await status(dev, 'PATCH', '/sandbox/messages', json, '{"Seen":true}')).toBe(200);
    expect(await status(dev, 'DELETE', '/sandbox/messages')).toBe(200);
  });

  it('it reads what its places show, and works on the queue', async () => {
    for (const path of [
      '/attention',
      '/queue',
      '/queue/holds',
      '/causes',
      '/stats',
      '/domains',
      '/config',
      '/nodes',
      '/warmup',
    ])
      expect(await status(dev, 'GET', path), path).toBe(200);
    expect(await status(dev, 'POST', '/queue/paths/none.example/try')).toBe(404);
  });

  it('it changes what its places show', async () => {
    const json = { 'content-type': 'application/json' };
    expect(await status(dev, 'POST', '/domains', json, '{"Domain":"page.example"}')).toBe(201);
    expect(await status(dev, 'PATCH', '/domains/page.example', json, '{"Subdomains":true}')).toBe(200);
    expect(
      await status(dev, 'POST', '/templates', json, '{"Name":"x","Subject":"y","Domain":"page.example"}'),
    ).toBe(201);
  });

  it('it gives nobody access', async () => {
    for (const [method, path] of [
      ['POST', '/tokens'],
      ['POST', '/smtp-credentials'],
      ['POST', '/erase'],
    ] as const)
      expect(await status(dev, method, path), `${method} ${path}`).toBe(403);
  });

  it('a token that is sent decides by itself', async () => {
    expect(await status(dev, 'GET', '/sandbox/messages', { authorization: 'Bearer none' })).toBe(401);
    expect(await status(dev, 'GET', '/tokens', { authorization: `Bearer ${dev.token}` })).toBe(200);
  });

  it('a name that leads here, another site and a program are refused', async () => {
    expect(await status(dev, 'GET', '/sandbox/messages', { host: 'rebound.example' })).toBe(401);
    expect(await status(dev, 'GET', '/sandbox/messages', { 'sec-fetch-site': 'cross-site' })).toBe(401);
    expect(await status(dev, 'DELETE', '/sandbox/messages', { origin: 'http://127.0.0.1:1' })).toBe(401);
    expect((await dev.call('GET', '/sandbox/messages', { token: null })).status).toBe(401);
  });

  it('nothing is open where others reach the server', async () => {
    for (const options of [
      {},
      { mode: 'dev', settings: { expose: 'on' } },
      { mode: 'dev', settings: { 'public-url': 'http://mail.example.com' } },
    ] as const) {
      const closed = await startInstance(scope, options);
      expect(await status(closed, 'GET', '/sandbox/messages')).toBe(401);
      await closed.stop();
    }
  });
});

describe('the root', () => {
  it('names the API for programs, and leaves every other path alone', async () => {
    const { localUrl } = dev.server;
    const root = await request('GET', localUrl, { headers: { accept: 'application/json' } });
    expect(root.json).toMatchObject({ API: `${localUrl}/api/v1`, Reference: `${localUrl}/api/v1/docs` });
    const browser = { headers: { accept: 'text/html' } };
    for (const path of ['/api/v1/none', '/api/v2', '/inboxes', '/u/x', '/c/x/y'])
      expect((await request('GET', localUrl + path, browser)).status, path).toBe(404);
    expect((await request('GET', `${localUrl}/healthz`, browser)).headers.get('content-type')).toContain(
      'json',
    );
    expect((await request('POST', `${localUrl}/inbox`, browser)).status).toBe(405);
  });
});
