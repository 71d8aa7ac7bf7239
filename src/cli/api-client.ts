/**
 * How a command reaches the server: through its API on loopback, with the administrator's token from the data folder.
 * If no server runs, the same API is started on the same store while the command runs, without delivery. So every
 * command has one implementation.
 */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Node } from '../client/api-types.ts';
import { streamedEvents } from '../client/event-stream.ts';
import type { Page } from '../client/many.ts';
import type { Mode } from '../config/key-facts.ts';
import { publicUrl } from '../config/public-url.ts';
import type { Config } from '../config/table.ts';
import { loadConfig } from '../config.ts';
import {
  CHALLENGE_HEADER,
  DATA_FILES,
  PROOF_HEADER,
  pidOfServer,
  readServerNote,
  serverProof,
  whyUnreachable,
} from '../lib/data-files.ts';
import { ERRORS, type ErrorName, saysNoSuch } from '../lib/errors.ts';
import { silentLoggers } from '../lib/log.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import { createSystemRandom } from '../lib/random.ts';
import type { RunningServer } from '../server.ts';
import { commandLine, quoted, withCommands } from './called-as.ts';
import { giveToOwner } from './files.ts';
import { explainStart, isLocked } from './start-errors.ts';
import { CommandError, parsedForTerminal, printable, type Terminal, UsageError } from './terminal.ts';
import { withName } from './typed-name.ts';

export interface Api {
  /**
   * The JSON of the answer, undefined for an empty body. Path below `/api/v1`. For a status of 400 and above throws the
   * API's own sentence: UsageError where what was asked for is no such thing, else CommandError. Texts are safe for a
   * terminal, unless `exact` was asked for.
   */
  call<Answer>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** The answer of a GET as it came. Throws as `call` does. */
  bytes(path: string): Promise<Uint8Array>;
  /**
   * The JSON of a stream's events until it ends, as `call` returns answers. Throws CommandError if it does not begin, or
   * breaks off.
   */
  events<Event>(path: string): AsyncIterable<Event>;
  /** Base URL for links. */
  readonly url: string;
  readonly token: string;
  /** The data folder on which this command works without a server; null if a server runs. */
  readonly alone: string | null;
  close(): Promise<void>;
}

const SHORT_DRAIN_MS = 2_000;
const READY_MS = 2_000;
/** A busy machine takes longer than a moment to answer. */
const ANSWER_MS = 5_000;

/** For commands that use what a server has stored: they refuse a folder that does not exist instead of creating it. */
export const EXISTING = { existing: true } as const;
/** For commands about mail that waits. */
export const WAITING = { ...EXISTING, waits: true } as const;

/** A request's query, with its question mark; empty where nothing was given. */
export function queryOf(given: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, `${value}`);
  return query.size === 0 ? '' : `?${query}`;
}

/** Every item of a list that the API returns page by page. `path`: without a query. */
export async function everyItem<Item>(api: Pick<Api, 'call'>, path: string): Promise<readonly Item[]> {
  const { Items } = await everyPage<Page<Item>>(api, path);
  return Items;
}

/** The same as one page, with the other members of the last page: what `--json` of a list prints. */
export async function everyPage<Answer extends Page<unknown>>(
  api: Pick<Api, 'call'>,
  path: string,
): Promise<Answer> {
  const pages: Answer[] = [];
  for await (const page of pagesOf<Answer>(api, path)) pages.push(page);
  return asOne(pages);
}

function asOne<Answer extends Page<unknown>>(pages: readonly Answer[]): Answer {
  return { ...(pages.at(-1) as Answer), Items: pages.flatMap(({ Items }) => Items) };
}

/** The first `limit` items of a list, as one page. One request among very many rows may find fewer, so it reads on. */
export async function firstPage<Answer extends Page<unknown>>(
  api: Pick<Api, 'call'>,
  path: string,
  query: Parameters<typeof queryOf>[0],
  limit: number,
): Promise<Answer> {
  const pages: Answer[] = [];
  let left = limit;
  const next = (After: string | undefined) =>
    api.call<Answer>('GET', `${path}${queryOf({ ...query, Limit: left, After })}`);
  for await (const page of portionsOf(next)) {
    pages.push(page);
    left -= page.Items.length;
    if (left <= 0) break;
  }
  return asOne(pages);
}

/** The pages of a list, one after the other. */
export async function* pagesOf<Answer extends Pick<Page<unknown>, 'NextCursor'>>(
  api: Pick<Api, 'call'>,
  path: string,
): AsyncGenerator<Answer> {
  const limited = `${path}${path.includes('?') ? '&' : '?'}Limit=100`;
  yield* portionsOf((after) =>
    api.call<Answer>('GET', after === undefined ? limited : `${limited}&After=${encodeURIComponent(after)}`),
  );
}

/** The answers to a request that is repeated with the cursor of the answer before, until there is none. */
export async function* portionsOf<Answer extends Pick<Page<unknown>, 'NextCursor'>>(
  ask: (after: string | undefined) => Promise<Answer>,
): AsyncGenerator<Answer> {
  for (let after: string | null | undefined; after !== null; ) {
    const answer: Answer = await ask(after);
    yield answer;
    // A server that is older than the command, until it is restarted, has lists of one page.
    after = answer.NextCursor ?? null;
  }
}

/** The API of the server that owns the data folder; null if none runs. */
export async function runningApi(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  exact: boolean,
): Promise<Omit<Api, 'close'> | null> {
  const { config } = loadConfig('serve', flags, terminal.environment);
  const running = await findServer(config.data);
  if (running === null) return null;
  const command = (words: string) => commandLine(terminal, flags, words);
  return client(running.url, running.token, null, { command, typed: dotted, exact });
}

export interface ApiOptions {
  /** A folder that holds no store is refused: looking must not make one where the name was mistyped. */
  existing?: boolean;
  /** The command shows waiting mail, or changes when it is sent. If no server runs, it says that nothing is sent. */
  waits?: boolean;
  /** What a temporary server does. */
  roles?: string;
  /** What the user typed for the field that a JSON Pointer names. */
  typed?: (pointer: string) => string;
  /** Texts of answers as the server sent them, for JSON and files; otherwise they are made safe for a terminal. */
  exact?: boolean;
}

/** How answers are read, and how refusals name what the user can change: commands and fields. */
interface Wording {
  exact: boolean;
  command(words: string): string;
  typed(pointer: string): string;
}

/** `/Retention/ContentDays` → `Retention.ContentDays`. */
function dotted(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.');
}

/**
 * Settings of a temporary server: nobody else connects to it. The SMTP listeners stay as they are set, because the links of
 * mail, the records of domains and the doctor depend on them; without their roles none is opened.
 */
function forACommand(config: Config): Record<string, string> {
  const off = { 'http-certificate': 'off', 'http-certificate-key': 'off' };
  // Links in mail that is sent now must lead to the server that will run.
  const url = config.http.port === 0 ? {} : { 'public-url': publicUrl(config, config.http) };
  return { http: '127.0.0.1:0', ...off, ...url };
}

/** Opens the API of the server that owns the data folder, or of a temporary one where none runs. */
export async function openApi(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  version: string,
  { existing = false, waits = false, roles = 'http', typed = dotted, exact = false }: ApiOptions = {},
): Promise<Api> {
  const mode: Mode = 'serve';
  const words: Wording = { command: (words) => commandLine(terminal, flags, words), typed, exact };
  const { config } = loadConfig(mode, flags, terminal.environment);
  const running = await findServer(config.data);
  if (running !== null) {
    return { ...client(running.url, running.token, null, words), close: async () => undefined };
  }
  // Not opened beside it: a server that was given its database by a flag has another one than a command would look for.
  const pid = pidOfServer(config.data);
  const unreachable = pid === null ? null : whyUnreachable(pid);
  if (unreachable !== null)
    throw new CommandError(
      `the server with pid ${pid} uses the data folder ${config.data}, and cannot be reached: ${unreachable}`,
    );
  if (pid !== null)
    throw new CommandError(
      `the server with pid ${pid} uses the data folder ${config.data}, but does not answer. If it is starting or stopping, wait a moment. If it was not restarted since an upgrade, restart it. If this lasts for a minute, it is paused or hangs: end it with kill -KILL ${pid} and start it again; no accepted mail is lost by that.`,
    );
  // What a server of this folder has created, one of these: the id of the node or the key, which is put back on a new machine; or
  // the whole database.
  const left = isPostgresUrl(config.database)
    ? [DATA_FILES.nodeId, DATA_FILES.secretKey]
    : [DATA_FILES.database];
  const isElsewhere = config.database.startsWith('sqlite:') && config.database !== 'sqlite:';
  if (existing && !isElsewhere && !left.some((name) => existsSync(join(config.data, name)))) {
    throw new CommandError(
      existsSync(join(config.data, DATA_FILES.nodeId))
        ? `no server runs on ${config.data}, and its database is not there. If the server was given another one, name it as the key database in postrider.json of this folder, or as POSTRIDER_DATABASE`
        : `there is no postrider data in ${config.data}; name the folder of the server with --data, or start one. If there was some, check whether the folder was moved or its disk is not mounted, and put it back before you stop a server that still uses it`,
    );
  }
  const loaded = loadConfig(mode, { ...flags, ...forACommand(config), roles }, terminal.environment);
  let server: RunningServer;
  try {
    // Loaded here: a command does not need it while a server runs. It works for one request at a time, and starting
    // threads for its database took most of its time.
    const { startServer } = await import('../server.ts');
    server = await startServer({ mode, loaded, logs: silentLoggers, version, storeThreads: 0 });
  } catch (cause) {
    if (!isLocked(cause as Error)) throw explainStart(cause, config);
    throw new CommandError(
      `${(cause as Error).message} If it is the server of this folder: while it starts, wait until its log says "started"; if it runs in a container, run the command there.`,
    );
  }
  const close = async () => {
    await server.stop(SHORT_DRAIN_MS);
    await giveToOwner(config.data);
  };
  const api = client(server.localUrl, server.adminToken, config.data, words);
  try {
    // Already here, because somebody may be asked now: where the terminal goes away at a prompt, this process ends there.
    await giveToOwner(config.data);
    if (waits && !(await isSentByOthers(api)))
      terminal.stderr.write(`No server runs on ${config.data}: nothing is sent until one runs.\n`);
  } catch (cause) {
    await server.stop(SHORT_DRAIN_MS);
    throw cause;
  }
  return { ...api, close };
}

/** Whether another process works on the same database, and sends its mail. */
async function isSentByOthers(api: Pick<Api, 'call'>): Promise<boolean> {
  const { Items } = await api.call<Page<Node>>('GET', '/nodes?Limit=100');
  return Items.some(({ Self, Status, Roles }) => !Self && Status === 'Alive' && Roles.includes('deliver'));
}

/**
 * Where the data folder's server listens, if it answers. Any program may have its port since it was killed, so the token is
 * sent only to what proves to have it already.
 */
async function findServer(folder: string): Promise<{ url: string; token: string } | null> {
  const note = readServerNote(folder);
  if (note === null) return null;
  const { url } = note;
  try {
    const token = (await readFile(join(folder, DATA_FILES.adminToken), 'utf8')).trim();
    const challenge = Buffer.from(createSystemRandom().bytes(32)).toString('base64url');
    const health = await fetch(`${url}/healthz`, {
      headers: { [CHALLENGE_HEADER]: challenge },
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const isProven = health.headers.get(PROOF_HEADER) === serverProof(token, url, challenge);
    return health.ok && isProven ? { url, token } : null;
  } catch {
    // There is no token, or the note is that of a server that was killed.
    return null;
  }
}

function client(url: string, token: string, alone: string | null, words: Wording): Omit<Api, 'close'> {
  const parse = words.exact ? JSON.parse : parsedForTerminal;
  return {
    url,
    token,
    alone,
    async call<Answer>(...request: Parameters<Api['call']>) {
      return (await readBody(await open(...request))) as Answer;
    },
    bytes: async (path) => (await open('GET', path)).bytes(),
    async *events(path) {
      const response = await open('GET', path);
      for await (const data of eventData(response)) yield parse(data);
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
    const parsed = await readBody(response);
    const said = missing(parsed, path, words) ?? problemText(parsed, response.status, words);
    const why = response.status === 503 ? `${said}. ${await failingChecks(url)}` : said;
    const errors = (parsed as { Errors?: readonly object[] } | undefined)?.Errors;
    if (isUsage(parsed, response.status)) throw new UsageError(why, errors);
    throw new CommandError(alone === null ? why : `${why}\n${workedAlone(alone)}`, errors);
  }

  async function readBody(response: Response): Promise<unknown> {
    const text = await response.text();
    const json = response.headers.get('content-type')?.includes('json') ?? false;
    return json && text !== '' ? parse(text) : undefined;
  }
}

async function* eventData(response: Response): AsyncIterable<string> {
  try {
    for await (const { data } of streamedEvents(response)) yield data;
  } catch (cause) {
    throw new CommandError(`the connection was lost: ${(cause as Error).message}`);
  }
}

/** The body of a refusal, if it is one of the API's. */
type ProblemBody =
  | { Errors?: { Code?: number; Message?: string; Field?: string }[]; Error?: string }
  | undefined;

/** For each kind of path: what it names, and the command that lists these. */
const THINGS: Readonly<Record<string, readonly [string, string]>> = {
  email: ['message', 'messages'],
  domains: ['domain', 'domain list'],
  Domain: ['domain', 'domain list'],
  tokens: ['token', 'token list'],
  webhooks: ['webhook', 'webhook list'],
  'smtp-credentials': ['SMTP user', 'smtp list'],
  suppressions: ['suppressed address', 'suppress list'],
  overrides: ['override', 'override list'],
  causes: ['cause', 'causes'],
  templates: ['template', 'template list'],
  'sandbox/messages': ['captured mail', 'sandbox list'],
};

/**
 * For a 404 without a more specific message: says what does not exist, and which command lists what does; null for
 * other answers.
 */
function missing(body: unknown, path: string, { command }: Wording): string | null {
  const message = (body as ProblemBody)?.Errors?.[0]?.Message ?? '';
  if (message !== ERRORS['not-found'].text && !saysNoSuch(message)) return null;
  const [, webhook, call] = /^\/webhooks\/([^/]+)\/deliveries\/([^/?]+)/.exec(path) ?? [];
  if (call !== undefined)
    return `webhook ${webhook} has no call ${call}; see: ${command(`webhook calls ${webhook}`)}`;
  // What follows the id is the name of an action.
  const [, kind = '', id] =
    /^\/(sandbox\/messages|[a-z-]+)\/([^/?]+)(?:\/[a-z-]+)*(?:\?|$)/.exec(path) ??
    /^\/(?:doctor|queue)\?(Domain)=([^&]+)/.exec(path) ??
    [];
  const thing = THINGS[kind];
  if (thing === undefined || id === undefined) return null;
  const name = printable(decodeURIComponent(id));
  const list = kind === 'email' && name.includes('@') ? `messages --to ${quoted(name)}` : thing[1];
  return `there is no ${thing[0]} "${name}"; see: ${command(list)}`;
}

/**
 * Refusals of a request that may be right at another time, or with other files: they depend on what the server holds, on the
 * content of a file that was named, or on a secret that was entered. All others of status 422 are mistakes in the command line.
 */
const NOT_OF_USAGE: ReadonlySet<number> = new Set(
  (
    [
      ...['all-recipients-suppressed', 'template-not-found', 'idempotency-key-reused', 'request-too-complex'],
      ...['html-content-required', 'plain-content-required', 'html-too-large', 'plain-too-large'],
      ...['content-missing', 'type-blocked'],
      ...['template-invalid', 'template-not-fillable', 'template-variable-missing'],
      ...['password-refused', 'password-wrong', 'code-wrong'],
    ] as const satisfies readonly ErrorName[]
  ).map((name) => ERRORS[name].code),
);

function isUsage(body: unknown, status: number): boolean {
  const problems = (body as ProblemBody)?.Errors ?? [];
  return status === 422 && problems.length > 0 && problems.every(({ Code }) => !NOT_OF_USAGE.has(Code ?? 0));
}

/** A refusal may differ from what the server itself would say: `dev` takes more than `serve`. */
function workedAlone(folder: string): string {
  return `(no server runs on ${folder}; the command opened its database directly, with the settings of serve: a development server takes more, so start it first)`;
}

/** What `/readyz` of the same server says is wrong: a line for each check; where to look if it says nothing. */
async function failingChecks(url: string): Promise<string> {
  const look = 'See its log and /readyz; check first whether its disk is full';
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READY_MS) });
    const { Checks } = (await answer.json()) as { Checks: { Name: string; Ok: boolean; Detail: string }[] };
    // Of the checks that pass, only this one can be the reason: a part of the database is damaged.
    const failing = Checks.filter(
      ({ Name, Ok, Detail }) => !Ok || (Name === 'store-damage' && Detail !== ''),
    ).map(({ Name, Detail }) => `\n  ${printable(Name)}: ${printable(Detail)}`);
    return failing.length === 0 ? look : `What fails there (/readyz):${failing.join('')}`;
  } catch {
    return look;
  }
}

function problemText(body: unknown, status: number, { command, typed }: Wording): string {
  const problem = body as ProblemBody;
  const lines = (problem?.Errors ?? []).map(({ Code, Message, Field }) => {
    if (Code === ERRORS['domain-ambiguous'].code) return 'name the sender domain with --domain';
    return Field === undefined || Field === '' ? `${Message}` : withName(`${Message}`, Field, typed(Field));
  });
  const text = lines.length > 0 ? lines.join('\n') : (problem?.Error ?? `the server answered ${status}`);
  return withCommands(text, command);
}
