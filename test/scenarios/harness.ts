/**
 * What every scenario needs: the real server in this process over a temporary data folder, its API as a function, and
 * waiting by asking instead of sleeping.
 * Given a `Scope`, everything that was started is stopped and every folder removed when the file ends. Nothing of the
 * product is replaced: the far ends are real sockets on loopback.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Mode } from '../../src/config/key-facts.ts';
import { loadConfig } from '../../src/config.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createLoggers } from '../../src/lib/log.ts';
import type { NodeTimes } from '../../src/pipeline/queue/membership.ts';
import { type RunningServer, startServer } from '../../src/server.ts';
import { databaseOf, dropDatabaseOf } from './database-of-folder.ts';

/** Ends what a file started, last first. */
export interface Scope {
  defer(end: () => Promise<unknown> | unknown): void;
}

/** A scope that ends with the test file. */
export function fileScope(): Scope {
  const ends: (() => Promise<unknown> | unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return { defer: (end) => void ends.push(end) };
}

export async function temporaryFolder(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-scenario-'));
  scope.defer(async () => {
    dropDatabaseOf(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  bytes: Buffer;
  /** The parsed body; fails the test where there is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: scenarios look at answers as a client without types does
  readonly json: any;
}

export interface CallOptions {
  /** JSON unless it is a text or bytes. */
  body?: unknown;
  headers?: Record<string, string>;
  /** null: no Authorization. */
  token?: string | null;
}

/** One request to `url`, with the answer read to its end. */
export async function request(method: string, url: string, options: CallOptions = {}): Promise<Answer> {
  const { body, token } = options;
  const given = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined || token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: given ? (body as string) : JSON.stringify(body) }),
    redirect: 'manual',
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString('utf8');
  return {
    status: response.status,
    headers: response.headers,
    text,
    bytes,
    get json() {
      return JSON.parse(text);
    },
  };
}

export interface LogLine {
  level: string;
  stream: 'mail' | 'service';
  msg: string;
  [field: string]: unknown;
}

export interface Instance {
  readonly server: RunningServer;
  readonly folder: string;
  /** The administrator's. */
  readonly token: string;
  /** Lines of both logs, parsed. */
  readonly logs: readonly LogLine[];
  /** The same, as they were written. */
  readonly logText: () => string;
  /** A request below `/api/v1`, as the administrator unless told otherwise. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** POST /email that must succeed; the MessageID. */
  send(overrides?: Record<string, unknown>, options?: CallOptions): Promise<string>;
  /** The status word of a message's only recipient, or of the one named. */
  statusOf(messageId: string, recipient?: string): Promise<string>;
  /** Waits until every recipient has come to an end. */
  settled(messageId: string): Promise<MessageFacts>;
  stop(): Promise<void>;
}

export interface MessageFacts {
  Status: string;
  Recipients: {
    Email: string;
    Status: string;
    LastResponse: string;
    WaitReason: string;
    Route: string | null;
    Attempts: number;
  }[];
}

export interface InstanceOptions {
  mode?: Mode;
  folder?: string;
  /** POSTRIDER_… names without the prefix, lower case with dashes: the keys of the configuration. */
  settings?: Record<string, string>;
  /** Authorities in place of the built-in ones, and where MTA-STS policies are served. */
  trust?: { ca: readonly string[]; mtaStsPort: number; zonePort?: number };
  /** How fast nodes notice each other. */
  nodeTimes?: NodeTimes;
  /** In place of the system's; the database then works in this thread. */
  clock?: Clock;
  /** How many files it may have open, in place of what the system says. */
  openFiles?: number;
}

/** Starts a server on a free port. Without settings: `serve`, route sandbox, a DNS that nobody answers. */
export async function startInstance(scope: Scope, options: InstanceOptions = {}): Promise<Instance> {
  const folder = options.folder ?? (await temporaryFolder(scope));
  const mode = options.mode ?? 'serve';
  const database = options.settings?.database ?? databaseOf(folder);
  const settings: Record<string, string> = {
    ...(database === undefined ? {} : { database }),
    http: '127.0.0.1:0',
    hostname: 'mail.postrider.test',
    route: 'sandbox',
    dns: '127.0.0.1:9',
    'log-level': 'debug',
    ...(mode === 'dev' ? { submission: '127.0.0.1:0' } : {}),
    ...options.settings,
  };
  const environment = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [environmentName(key), value]),
  );
  const lines: string[] = [];
  const logs = createLoggers({
    destination: { write: (line) => void lines.push(line) },
    level: (settings['log-level'] ?? 'info') as 'info',
    maskAddresses: settings['mask-addresses'] === 'on',
  });
  const server = await startServer({
    mode,
    loaded: loadConfig(mode, { data: folder }, environment),
    logs,
    version: '0.0.0-scenario',
    command: `postrider --data ${folder}`,
    ...(options.trust === undefined ? {} : { trust: options.trust }),
    ...(options.nodeTimes === undefined ? {} : { nodeTimes: options.nodeTimes }),
    ...(options.openFiles === undefined ? {} : { openFiles: options.openFiles }),
    ...(options.clock === undefined ? {} : { clock: options.clock, storeThreads: 0 as const }),
  });
  let stopped: Promise<void> | null = null;
  const stop = (patienceMs: number) => {
    stopped ??= server.stop(patienceMs);
    return stopped;
  };
  // Nothing looks at what is cut off here, so far ends that do not answer are not waited for.
  scope.defer(() => stop(100));
  const call = (method: string, path: string, given: CallOptions = {}) =>
    request(method, `${server.localUrl}/api/v1${path}`, { token: server.adminToken, ...given });
  const details = async (messageId: string): Promise<MessageFacts> => {
    const answer = await call('GET', `/email/${messageId}`);
    if (answer.status !== 200)
      throw new Error(`GET /email/${messageId} answered ${answer.status}: ${answer.text}`);
    return answer.json;
  };
  return {
    server,
    folder,
    token: server.adminToken,
    get logs() {
      // What is written together comes together.
      const whole = lines.join('').split('\n').slice(0, -1);
      return whole.map((line) => JSON.parse(line) as LogLine);
    },
    logText: () => lines.join(''),
    call,
    async send(overrides = {}, given = {}) {
      const answer = await call('POST', '/email', { body: email(overrides), ...given });
      if (answer.status !== 200) throw new Error(`POST /email answered ${answer.status}: ${answer.text}`);
      return answer.json.MessageID as string;
    },
    async statusOf(messageId, recipient) {
      const { Recipients } = await details(messageId);
      const row = Recipients.find(({ Email }) => recipient === undefined || Email === recipient);
      return row?.Status ?? '(none)';
    },
    settled: (messageId) =>
      until(`message ${messageId} is settled`, async () => {
        const facts = await details(messageId);
        const open = ['Queued', 'Sending', 'Deferred', 'Held', 'Scheduled'];
        return facts.Recipients.some(({ Status }) => open.includes(Status)) ? null : facts;
      }),
    stop: () => stop(5_000),
  };
}

/** The configuration's environment name of a key. */
export function environmentName(key: string): string {
  return `POSTRIDER_${key.toUpperCase().replaceAll('-', '_')}`;
}

/** A whole, ordinary request; `overrides` replace fields, and remove those that are undefined. */
export function email(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    From: { name: 'Sender', email: 'sender@example.com' },
    To: [{ name: 'Reader', email: 'reader@example.net' }],
    Subject: 'A subject',
    ContentType: 'HTML',
    HTMLContent: '<p>Hello</p>',
    ...overrides,
  };
}

/** Asks again and again until there is an answer that is not null, undefined or false; fails at the deadline. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 45_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await ask();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Adds a domain on the operator's word and makes a token for it. */
export async function addDomain(instance: Instance, domain: string, token: object = {}): Promise<string> {
  const added = await instance.call('POST', '/domains', { body: { Domain: domain, Verified: true } });
  if (added.status !== 201) throw new Error(`POST /domains answered ${added.status}: ${added.text}`);
  return makeToken(instance, { Domains: [domain], ...token });
}

/** A token's text; preset Default unless told otherwise. */
export async function makeToken(instance: Instance, wanted: object): Promise<string> {
  const made = await instance.call('POST', '/tokens', { body: { Name: 'scenario', ...wanted } });
  if (made.status !== 201) throw new Error(`POST /tokens answered ${made.status}: ${made.text}`);
  return made.json.Token as string;
}
