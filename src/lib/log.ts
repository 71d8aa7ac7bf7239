/**
 * Logs as JSON lines, two streams in one destination. The *mail log* has one line per lifecycle step with stable
 * names (`accepted`, `attempted`, `delivered`, `called`, …) and may name addresses, masked where the operator wants
 * that; the *service log* tells of starts, stops and surprises and never names an address or holds content. `error`
 * means that a person should look. A line that is lost because the destination refuses it is not retried.
 */
import { type DestinationStream, pino, stdTimeFunctions } from 'pino';
import { createMailLog } from './mail-log.ts';

/** Facts of a line: identifiers, numbers, short texts. Never message content, tokens or secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What every part of the program needs from a log: facts first, then a constant sentence. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export interface Loggers {
  /** `stream:"service"`. */
  service: Logger;
  /** `stream:"mail"`. */
  mail: Logger;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Where addresses are masked: nowhere, in texts, or in errors too (whose stack is left out then). */
type Mask = 'none' | 'texts' | 'all';

/** Longest text value of a line; longer ones are cut. */
const MAX_VALUE_CHARS = 2048;

const SECRET_NAMES = [
  'authorization',
  'Authorization',
  'cookie',
  'token',
  'Token',
  'jwt',
  'password',
  'Password',
  'secret',
  'Secret',
] as const;
const SECRETS: ReadonlySet<string> = new Set(SECRET_NAMES);
const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * Both logs over one `destination` (stdout, or a collector in tests), without worker threads, so that the last lines
 * of a crash are there.
 *
 * `maskAddresses` shows `j***@example.com` for `jane@example.com` in every text of the mail log.
 */
export function createLoggers(params: {
  destination: DestinationStream;
  level: LogLevel;
  maskAddresses: boolean;
}): Loggers {
  const base = { level: params.level, timestamp: stdTimeFunctions.isoTime };
  const level = (label: string) => ({ level: label });
  const service: Logger = pino(
    {
      ...base,
      base: { stream: 'service' },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
      // What a remote server said may hold an address; this log names none, whoever wrote it.
      formatters: { level, log: (fields) => shapeFields(fields, 'texts') },
    },
    params.destination,
  );
  // Two lines a message, so nothing is looked through in depth (that was a sixth of all CPU per message): its fields
  // are flat, and what is not is left out.
  const mask: Mask = params.maskAddresses ? 'all' : 'none';
  const mail: Logger = createMailLog(params.destination, params.level, (fields) => flatFields(fields, mask));
  return { service, mail };
}

/** A log that keeps nothing; for tools and tests that have no use for lines. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** `silentLogger` for both streams. */
export const silentLoggers: Loggers = { service: silentLogger, mail: silentLogger };

/**
 * `text` with the local part of every address cut to its first character and three stars. Linear in its length:
 * walks back from each `@` to the nearest delimiter.
 */
export function maskAddresses(text: string): string {
  let out = '';
  let copiedTo = 0;
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > copiedTo && !isDelimiter(text.charCodeAt(start - 1))) start--;
    if (start === at) continue;
    const first = text.codePointAt(start) ?? 0;
    out += `${text.slice(copiedTo, start)}${String.fromCodePoint(first)}***`;
    copiedTo = at;
  }
  return out + text.slice(copiedTo);
}

/** The mail log's fields as they are, or, where one is a secret or not flat, a copy without it. */
function flatFields(fields: LogFields, mask: Mask): LogFields {
  let suspicious = mask !== 'none';
  for (const name in fields) {
    const value = fields[name];
    suspicious ||= SECRETS.has(name) || isNested(value);
    suspicious ||= typeof value === 'string' && value.length > MAX_VALUE_CHARS;
  }
  if (!suspicious) return fields;
  const flat: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(shapeFields(fields, mask))) {
    flat[name] = SECRETS.has(name) || isNested(value) ? '[redacted]' : value;
  }
  return flat;
}

/** An object in which a secret could hide; lists of texts are flat. */
function isNested(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return !(Array.isArray(value) && value.every((item) => typeof item === 'string'));
}

function shapeFields(fields: LogFields, mask: Mask): Record<string, unknown> {
  const ids: [string, unknown][] = [];
  const rest: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const isId = name === 'id' || name.endsWith('Id') || name === 'jti' || name === 'kid';
    (isId ? ids : rest).push([name, shapeValue(value, mask)]);
  }
  return Object.fromEntries([...ids, ...rest]);
}

function shapeValue(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') {
    const text = value.length > MAX_VALUE_CHARS ? `${value.slice(0, MAX_VALUE_CHARS)}…` : value;
    return mask === 'none' ? text : maskAddresses(text);
  }
  if (Array.isArray(value)) return value.map((item) => shapeValue(item, mask));
  if (mask === 'all' && value instanceof Error) {
    return { type: value.name, message: maskAddresses(value.message.slice(0, MAX_VALUE_CHARS)) };
  }
  if (mask !== 'none' && isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeValue(item, mask)]));
  }
  return value;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Space and controls, and the marks that surround an address in text; `@` itself is one so that `a@b@c` ends. */
function isDelimiter(code: number): boolean {
  return code <= 0x20 || code === 0x7f || '<>"\'(),;:@[]\\'.includes(String.fromCharCode(code));
}
