/**
 * Logs as JSON lines, two streams to one destination. The *mail log* has one line per lifecycle step with stable names
 * (`accepted`, `attempted`, `delivered`, `called`, …) and may contain addresses, masked if the operator wants that. The
 * *service log* reports starts, stops and unexpected events, without addresses or content. `error` means that a person
 * should look.
 */
import { type DestinationStream, pino, stdTimeFunctions } from 'pino';
import { createMailLog } from './mail-log.ts';

/** Facts of a line: identifiers, numbers, short texts. Never message content, tokens or secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log as every part gets it: fields first, then a constant sentence. */
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

/** Where addresses are masked: nowhere, in texts, or also in errors (whose stack is then left out). */
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
 * Both logs on one `destination` (stdout, or a collector in tests), without worker threads, so that the last lines
 * before a crash are written.
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
      // What a remote server said may contain an address, and this log must not.
      formatters: { level, log: (fields) => shapeFields(fields, 'texts') },
    },
    params.destination,
  );
  // Two lines per message: looking into nested values took a sixth of all CPU per message, so fields are flat here, and
  // nested ones are left out.
  const mask: Mask = params.maskAddresses ? 'all' : 'none';
  const mail: Logger = createMailLog(params.destination, params.level, (fields) => flatFields(fields, mask));
  return { service, mail };
}

/** A log that drops all lines; for tools and tests. */
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
    // Of a URL with a login.
    while (text[start] === '/') start++;
    if (start === at) continue;
    const first = text.codePointAt(start) ?? 0;
    out += `${text.slice(copiedTo, start)}${String.fromCodePoint(first)}***`;
    copiedTo = at;
  }
  return out + text.slice(copiedTo);
}

/** The fields of the mail log as they are, or a copy without fields that are secret or not flat. */
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

/** An object that could contain a secret; lists of texts are flat. */
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

/** Blanks, control characters and the marks around an address in text; also `@` itself, so that `a@b@c` ends. */
function isDelimiter(code: number): boolean {
  return code <= 0x20 || code === 0x7f || '<>"\'(),;:@[]\\'.includes(String.fromCharCode(code));
}
