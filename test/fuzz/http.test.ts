/**
 * Any bytes at all on the HTTP listener: a 4xx with a code or a working answer, never a 5xx, never a hang, and for
 * every 200 to POST /email exactly one message, kept and captured. Properties over the real listener, pipeline and
 * store; a failing run prints its seed and path.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, startInstance, until } from '../scenarios/harness.ts';
import {
  arbitraryHead,
  arbitraryJson,
  arbitraryQuery,
  mutations,
  plausibleFields,
} from './arbitrary-requests.ts';
import { createJudgingClient, type JudgingClient } from './client.ts';

const scope = fileScope();
/** How much longer than usual to search: `FUZZ_SCALE=20 vitest run --project system test/fuzz`. */
const SCALE = Number(process.env.FUZZ_SCALE ?? '1');
const runs = (usual: number) => ({ numRuns: usual * SCALE, interruptAfterTimeLimit: 20_000 * SCALE });
let server: Instance;
let token: string;
let client: JudgingClient;

beforeAll(async () => {
  server = await startInstance(scope, { settings: { 'log-level': 'warn' } });
  token = await addDomain(server, 'example.com');
  client = createJudgingClient(Number(new URL(server.server.localUrl).port), token);
});

describe('any bytes on the listener', () => {
  it('raw noise is answered or closed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 2_000 }),
        async (bytes) => void (await client.exchange(bytes)),
      ),
      runs(150),
    );
  });

  it('any method, path, version and headers', async () => {
    const { method, path, headers } = arbitraryHead();
    await fc.assert(
      fc.asyncProperty(method, path, headers, fc.boolean(), async (verb, url, pairs, known) => {
        const auth = known ? `Authorization: Bearer ${token}\r\n` : '';
        const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('');
        await client.exchange(
          Buffer.from(
            `${verb} ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${auth}${lines}\r\n`,
            'latin1',
          ),
        );
      }),
      runs(150),
    );
  });

  it('any query on every list and any id on every resource', async () => {
    const { name, value, list } = arbitraryQuery();
    const own = server.token;
    await fc.assert(
      fc.asyncProperty(
        list,
        fc.array(fc.tuple(name, value), { maxLength: 4 }),
        value,
        async (path, pairs, id) => {
          const query = new URLSearchParams(
            pairs.map(([key, text]): [string, string] => [key, text.toWellFormed()]),
          );
          for (const url of [`/${path}?${query}`, `/${path}/${encodeURIComponent(id.toWellFormed())}`]) {
            const answer = await server.call('GET', url, { token: own });
            client.judge({ status: answer.status, body: answer.status >= 400 ? answer.text : '' });
          }
        },
      ),
      runs(150),
    );
  });
});

describe('any JSON in a request', () => {
  it('at any field of POST /email', async () => {
    const field = fc.constantFrom(...Object.keys(plausibleFields()));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, arbitraryJson(), { maxKeys: 4 }), async (fields) => {
        await client.exchange(client.post(JSON.stringify({ ...email(), ...fields })));
      }),
      runs(150),
    );
  });

  it('at any depth of a full request', async () => {
    await fc.assert(
      fc.asyncProperty(mutations({ ...email(), ...plausibleFields() }), async (body) => {
        await client.exchange(client.post(JSON.stringify(body)));
      }),
      runs(300),
    );
  });

  it('as the whole body of every operation that takes one', async () => {
    const path = fc.constantFrom(
      'webhooks',
      'domains',
      'tokens',
      'webhooks/1/replay',
      'webhooks/1/test',
      'email',
    );
    await fc.assert(
      fc.asyncProperty(path, arbitraryJson(), async (url, value) => {
        const answer = await server.call('POST', `/${url}`, { body: JSON.stringify(value) ?? 'null' });
        client.judge({ status: answer.status, body: answer.text });
      }),
      runs(150),
    );
  });

  it('nested beyond every measure is refused with little work', async () => {
    for (const text of [
      '['.repeat(20_000),
      '{"a":'.repeat(20_000),
      `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    ]) {
      // The listener works on this thread.
      const before = process.threadCpuUsage();
      const [answer] = await client.exchange(client.post(text));
      const { user, system } = process.threadCpuUsage(before);
      expect(answer?.status).toBe(400);
      expect((user + system) / 1000).toBeLessThan(1_000);
      const [deep] = await client.exchange(
        client.post(`{"Subject":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
      );
      expect(deep?.status).toBe(422);
    }
  });
});

describe('a valid request that is damaged', () => {
  const valid = () => client.post(JSON.stringify({ ...email(), ...plausibleFields() }));

  it('by changed, lost and added octets', async () => {
    const change = fc.tuple(
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom('set', 'drop', 'add'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        let bytes = valid();
        for (const [place, octet, kind] of changes) {
          const at = place % bytes.length;
          const after = kind === 'add' ? at : at + 1;
          const middle = kind === 'drop' ? [] : [octet];
          bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(middle), bytes.subarray(after)]);
        }
        await client.exchange(bytes);
      }),
      runs(250),
    );
  });

  it('by an end anywhere: nothing is stored of what was not whole', async () => {
    const before = client.accepted.length;
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (place) => {
        const whole = valid();
        await client.exchange(whole.subarray(0, place % whole.length));
      }),
      runs(150),
    );
    expect(client.accepted.length).toBe(before);
  });

  it('by a wrong length, twice the length, or the length and chunks together', async () => {
    const body = JSON.stringify(email());
    const before = client.accepted.length;
    for (const length of [
      '0',
      '1',
      String(body.length - 1),
      '-1',
      '1e3',
      '0x10',
      '99999999999999999999',
      '',
      ' ',
      '5, 5',
    ]) {
      await client.exchange(client.post(body, { 'Content-Length': length }));
    }
    await client.exchange(
      client.post(body, { 'Content-Length': `${body.length}\r\nContent-Length: ${body.length + 1}` }),
    );
    await client.exchange(
      client.post(body, { 'Content-Length': `${body.length}\r\nTransfer-Encoding: chunked` }),
    );
    expect(client.accepted.length).toBe(before);
  });

  it('by nonsense between chunks', async () => {
    const whole = JSON.stringify(email());
    const size = fc.oneof(
      fc.nat(5_000).map((n) => n.toString(16)),
      fc.string({ maxLength: 12 }),
      fc.constant('-1'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(size, fc.nat(whole.length)), { maxLength: 5 }), async (chunks) => {
        const text = chunks.map(([length, cut]) => `${length}\r\n${whole.slice(0, cut)}\r\n`).join('');
        const head = client
          .post('', { 'Content-Length': '', 'Transfer-Encoding': 'chunked' })
          .toString('latin1')
          .replace('Content-Length: \r\n', '');
        await client.exchange(Buffer.from(`${head}${text}0\r\n\r\n`, 'latin1'));
      }),
      runs(150),
    );
    const right = `${whole.length.toString(16)}\r\n${whole}\r\n0\r\n\r\n`;
    const head = client
      .post('', { 'Transfer-Encoding': 'chunked' })
      .toString('latin1')
      .replace('Content-Length: 0\r\n', '');
    expect((await client.exchange(head + right))[0]?.status).toBe(200);
  });

  it('by a wrong or bombing compression', async () => {
    const { gzipSync } = await import('node:zlib');
    const headers = { 'Content-Encoding': 'gzip' };
    const zipped = gzipSync(JSON.stringify(email()));
    await fc.assert(
      fc.asyncProperty(fc.nat(zipped.length - 1), fc.integer({ min: 0, max: 255 }), async (at, octet) => {
        const bytes = Buffer.from(zipped);
        bytes[at] = octet;
        await client.exchange(client.post(bytes, headers));
      }),
      runs(60),
    );
    const [bomb] = await client.exchange(client.post(gzipSync(Buffer.alloc(64 * 1024 * 1024)), headers));
    expect(bomb?.status).toBe(413);
  });

  it('by requests glued together: each is answered on its own', async () => {
    const one = client.post(JSON.stringify(email()), { Connection: 'keep-alive' });
    const answers = await client.exchange(Buffer.concat([one, one, client.post(JSON.stringify(email()))]));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('after all of it', () => {
  it('there is exactly one message for every 200, and every one was captured', async () => {
    const ids = client.accepted.map((body) => JSON.parse(body).MessageID as string);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    const stored = new Map<string, number>();
    for (let after = ''; ; ) {
      const page = (await server.call('GET', `/email?Limit=100${after}`)).json;
      for (const item of page.Items)
        stored.set(item.MessageID, item.To.length + item.CC.length + item.BCC.length);
      if (!page.HasMore) break;
      after = `&After=${page.NextCursor}`;
    }
    expect([...stored.keys()].sort()).toEqual([...ids].sort());
    const captures = await until('every message has come to its end', async () => {
      const found: string[] = [];
      for (let after = ''; ; ) {
        const page = (await server.call('GET', `/sandbox/messages?Limit=100${after}`)).json;
        found.push(...page.Items.map(({ MessageID }: { MessageID: string }) => MessageID));
        if (!page.HasMore) break;
        after = `&After=${page.NextCursor}`;
      }
      return new Set(found).size === stored.size ? found : null;
    });
    for (const id of ids) {
      expect(captures.filter((captured) => captured === id)).toHaveLength(stored.get(id) ?? 0);
    }
  });

  it('the server is well, and no line of its log is an error', async () => {
    expect((await server.call('GET', '/me')).status).toBe(200);
    expect(server.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
