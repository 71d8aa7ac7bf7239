import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { recordingAcceptance, type SendOptions, send, startListener, tokenMemory } from './test-support.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAIL = {
  From: { name: 'Ann', email: 'ann@example.com' },
  To: [{ name: 'Bob', email: 'bob@example.net' }],
  Subject: 'Hello',
  ContentType: 'HTML',
  HTMLContent: '<p>Hi</p>',
};

function memoryStore(found: () => unknown = () => null) {
  return { ...tokenMemory(), findIdempotent: async () => found() } as never;
}

describe('POST /email over a socket', () => {
  const acceptance = recordingAcceptance();
  let at: Awaited<ReturnType<typeof startListener>>;
  let token: string;
  beforeAll(async () => {
    at = await startListener({ store: memoryStore(), acceptance });
    token = await at.token();
  });
  afterAll(() => at.close());

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const options: SendOptions = {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    };
    return send(at.url + path, 'POST', options);
  };

  it('answers the example of the specification with exactly one key', async () => {
    const reply = await post('/api/v1/email', MAIL);
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.json())).toEqual(['MessageID']);
    expect(reply.json().MessageID).toMatch(UUID);
    expect(reply.headers.location).toBe(`/api/v1/email/${reply.json().MessageID}`);
    expect(reply.headers['x-request-id']).toMatch(UUID);
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['access-control-allow-origin']).toBeUndefined();
  });

  it.each(['/api/v1//email', '/api/v1/email/', '//api//v1//email//', '/api/v1/email?x=1'])(
    'takes the path %s',
    async (path) => {
      expect((await post(path, MAIL)).status).toBe(200);
    },
  );

  it('takes a gzip body and refuses what is no gzip', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    expect((await post('/api/v1/email', gzipSync(JSON.stringify(MAIL)), gzip)).status).toBe(200);
    const bad = await post('/api/v1/email', 'nonsense', gzip);
    expect([bad.status, bad.json().Errors]).toMatchObject([400, [{ Code: 1005 }]]);
    const brotli = await post('/api/v1/email', MAIL, { 'content-encoding': 'br' });
    expect(brotli.json().Errors).toMatchObject([{ Code: 1005 }]);
  });

  it('reads and composes a body over 256 KiB in a worker', async () => {
    const body = { ...MAIL, HTMLContent: `<p>${'x'.repeat(400_000)}</p>` };
    expect((await post('/api/v1/email', body)).status).toBe(200);
    const last = acceptance.requests.at(-1);
    expect(last?.prepared?.composed.bytes.length).toBeGreaterThan(400_000);
    const broken = await post('/api/v1/email', { ...body, Subject: '' });
    expect(broken.json().Errors).toMatchObject([{ Code: 8, Field: '/Subject' }]);
    const noJson = await post('/api/v1/email', 'x'.repeat(300_000));
    expect(noJson.json().Errors).toMatchObject([{ Code: 1001 }]);
  });

  it('lists every missing field in one problem body', async () => {
    const reply = await post('/api/v1/email', {});
    expect(reply.status).toBe(422);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    const problem = reply.json();
    expect(problem.Errors).toMatchObject([{ Code: 3 }, { Code: 20 }, { Code: 8 }, { Code: 9 }, { Code: 10 }]);
    expect(problem).toMatchObject({ status: 422, Error: 'From is required', title: expect.any(String) });
    expect(problem.type).toBe(`${at.url}/api/v1/problems/from-email-required`);
  });

  it.each([
    ['text/plain', 415, 1002],
    ['nonsense', 415, 1002],
  ])('refuses the content type %s', async (type, status, code) => {
    const reply = await post('/api/v1/email', MAIL, { 'content-type': type });
    expect([reply.status, reply.json().Errors]).toMatchObject([status, [{ Code: code }]]);
  });

  it.each([
    'application/json; charset=utf-8',
    'application/vnd.x+json',
    'APPLICATION/JSON',
    'application/json;',
    'application/json; charset',
    'application/json; a=b; c="d;e"',
  ])('takes the content type %s', async (type) => {
    expect((await post('/api/v1/email', MAIL, { 'content-type': type })).status).toBe(200);
  });

  it('asks for a token before it looks at anything else', async () => {
    const missing = await send(`${at.url}/api/v1/email`, 'POST', { body: '{' });
    expect([missing.status, missing.json().Errors]).toMatchObject([401, [{ Code: 1 }]]);
    expect(missing.headers['www-authenticate']).toBe('Bearer realm="api", error="invalid_token"');
    const bad = await send(`${at.url}/api/v1/email`, 'POST', { headers: { authorization: 'Bearer x' } });
    expect([bad.status, bad.json().Errors]).toMatchObject([401, [{ Code: 13 }]]);
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('refuses a token without the scope', async () => {
    const other = await at.token({ scopes: ['email:read'] });
    const reply = await post('/api/v1/email', MAIL, { authorization: `Bearer ${other}` });
    expect([reply.status, reply.json().Errors]).toMatchObject([403, [{ Code: 34 }]]);
    expect(reply.headers['www-authenticate']).toContain('scope="email:send"');
  });

  it('answers 405 with Allow, 404 for unknown paths, and keeps a good request id', async () => {
    const wrong = await send(`${at.url}/api/v1/email`, 'PUT');
    expect([wrong.status, wrong.json().Errors]).toMatchObject([405, [{ Code: 405 }]]);
    expect(wrong.headers.allow).toContain('POST');
    const unknown = await send(`${at.url}/api/v1/nothing`, 'GET', { headers: { 'x-request-id': 'abc-1' } });
    expect([unknown.status, unknown.headers['x-request-id']]).toEqual([404, 'abc-1']);
    const odd = await send(`${at.url}/api/v1/nothing`, 'GET', { headers: { 'x-request-id': 'a b' } });
    expect(odd.headers['x-request-id']).toMatch(UUID);
    expect((await send(`${at.url}/api/v1/%zz`, 'GET')).status).toBe(400);
  });

  it('refuses an announced or chunked body over the limit with 413', async () => {
    const small = await startListener({ store: memoryStore(), acceptance }, { maxBodyBytes: 1000 });
    const authorization = `Bearer ${await small.token()}`;
    const body = JSON.stringify({ ...MAIL, HTMLContent: 'x'.repeat(2000) });
    const announced = await send(`${small.url}/api/v1/email`, 'POST', {
      headers: { authorization, 'content-length': String(body.length) },
      body,
    });
    expect([announced.status, announced.json().Errors]).toMatchObject([413, [{ Code: 1003 }]]);
    const chunked = await send(`${small.url}/api/v1/email`, 'POST', {
      headers: { authorization, 'transfer-encoding': 'chunked' },
      body,
    });
    expect(chunked.status).toBe(413);
    const bomb = await send(`${small.url}/api/v1/email`, 'POST', {
      headers: { authorization, 'content-encoding': 'gzip' },
      body: gzipSync('x'.repeat(100_000)),
    });
    expect(bomb.status).toBe(413);
    await small.close();
  });

  it.each([
    [
      'a wrong token, and a client that closes after each',
      'Connection: close\r\nAuthorization: Bearer x\r\n',
      401,
    ],
    ['a body over the limit', '', 413],
  ])('answers a client that reads only after it has sent its whole body: %s', async (_, header, status) => {
    const length = 33 * 1024 * 1024;
    const socket = connect({ port: at.port, host: '127.0.0.1', allowHalfOpen: true });
    const answered = new Promise<string>((resolve, reject) => {
      socket.once('error', reject);
      const own = header === '' ? `Authorization: Bearer ${token}\r\n` : header;
      socket.write(`POST /api/v1/email HTTP/1.1\r\nHost: a\r\n${own}Content-Length: ${length}\r\n\r\n`);
      socket.write(Buffer.alloc(length, 'x'), () => {
        let answer = '';
        socket.on('data', (chunk) => {
          answer += chunk.toString();
        });
        socket.once('end', () => resolve(answer));
      });
    });
    expect(await answered).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });

  it('begins no request behind the last answer of a connection', async () => {
    const next = `POST /api/v1/email HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${JSON.stringify(MAIL).length}\r\n\r\n${JSON.stringify(MAIL)}`;
    const before = acceptance.requests.length;
    const answer = await raw(
      at.port,
      `POST /api/v1/email HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 5\r\n\r\n`,
      `12345${next}`,
    );
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400']);
    expect(acceptance.requests).toHaveLength(before);
  });

  it('shapes what the HTTP parser refuses', async () => {
    expect(await raw(at.port, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*"Code":400/);
    expect(await raw(at.port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*"Code":431/,
    );
  });

  it.each([
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['several hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n'],
    [
      'a body whose end another server sees elsewhere',
      'POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('refuses a request with %s, and what follows it', async (_, text) => {
    const answer = await raw(at.port, `${text}GET /api/v1/problems/internal HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer.match(/^HTTP\/1\.1 .../gm)).toEqual(['HTTP/1.1 400']);
  });

  it('serves the human page of each problem without scripts', async () => {
    const page = await send(`${at.url}/api/v1/problems/subject-required`, 'GET');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect((await send(`${at.url}/api/v1/problems/__proto__`, 'GET')).status).toBe(404);
    expect((await send(`${at.url}/api/v1/problems/subject-required`, 'HEAD')).status).toBe(200);
  });
});

describe('refusals and replays', () => {
  it('never shows the inside of a failure', async () => {
    const at = await startListener({
      store: memoryStore(),
      acceptance: recordingAcceptance(() => Promise.reject(new Error('secret'))),
    });
    const headers = { authorization: `Bearer ${await at.token()}` };
    const reply = await send(`${at.url}/api/v1/email`, 'POST', { headers, body: JSON.stringify(MAIL) });
    expect([reply.status, reply.text.includes('secret')]).toEqual([500, false]);
    await at.close();
  });

  it('passes on what acceptance refuses', async () => {
    const at = await startListener({
      store: memoryStore(),
      acceptance: recordingAcceptance(() => Promise.reject(new AppError('from-domain-not-allowed'))),
    });
    const headers = { authorization: `Bearer ${await at.token()}` };
    const reply = await send(`${at.url}/api/v1/email`, 'POST', { headers, body: JSON.stringify(MAIL) });
    expect([reply.status, reply.json().Errors]).toMatchObject([403, [{ Code: 33 }]]);
    await at.close();
  });

  it('refuses a second request while the first with its key runs, then repeats the first answer', async () => {
    let finish = () => {};
    let stored: unknown = null;
    const begun = Promise.withResolvers<void>();
    const acceptance = recordingAcceptance(
      (request) =>
        new Promise((resolve) => {
          begun.resolve();
          finish = () => {
            stored = {
              fingerprint: request.idempotency?.fingerprint,
              status: 200,
              body: '{"MessageID":"m"}',
            };
            resolve({ kind: 'accepted', messageId: 'm' as never });
          };
        }),
    );
    const at = await startListener({ store: memoryStore(() => stored), acceptance });
    const headers = {
      authorization: `Bearer ${await at.token()}`,
      'idempotency-key': '"key 1"'.replace(' ', '-'),
    };
    const body = JSON.stringify(MAIL);
    const first = send(`${at.url}/api/v1/email`, 'POST', { headers, body });
    await begun.promise;
    const second = await send(`${at.url}/api/v1/email`, 'POST', {
      headers: { ...headers, 'idempotency-key': 'key-1' },
      body,
    });
    expect([second.status, second.json().Errors]).toMatchObject([409, [{ Code: 1703 }]]);
    expect(second.headers['retry-after']).toBe('1');
    finish();
    expect((await first).status).toBe(200);
    const third = await send(`${at.url}/api/v1/email`, 'POST', { headers, body });
    expect([third.status, third.text, third.headers['idempotency-replayed']]).toEqual([
      200,
      '{"MessageID":"m"}',
      'true',
    ]);
    const other = await send(`${at.url}/api/v1/email`, 'POST', { headers, body: `${body} ` });
    expect([other.status, other.json().Errors]).toMatchObject([422, [{ Code: 1702 }]]);
    await at.close();
  });

  it('finishes what runs and refuses what is new while it stops', async () => {
    let finish = () => {};
    const begun = Promise.withResolvers<void>();
    const acceptance = recordingAcceptance(
      () =>
        new Promise((resolve) => {
          begun.resolve();
          finish = () => resolve({ kind: 'accepted', messageId: 'm' as never });
        }),
    );
    const at = await startListener({ store: memoryStore(), acceptance });
    const headers = { authorization: `Bearer ${await at.token()}` };
    const first = send(`${at.url}/api/v1/email`, 'POST', { headers, body: JSON.stringify(MAIL) });
    await begun.promise;
    const stopped = at.listener.stop(5000);
    const late = await send(`${at.url}/api/v1/email`, 'POST', { headers, body: JSON.stringify(MAIL) });
    expect([late.status, late.headers['retry-after']]).toEqual([503, '5']);
    finish();
    expect((await first).status).toBe(200);
    await stopped;
    await expect(send(`${at.url}/api/v1/email`, 'GET')).rejects.toThrow();
  });
});

/** What is answered until the connection ends. `behind`: sent after the first answer. */
function raw(port: number, text: string, behind = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.once('data', () => socket.write(behind));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

describe('bodies of many requests at once', () => {
  it('are held up to a bound: one too many is told to come back, and may when another is through', async () => {
    const body = JSON.stringify(MAIL);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: inside, resolve: arrived } = Promise.withResolvers<void>();
    const acceptance = recordingAcceptance(async () => {
      arrived();
      await gate;
      return { kind: 'replay', status: 200, body: '{}' };
    });
    const at = await startListener(
      { store: memoryStore(), acceptance },
      { maxHeldBodyBytes: 2 * body.length - 1 },
    );
    const headers = { authorization: `Bearer ${await at.token()}`, 'content-type': 'application/json' };
    const post = () => send(`${at.url}/api/v1/email`, 'POST', { headers, body });
    const first = post();
    await inside;
    const second = await post();
    expect([second.status, second.headers['retry-after']]).toEqual([503, '1']);
    open();
    expect((await first).status).toBe(200);
    expect((await post()).status).toBe(200);
    await at.close();
  });
});
