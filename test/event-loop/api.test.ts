/**
 * No request of one tenant keeps the server from answering the others: every operation of the API is asked for with the
 * largest and strangest bodies and over the worst stored data that it takes, and the longest stretch of work without a return
 * to the event loop is measured in processor time of that thread, the shortest of some tries. An operation without an entry
 * in `worst-requests.ts` fails the test, and so does a request whose status is not the one that it is there for.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createAskingThread } from '../fakes/asking-thread.ts';
import { longestTurnMs, shortestTurnMs } from '../fakes/thread-cpu.ts';
import { fileScope, startInstance } from '../scenarios/harness.ts';
import {
  type Asking,
  HOSTILE,
  nested,
  type Servers,
  text,
  type Worst,
  worstRequests,
} from './worst-requests.ts';

const LIMIT_MS = 50;

interface Operation {
  id: string;
  method: string;
  path: string;
  takesBody: boolean;
}

const scope = fileScope();
const asker = createAskingThread();
scope.defer(asker.end);
let servers: Servers;
let operations: Operation[];

beforeAll(async () => {
  servers = await worstRequests(scope);
  const { paths } = (await servers.capturing.call('GET', '/openapi.json')).json;
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at as a reader without types does
  operations = Object.entries<any>(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries<any>(item)
      .filter(([method, { security }]) => method !== 'servers' && security.length > 0)
      .map(([method, { operationId: id, requestBody }]) => ({
        id,
        method: method.toUpperCase(),
        path,
        takesBody: requestBody !== undefined,
      })),
  );
  // What removes something comes last, and behind it what removes all.
  const order = (id: string) =>
    /^(?:delete|revoke|erase|cancel|release)/.test(id) ? (id.endsWith('s') ? 2 : 1) : 0;
  operations.sort((a, b) => order(a.id) - order(b.id));
}, 240_000);

it('every operation has an entry', () => {
  const names = operations.map(({ id }) => id);
  expect(
    names.filter((id) => servers.worst[id] === undefined),
    'add to `everyOperation` the largest request that each of these takes, or {} where it takes no input',
  ).toEqual([]);
  expect(Object.keys(servers.worst).filter((id) => !names.includes(id))).toEqual([]);
});

it('what holds it would be seen', async () => {
  const work = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    const begun = process.threadCpuUsage();
    for (let used = 0; used < 2 * LIMIT_MS * 1000; ) used = process.threadCpuUsage(begun).user;
    await new Promise((resolve) => setImmediate(resolve));
  };
  expect(await longestTurnMs(work)).toBeGreaterThan(LIMIT_MS);
});

describe('no request holds the event loop', () => {
  it('above 50 ms, whatever it asks or brings, and each does what it is there for', {
    timeout: 600_000,
  }, async () => {
    const wrong: string[] = [];
    for (const operation of operations) {
      const entries = servers.worst[operation.id] ?? [];
      for (const [i, entry] of entries.entries()) {
        const { ms, status, answer, expected } = await held(operation, entry);
        if (ms > LIMIT_MS || !expected(status))
          wrong.push(`${operation.id} (worst ${i}): ${ms.toFixed(0)} ms, ${answer}`);
      }
      if (!operation.takesBody) continue;
      const first = entries[0];
      const { params, as, at } = (typeof first === 'function' ? await first() : first) ?? {};
      for (const [name, body] of Object.entries(HOSTILE)) {
        const asking = { body, ...(params && { params }), ...(as && { as }), ...(at && { at }) };
        const { ms, answer } = await held(operation, asking);
        if (ms > LIMIT_MS) wrong.push(`${operation.id} (${name}): ${ms.toFixed(0)} ms, ${answer}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('no mail by SMTP holds the event loop', () => {
  it.each([
    [
      'of 25 MB with a key',
      'X-Postrider-Idempotency-Key: k1\r\n',
      'Hello there, this is a line of text.\r\n',
    ],
    [
      'of 25 MB in eight bits',
      'Content-Type: text/plain; charset=utf-8\r\n',
      'Gr\u00fc\u00dfe an alle, die das lesen.\r\n',
    ],
    ['of empty lines', '', '\r\n'],
    [
      'of links',
      'MIME-Version: 1.0\r\nContent-Type: text/html\r\n',
      '<a href="https://example.com/">x</a>\r\n',
    ],
    [
      'of nested parts with links',
      `X-Postrider-Track: opens, clicks\r\nMIME-Version: 1.0\r\n${nested('mixed', 16)}`,
      '--\r\n',
    ],
    ['of parts', 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n', '--b\r\n\r\n'],
  ])('%s', async (_, head, line) => {
    const dev = await startInstance(scope, { mode: 'dev', settings: { 'log-level': 'warn' } });
    const header = `From: a@example.com\r\nTo: b@example.net\r\nSubject: x\r\n${head}\r\n`;
    const message = Buffer.concat([Buffer.from(header), Buffer.from(text(24_000_000 / 1.1, line))]);
    const port = dev.server.submission.plain?.port ?? 0;
    const ms = await shortestTurnMs(LIMIT_MS, () => {
      const told = asker.submit({ port, message });
      return longestTurnMs(async () => {
        expect(await told).toMatch(/^250 2\.6\.0/);
      });
    });
    await dev.stop();
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});

async function held(operation: Operation, entry: Worst) {
  let status = 0;
  let answer = '';
  let asking: Asking = {};
  const ms = await shortestTurnMs(LIMIT_MS, async (n) => {
    asking = typeof entry === 'function' ? await entry() : entry;
    const asked = asker.ask(requestOf(operation, asking));
    return longestTurnMs(async () => {
      const told = await asked;
      // What is asked a second time may be done already.
      if (n === 0 || typeof entry === 'function') {
        status = told.status;
        answer = `${told.status} ${told.bytes} ${told.text.slice(0, 90)}`;
      }
    });
  });
  const { refused } = asking;
  const expected = (of: number) => (refused === undefined ? of >= 200 && of < 300 : of === refused.status);
  return { ms, status, answer, expected };
}

function requestOf(operation: Operation, { params, query, body, as, at }: Asking) {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(params?.[name] ?? 'none'),
  );
  const { capturing, sending } = servers;
  const server = at === undefined ? capturing : sending;
  const bearer =
    at === 'sending as tenant'
      ? servers.sendingToken
      : at === 'sending' || as === 'operator'
        ? server.token
        : servers.token;
  const bytes =
    body === undefined || body instanceof Uint8Array
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    method: operation.method,
    url: `${server.server.localUrl}/api/v1${path}${query === undefined ? '' : `?${query}`}`,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(bytes === undefined ? {} : { body: bytes }),
  };
}
