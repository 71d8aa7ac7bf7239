/** Retries and errors, against a real HTTP server whose answers are given one by one. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCaller, pathPart } from './caller.ts';
import { base64 } from './client.ts';
import { PostriderConnectionError, PostriderError } from './errors.ts';

type Answerer = (request: IncomingMessage, response: ServerResponse) => void;
let answers: Answerer[] = [];
let seen: { method: string; url: string; key: string | undefined; body: string }[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      key: request.headers['idempotency-key']?.toString(),
      body,
    });
    const answer = answers.shift() ?? ((_, res) => res.end('{}'));
    answer(request, response);
  });
});
let baseUrl = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answers = [];
  seen = [];
});

const later: Answerer = (_, response) =>
  response
    .writeHead(503, { 'retry-after': '0', 'content-type': 'application/problem+json' })
    .end('{"Error":"busy"}');
const ok: Answerer = (_, response) => response.end('{"MessageID":"m"}');
const lost: Answerer = (request) => request.socket.destroy();
const refused: Answerer = (_, response) =>
  response.writeHead(422, { 'x-request-id': 'r1' }).end(
    JSON.stringify({
      Error: 'Subject is required',
      Errors: [{ Code: 8, Name: 'subject-required', Message: 'Subject is required', Field: '/Subject' }],
    }),
  );
const caller = () => createCaller({ baseUrl, token: 'a.b.c' });

describe('a call', () => {
  it('says why there was no answer', async () => {
    const closed = createCaller({ baseUrl: 'http://127.0.0.1:1', token: 'a.b.c', maxRetries: 0 });
    await expect(closed.json({ method: 'GET', path: '/me' })).rejects.toThrow(/^GET \/me: fetch failed: ./);
    const plain = createCaller({
      baseUrl: baseUrl.replace('http:', 'https:'),
      token: 'a.b.c',
      maxRetries: 0,
    });
    await expect(plain.json({ method: 'GET', path: '/me' })).rejects.toThrow(
      'does not speak TLS: begin baseUrl',
    );
  });

  it('is repeated with the same key and body until it is answered', async () => {
    answers = [later, lost, ok];
    const answer = await caller().json({ method: 'POST', path: '/email', body: { a: 1 } });
    expect(answer).toEqual({ MessageID: 'm' });
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map(({ key, body }) => `${key} ${body}`)).size).toBe(1);
    expect(seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('keeps the key it is given, and another call gets another one', async () => {
    await caller().json({ method: 'POST', path: '/email' }, { idempotencyKey: 'order-7' });
    await caller().json({ method: 'POST', path: '/email' });
    await caller().json({ method: 'POST', path: '/email' });
    expect(seen[0]?.key).toBe('order-7');
    expect(seen[1]?.key).not.toBe(seen[2]?.key);
  });

  it('is not repeated when it is refused, and the error holds all that was said', async () => {
    answers = [refused];
    const error = await caller()
      .json({ method: 'POST', path: '/email' })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PostriderError);
    expect(error).toMatchObject({
      status: 422,
      code: 8,
      problem: 'subject-required',
      message: 'Subject is required',
      requestId: 'r1',
    });
    expect(seen).toHaveLength(1);
  });

  it('gives up after maxRetries, with the last answer', async () => {
    answers = [later, later];
    const stubborn = createCaller({ baseUrl, token: 't', maxRetries: 1 });
    await expect(stubborn.json({ method: 'GET', path: '/me' })).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(2);
  });

  it('says that there was no answer, and why', async () => {
    answers = [lost];
    const once = createCaller({ baseUrl, token: 't', maxRetries: 0 });
    const error = await once.json({ method: 'GET', path: '/me' }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PostriderConnectionError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^GET \/me: ./), cause: expect.any(Error) });
  });

  it('takes the words of a proxy for what they are', async () => {
    answers = [(_, response) => response.writeHead(404).end('<html>not here</html>')];
    await expect(caller().json({ method: 'GET', path: '/me' })).rejects.toMatchObject({
      status: 404,
      code: 0,
      message: 'The server answered 404 Not Found',
    });
  });

  it('ends at once when its signal says so, also while it waits for the next try', async () => {
    const controller = new AbortController();
    answers = [
      (_, response) => {
        response.writeHead(503, { 'retry-after': '60' }).end('{}', () => controller.abort());
      },
    ];
    await expect(
      caller().json({ method: 'GET', path: '/me' }, { signal: controller.signal }),
    ).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('finds the API below the base, with and without its path, and encodes parts of paths', async () => {
    for (const suffix of ['', '/', '/api/v1', '/api/v1/']) {
      await createCaller({ baseUrl: baseUrl + suffix, token: 't' }).json({
        method: 'GET',
        path: `/suppressions/${pathPart('a/b?c@example.com')}`,
        query: { Since: new Date(0), Domain: undefined },
      });
    }
    expect(new Set(seen.map(({ url }) => url))).toEqual(
      new Set(['/api/v1/suppressions/a%2Fb%3Fc%40example.com?Since=1970-01-01T00%3A00%3A00.000Z']),
    );
  });

  it('refuses options that cannot work, before anything is sent', () => {
    expect(() => createCaller({ baseUrl: 'mail.example.com', token: 't' })).toThrow(/is no URL/);
    expect(() => createCaller({ baseUrl: 'ftp://mail.example.com', token: 't' })).toThrow(/must begin with/);
    expect(() => createCaller({ baseUrl, token: 'a.b.c\n' })).toThrow(/^token: .* without the line end$/);
    expect(() => createCaller({ baseUrl, token: 'a\r\nb' })).toThrow(/^token/);
    expect(() => pathPart('..')).toThrow(/is no id/);
  });
});

it('base64 of bytes of any length is what Node makes of them', () => {
  for (const length of [0, 1, 2, 3, 0x7fff, 0x8000, 0x8001, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) % 256);
    expect(base64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
  }
  // JavaScript can give anything: the server refuses it, instead of an empty file being sent.
  const buffer: unknown = new ArrayBuffer(3);
  expect(base64(buffer as string)).toBe(buffer);
});
