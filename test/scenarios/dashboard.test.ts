/**
 * What the dashboard may do without a token: on a development server of this machine, from its own page, and no more than
 * to read and send. Everywhere else a request without a token is refused as before.
 */
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, type Instance, request, startInstance } from './harness.ts';

const scope = fileScope();
let dev: Instance;

beforeAll(async () => {
  dev = await startInstance(scope, { mode: 'dev' });
});

async function status(...asked: Parameters<typeof answer>): Promise<number> {
  const { statusCode = 0 } = (await answer(...asked)).destroy();
  return statusCode;
}

/** Unlike fetch this sends whatever headers it is given. */
function answer(
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
  return new Promise<IncomingMessage>((resolve, reject) => {
    const sent = plainRequest({
      host: '127.0.0.1',
      port,
      method,
      path: `/api/v1${path}`,
      headers: { ...own, ...more },
    });
    sent.on('error', reject);
    sent.on('response', resolve);
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

describe('a page at an address that takes no password', () => {
  const said = async (server: Instance, more: Record<string, string>) =>
    text(await answer(server, 'POST', '/session/provider', more));
  const elsewhere = { host: 'post.example', origin: 'http://post.example' };

  it('is told where one is taken, and a page of another site or a program that it is not the dashboard', async () => {
    expect(await said(dev, elsewhere)).toContain('used over https and on the machine of the server');
    for (const more of [{ origin: 'https://evil.example' }, { origin: 'null' }])
      expect(await said(dev, more)).toContain('does not come from the dashboard of this server');
    const { json } = await dev.call('POST', '/session/provider', { token: null });
    expect(json.Error).toContain('does not come from the dashboard of this server');
  });

  it('is told of the public address, and what a proxy there has to pass on', async () => {
    const open = await startInstance(scope, { settings: { 'public-url': 'https://mail.example.com' } });
    const where = 'used at https://mail.example.com and on the machine of the server';
    expect(await said(open, elsewhere)).toMatch(new RegExp(`${where}.* pass on the Host header`));
    await open.stop();
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
