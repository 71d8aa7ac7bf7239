/** How refusals are told: all at once, in order, with pointers; and what stands at the borders of the limits. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  addDomain,
  type CallOptions,
  email,
  fileScope,
  type Instance,
  makeToken,
  startInstance,
} from './harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
});

const send = (body: unknown, options: CallOptions = {}) =>
  server.call('POST', '/email', { token, body, ...options });
const codes = async (body: unknown, options: CallOptions = {}): Promise<number[]> =>
  ((await send(body, options)).json.Errors ?? []).map(({ Code }: { Code: number }) => Code);

describe('all field errors in one answer', () => {
  it('names the five required fields when all are missing, in documented order', async () => {
    const answer = await send({});
    expect(answer.status).toBe(422);
    expect(
      answer.json.Errors.map(({ Code, Field }: { Code: number; Field: string }) => [Code, Field]),
    ).toEqual([
      [3, '/From'],
      [20, '/To'],
      [8, '/Subject'],
      [9, '/ContentType'],
      [10, '/HTMLContent'],
    ]);
    expect(answer.json.detail).toMatch(/^5 problems/);
    expect(answer.json.Error).toBe(answer.json.Errors[0].Message);
  });

  it.each([
    ['From', 3],
    ['To', 20],
    ['Subject', 8],
    ['ContentType', 9],
    ['HTMLContent', 10],
  ])('names %s alone when it alone is missing', async (name, code) => {
    expect(await codes(email({ [name]: undefined }))).toEqual([code]);
  });

  it('points into lists and objects, and stops at twenty-five', async () => {
    const answer = await send(
      email({
        To: [{ email: 'ok@example.net' }, { email: 'bad' }],
        Headers: { 'X/Y': 'ok', 'X~Z': 'a\nb' },
        Tags: ['ok', ''],
      }),
    );
    expect(answer.json.Errors.map(({ Field }: { Field: string }) => Field)).toEqual([
      '/To/1/email',
      '/Tags/1',
      '/Headers/X~0Z',
    ]);
    const many = await send(email({ To: Array.from({ length: 40 }, () => ({ email: 'bad' })) }));
    expect(many.json.Errors).toHaveLength(25);
  });

  it('takes null for a field that is left out', async () => {
    expect((await send(email({ SendAt: null, Tracking: null, ListUnsubscribe: null }))).status).toBe(200);
  });

  it('finds unknown names only where asked to, and takes __proto__ as data', async () => {
    const text = JSON.stringify(email()).replace('{', '{"__proto__":{"admin":true},"constructor":1,');
    expect((await send(text)).status).toBe(200);
    const strict = await send(text, { headers: { prefer: 'handling=strict' } });
    expect(strict.json.Errors.map(({ Field }: { Field: string }) => Field)).toEqual([
      '/__proto__',
      '/constructor',
    ]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe('the order of checks', () => {
  it('is token, scope, media type, JSON, idempotency, fields, domain', async () => {
    const reader = await makeToken(server, { Domains: ['example.com'], Scopes: ['email:read'] });
    const bad = { headers: { 'content-type': 'text/plain', 'idempotency-key': 'a b' } };
    expect(await codes('{', { ...bad, token: null })).toEqual([1]);
    expect(await codes('{', { ...bad, token: reader })).toEqual([34]);
    expect(await codes('{', bad)).toEqual([1002]);
    const headers = { 'idempotency-key': 'order' };
    expect(await codes('{', { headers })).toEqual([1001]);
    expect((await send(email(), { headers })).status).toBe(200);
    expect(await codes({ From: { email: 'a@other.example' } }, { headers })).toEqual([1702]);
    const wrong = email({ From: { email: 'a@other.example' }, Subject: '' });
    expect(await codes(wrong)).toEqual([8]);
    expect(await codes({ ...wrong, Subject: 'x' })).toEqual([33]);
  });

  it('answers 401 before it reads a body of any size', async () => {
    const answer = await send(Buffer.alloc(33 * 1024 * 1024), { token: null }).catch(() => null);
    // The connection may be closed under the client's upload; where an answer came through, it is this one.
    if (answer !== null) expect(answer.status).toBe(401);
  });
});

describe('the domain of From', () => {
  it.each(['evil-example.com', 'example.com.evil.net', 'sub.example.com', 'xample.com', 'example.co', 'com'])(
    'is equal to one of the token, never like it: %s',
    async (domain) => {
      const answer = await send(email({ From: { email: `a@${domain}` } }));
      expect([33, 23]).toContain(answer.json.Errors[0].Code);
      expect([403, 422]).toContain(answer.status);
    },
  );

  it('is compared in lower case and as an A-label', async () => {
    const own = await addDomain(server, 'bücher.example');
    expect((await send(email({ From: { email: 'a@EXAMPLE.COM' } }))).status).toBe(200);
    for (const domain of ['bücher.example', 'BÜCHER.example', 'xn--bcher-kva.example']) {
      expect((await send(email({ From: { email: `a@${domain}` } }), { token: own })).status).toBe(200);
    }
  });

  it('may be a subdomain only where the domain says so', async () => {
    await server.call('POST', '/domains', {
      body: { Domain: 'wide.example', Verified: true, Subdomains: true },
    });
    const wide = await makeToken(server, { Domains: ['wide.example'] });
    expect((await send(email({ From: { email: 'a@x.wide.example' } }), { token: wide })).status).toBe(200);
    expect((await send(email({ From: { email: 'a@xwide.example' } }), { token: wide })).status).toBe(403);
  });
});

describe('limits', () => {
  const many = (n: number) => Array.from({ length: n }, (_, i) => ({ email: `r${i}@example.net` }));

  it('takes 50 recipients and refuses 51, over all lists, duplicates counted once', async () => {
    expect((await send(email({ To: many(50) }))).status).toBe(200);
    expect(await codes(email({ To: many(51) }))).toEqual([20]);
    expect(await codes(email({ To: many(50), CC: [{ email: 'one@example.net' }] }))).toEqual([1101]);
    expect((await send(email({ To: many(50), CC: many(50), BCC: many(50) }))).status).toBe(200);
  });

  it('takes a body of 32 MiB and refuses one octet more', async () => {
    const text = JSON.stringify(email());
    const padded = (size: number) => Buffer.concat([Buffer.from(text), Buffer.alloc(size - text.length, 32)]);
    expect((await send(padded(32 * 1024 * 1024))).status).toBe(200);
    expect(await codes(padded(32 * 1024 * 1024 + 1))).toEqual([1003]);
  });

  it('takes a message of 25 MiB as it is sent and refuses one line more', async () => {
    const body = (octets: number) => ({
      ...email({ PlainContent: '' }),
      Attachments: [
        {
          Content: Buffer.alloc(octets, 1).toString('base64'),
          Type: 'a/b',
          Filename: 'f',
          Disposition: 'attachment',
        },
      ],
    });
    const probe = await send(body(1000));
    const id = probe.json.MessageID;
    const overhead = (await server.call('GET', `/email/${id}/raw`)).bytes.length - encodedLength(1000);
    let octets = Math.floor(((26_214_400 - overhead) / 78) * 57);
    while (overhead + encodedLength(octets + 1) <= 26_214_400) octets++;
    while (overhead + encodedLength(octets) > 26_214_400) octets--;
    const fits = await send(body(octets));
    expect(fits.status, fits.text).toBe(200);
    expect((await server.call('GET', `/email/${fits.json.MessageID}`)).json.Size).toBeLessThanOrEqual(
      26_214_400,
    );
    const tooMuch = await send(body(octets + 57));
    expect([tooMuch.status, tooMuch.json.Errors[0].Code]).toEqual([413, 1004]);
  });

  it('refuses CR, LF and NUL in every text that becomes a header', async () => {
    for (const mark of ['\r\n', '\n', '\r', '\u0000']) {
      const evil = `a${mark}Bcc: x@example.net`;
      const file = { Content: 'aGVsbG8=', Type: 'text/plain', Filename: 'a.txt', Disposition: 'attachment' };
      for (const body of [
        email({ Subject: evil }),
        email({ From: { name: evil, email: 'a@example.com' } }),
        email({ From: { name: 'x', email: `${evil}@example.com` } }),
        email({ To: [{ name: evil, email: 'a@example.net' }] }),
        email({ To: [{ email: `a@example.net${mark}`.concat('x') }] }),
        email({ ReplyTo: [{ name: evil, email: 'a@example.net' }] }),
        email({ Headers: { 'X-A': evil } }),
        email({ Headers: { [evil]: 'x' } }),
        email({ Tags: [evil] }),
        email({ Attachments: [{ ...file, Filename: evil }] }),
        email({ Attachments: [{ ...file, Type: `text/plain${mark}X: y` }] }),
        email({ Attachments: [{ ...file, ContentId: evil }] }),
      ]) {
        expect((await send(body)).status, JSON.stringify(body)).toBe(422);
      }
    }
  });
});

/** Octets of base64 in lines of 76 with CRLF. */
function encodedLength(octets: number): number {
  const chars = Math.ceil(octets / 3) * 4;
  return chars + 2 * Math.ceil(chars / 76);
}
