/**
 * How a command reaches the server: through its API on loopback with the administrator's token from the data folder.
 * Where no server runs, the same API is started for the length of the command over the same store, without delivery;
 * so every command works beside a running server and without one, by one piece of code.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mode } from '../config/key-facts.ts';
import { loadConfig } from '../config.ts';
import { silentLoggers } from '../lib/log.ts';
import type { Page } from '../listeners/http/paging.ts';
import type { RunningServer } from '../server.ts';
import { commandLine } from './called-as.ts';
import { explainStart } from './start-errors.ts';
import { CommandError, printable, type Terminal, UsageError } from './terminal.ts';

export interface ApiAnswer {
  status: number;
  /** Parsed JSON, or undefined for an empty body. */
  body: unknown;
  /** The body as it came. */
  bytes: Uint8Array;
}

export interface Api {
  /**
   * Path below `/api/v1`. For a status of 400 and above throws the API's own sentence: UsageError where what was asked for is
   * no such thing, else CommandError.
   */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiAnswer>;
  /**
   * Blocks of a stream of server-sent events until it ends. Throws CommandError where it does not begin, or breaks off.
   */
  events(path: string): AsyncIterable<{ id: string; event: string; data: string }>;
  /** Base URL for links. */
  readonly url: string;
  readonly token: string;
  /** The data folder whose store this command works on by itself, or null where a server runs. */
  readonly alone: string | null;
  close(): Promise<void>;
}

const SHORT_DRAIN_MS = 2_000;

/** For commands that use what a server has stored: they refuse a folder that does not exist instead of creating it. */
export const EXISTING = { existing: true } as const;

/** Every item of a list that the API gives page by page. `path`: without a query. */
export async function everyItem<Item>(api: Pick<Api, 'call'>, path: string): Promise<readonly Item[]> {
  const { Items } = await everyPage<Page<Item>>(api, path);
  return Items;
}

/** The same as one page, with whatever else the last page carries: what `--json` of a list prints. */
export async function everyPage<Answer extends Page<unknown>>(
  api: Pick<Api, 'call'>,
  path: string,
): Promise<Answer> {
  const items: unknown[] = [];
  for (let after = ''; ; ) {
    const query = after === '' ? '' : `&After=${encodeURIComponent(after)}`;
    const first = path.includes('?') ? '&' : '?';
    const answer = (await api.call('GET', `${path}${first}Limit=100${query}`)).body as Answer;
    items.push(...answer.Items);
    if (answer.NextCursor === null) return { ...answer, Items: items };
    after = answer.NextCursor;
  }
}

/** The API of the server that owns the data folder; null where none runs. */
export async function runningApi(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<Omit<Api, 'close'> | null> {
  const { config } = loadConfig('serve', flags, terminal.environment);
  const running = await findServer(config.data);
  const command = (words: string) => commandLine(terminal, flags, words);
  return running === null ? null : client(running.url, running.token, null, command);
}

/** What a command needs of a temporary server: nobody else connects to it. */
const FOR_A_COMMAND = {
  ...{ http: '127.0.0.1:0', submission: 'off', returns: 'off' },
  ...{ 'http-certificate': 'off', 'http-certificate-key': 'off' },
};

/**
 * Opens the API of the server that owns the data folder, or a temporary one where none runs. With `existing`, a folder
 * that holds no store is refused: looking must not make one where the name was mistyped. `roles`: what the temporary one does.
 */
export async function openApi(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  version: string,
  { existing = false, roles = 'http' }: { existing?: boolean; roles?: string } = {},
): Promise<Api> {
  const mode: Mode = 'serve';
  const command = (words: string) => commandLine(terminal, flags, words);
  const { config } = loadConfig(mode, flags, terminal.environment);
  const running = await findServer(config.data);
  if (running !== null) {
    return { ...client(running.url, running.token, null, command), close: async () => undefined };
  }
  if (existing && config.database === 'sqlite:' && !existsSync(join(config.data, 'postrider.db'))) {
    throw new CommandError(
      `there is no postrider data in ${config.data}, and no server runs there; start one, or name its folder with --data`,
    );
  }
  const loaded = loadConfig(mode, { ...flags, ...FOR_A_COMMAND, roles }, terminal.environment);
  let server: RunningServer;
  try {
    // Loaded here: a command does not need it while a server runs.
    const { startServer } = await import('../server.ts');
    server = await startServer({ mode, loaded, logs: silentLoggers, version });
  } catch (cause) {
    throw explainStart(cause, config);
  }
  return {
    ...client(server.localUrl, server.adminToken, config.data, command),
    close: () => server.stop(SHORT_DRAIN_MS),
  };
}

/** Where the data folder's server listens, if it answers. */
async function findServer(folder: string): Promise<{ url: string; token: string } | null> {
  let url: string;
  let token: string;
  try {
    const note = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8')) as { url?: unknown };
    if (typeof note.url !== 'string') return null;
    url = note.url;
    token = (await readFile(join(folder, 'admin-token'), 'utf8')).trim();
  } catch {
    return null;
  }
  try {
    const health = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) });
    return health.ok ? { url, token } : null;
  } catch {
    // The file of a server that was killed.
    return null;
  }
}

function client(
  url: string,
  token: string,
  alone: string | null,
  command: (words: string) => string,
): Omit<Api, 'close'> {
  return {
    url,
    token,
    alone,
    async call(method, path, body, headers) {
      const response = await open(method, path, body, headers);
      const { bytes, parsed } = await readBody(response);
      return { status: response.status, body: parsed, bytes };
    },
    async *events(path) {
      const response = await open('GET', path);
      if (response.body === null) return;
      yield* eventBlocks(response.body);
    },
  };

  /** The answer's head. Throws as `call` does. */
  async function open(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          // Strict: a misspelt member is refused instead of ignored.
          ...(body === undefined ? {} : { 'content-type': 'application/json', prefer: 'handling=strict' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw new CommandError(`the server at ${url} does not answer: ${(cause as Error).message}`);
    }
    if (response.status < 400) return response;
    const { parsed } = await readBody(response);
    const why = missing(response.status, path, command) ?? problemText(parsed, response.status, command);
    const errors = (parsed as { Errors?: readonly object[] } | undefined)?.Errors;
    if (isUsage(parsed, response.status)) throw new UsageError(why, errors);
    throw new CommandError(alone === null ? why : `${why}\n${workedAlone(alone)}`, errors);
  }
}

async function readBody(response: Response): Promise<{ bytes: Uint8Array; parsed: unknown }> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const json = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    bytes,
    parsed: json && bytes.length > 0 ? JSON.parse(new TextDecoder().decode(bytes)) : undefined,
  };
}

/** Server-sent events as this API writes them: one line for each field, an empty line after each event. */
async function* eventBlocks(
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<{ id: string; event: string; data: string }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n');
        text = text.slice(end + 2);
        const of = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '';
        if (of('data') !== '') yield { id: of('id'), event: of('event'), data: of('data') };
      }
    }
  } catch (cause) {
    throw new CommandError(`the connection was lost: ${(cause as Error).message}`);
  }
}

/** For each kind of path: what it names, and the command that lists these. */
const THINGS: Readonly<Record<string, readonly [string, string]>> = {
  email: ['message', 'messages'],
  domains: ['domain', 'domain list'],
  tokens: ['token', 'token list'],
  webhooks: ['webhook', 'webhook list'],
  'smtp-credentials': ['SMTP user', 'smtp list'],
  suppressions: ['suppressed address', 'suppress list'],
  overrides: ['override', 'override list'],
  causes: ['cause', 'causes'],
};

/** For a 404: what does not exist, and the command that lists what does; null for other answers. */
function missing(status: number, path: string, command: (words: string) => string): string | null {
  const [, kind = '', id] = /^\/([a-z-]+)\/([^/?]+)/.exec(path) ?? [];
  const thing = THINGS[kind];
  if (status !== 404 || thing === undefined || id === undefined) return null;
  return `there is no ${thing[0]} "${printable(decodeURIComponent(id))}"; see: ${command(thing[1])}`;
}

/** Refusals of what the user wrote, whatever the server knows or holds: parameters, names, words, addresses to call. */
const OF_USAGE: ReadonlySet<number> = new Set([422, 1006, 1108, 1605, 1901, 1902, 2002]);

function isUsage(body: unknown, status: number): boolean {
  const problems = (body as { Errors?: { Code?: number }[] } | undefined)?.Errors ?? [];
  return status === 422 && problems.length > 0 && problems.every(({ Code }) => OF_USAGE.has(Code ?? 0));
}

/** A refusal may differ from what the server itself would say: `dev` takes more than `serve`. */
function workedAlone(folder: string): string {
  return `(no server runs on ${folder}; the command opened its database directly, with the settings of serve)`;
}

function problemText(body: unknown, status: number, command: (words: string) => string): string {
  const problem = body as { Errors?: { Message?: string; Field?: string }[]; Error?: string } | undefined;
  const lines = (problem?.Errors ?? []).map(({ Message, Field }) =>
    Field === undefined || Field === '' ? `${Message}` : `${Message} (${Field})`,
  );
  const said = lines.length > 0 ? lines.join('\n') : (problem?.Error ?? `the server answered ${status}`);
  const text =
    status === 503 ? `${said}. See its log and /readyz; check first whether its disk is full` : said;
  // The server says `postrider …` in its hints, because it does not know how it is called here.
  return text.replace(/(?<=\b(?:run|see): )postrider ([a-z][\w. -]*[\w-])/g, (_, words: string) =>
    command(words),
  );
}
