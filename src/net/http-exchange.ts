/**
 * One HTTP request to one address that was already checked, and its answer within limits. It connects to exactly that
 * address; the layers below get no name that they could resolve. Returns the answer, or how far it came. Redirects are
 * not followed, proxies are not used, a certificate must be valid for the name, the body is read up to a limit, and
 * `expired` ends the exchange at any point.
 */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { collectStretches } from '../lib/join-in-turns.ts';
import { TLS_OPTIONS } from '../lib/tls-options.ts';
import type { CheckedUrl } from './checked-url.ts';
import { limitHandshake } from './handshake-limit.ts';
import { localFault } from './sockets.ts';

export interface HttpAnswer {
  kind: 'answered';
  status: number;
  /** Names in lower case; repeated ones as Node combines them. */
  headers: IncomingMessage['headers'];
  body: Uint8Array;
  /** The body was longer than `maxResponseBytes`. */
  isCut: boolean;
}

export type ExchangeResult =
  | HttpAnswer
  /** Nothing was sent; another address may be tried. `timeout`: it took longer than `connectMs`. `local`: this machine's fault. */
  | { kind: 'unconnected'; reason: 'connect' | 'timeout' | 'local'; detail: string }
  /** The server had closed a kept connection, probably before it read the request. */
  | { kind: 'went-stale' }
  | { kind: 'failed'; reason: 'tls' | 'timeout' | 'reset' | 'protocol'; detail: string };

interface ExchangeRequest {
  method: 'GET' | 'POST';
  url: CheckedUrl;
  /** The address to connect to, in strict form, checked by the caller. */
  address: string;
  /** Without those that this module sets: host, content-length, connection, transfer-encoding. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  maxResponseBytes: number;
  /** For TCP and TLS together. */
  connectMs: number;
  /** Aborted when the time of the whole call is over. */
  expired: AbortSignal;
}

interface ConnectionPool {
  plain: http.Agent;
  tls: https.Agent;
}

/** Total of an answer's header lines; the default of Node, set here so that no start-up flag changes it. */
const MAX_HEADER_BYTES = 16_384;
/**
 * Octets that an answer may use in addition to its body: header lines, the rest of the last read, and eight octets for
 * each octet of the body (chunks of one octet take six). Empty lines and interim answers (RFC 9110 §15.2) could
 * continue forever otherwise.
 */
const MAX_OVERHEAD_BYTES = 131_072;
const WIRE_PER_BODY = 8;
/** Interim answers to one request: each costs as much as a whole answer. */
const MAX_INTERIM = 16;
const MAX_TROUBLE_CHARS = 300;

/**
 * Connections by address and server name: at most `perAddress` concurrently, idle ones closed after `idleMs`. `ca`: the
 * only trusted authorities, if given (tests, a company's own authority).
 */
export function createConnectionPool(options: {
  perAddress: number;
  idleMs: number;
  keepAlive: boolean;
  ca?: readonly string[] | undefined;
}): ConnectionPool {
  const shared = {
    keepAlive: options.keepAlive,
    maxSockets: options.perAddress,
    maxFreeSockets: Math.min(2, options.perAddress),
    scheduling: 'lifo',
    timeout: options.idleMs,
  } as const;
  const tlsOptions = {
    ...shared,
    ...TLS_OPTIONS,
    // Set explicitly, as is the version, because environment variables and start-up flags change the defaults.
    rejectUnauthorized: true,
    ...(options.ca ? { ca: [...options.ca] } : {}),
  } as const;
  return { plain: new http.Agent(shared), tls: new LimitedAgent(tlsOptions) };
}

/** The TCP socket below each TLS socket. */
const lower = new WeakMap<Duplex, Socket>();

/** No server may send more in its handshake, or beside its answers, than is usual. */
class LimitedAgent extends https.Agent {
  override createConnection(
    options: https.RequestOptions,
    done?: (error: Error | null, stream: Duplex) => void,
  ): TLSSocket {
    const { host, port } = options;
    const tcp = connect({ host: String(host), port: Number(port), noDelay: true, lookup: refuseLookup });
    const { stream, opened } = limitHandshake(tcp);
    const limited = { ...options, socket: stream };
    const secure = super.createConnection(limited, done) as TLSSocket;
    // An error that only the stream has would not reach the agent, which offers no session again that led to one.
    const fail = (error: Error) => void secure.destroy(error);
    stream.prependListener('error', fail);
    secure.once('secureConnect', () => {
      opened(secure);
      stream.off('error', fail);
    });
    lower.set(secure, tcp);
    return secure;
  }
}

const CUT_OFF = 'closed before the answer was complete';
/** What was reached when the time was over. */
const AFTER = {
  waiting: 'no free connection',
  connecting: 'not connected',
  securing: 'TLS did not begin',
  sent: 'the request was sent',
} as const;

/** Never throws. */
export function exchangeHttp(
  clock: Clock,
  pool: ConnectionPool,
  wanted: ExchangeRequest,
): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    const { url, address, expired } = wanted;
    let stage: keyof typeof AFTER = 'waiting';
    let isReused = false;
    let hasAnswer = false;
    let cancelConnectTimer = () => {};
    let stopCounting = () => {};
    let isFinished = false;
    let request: http.ClientRequest | undefined;

    const finish = (result: ExchangeResult) => {
      if (isFinished) return;
      isFinished = true;
      cancelConnectTimer();
      stopCounting();
      expired.removeEventListener('abort', onExpired);
      // After a complete answer the connection returns to the pool; otherwise it must not be used again.
      if (result.kind !== 'answered' || result.isCut) request?.destroy();
      resolve(result);
    };
    const onExpired = () =>
      finish({
        kind: 'failed',
        reason: 'timeout',
        detail: `no whole answer in time (${hasAnswer ? 'it had begun' : AFTER[stage]})`,
      });
    const onClose = () =>
      finish({ kind: 'failed', reason: 'reset', detail: hasAnswer ? CUT_OFF : 'closed without an answer' });
    const onError = (error: NodeJS.ErrnoException) => {
      const detail = error.message;
      // A socket that could not even begin looks like one that was used before.
      if (stage === 'waiting' || stage === 'connecting' || error.syscall === 'connect') {
        request?.off('close', onClose);
        void localFault(error, { address }).then((fault) => {
          // What is not permitted, or has no route, may stay so for ever, and for this receiver alone.
          const reason = fault === null || mayBeForOne(error) ? 'connect' : 'local';
          finish({ kind: 'unconnected', reason, detail: fault ?? detail });
        });
      } else if (stage === 'securing') finish({ kind: 'failed', reason: 'tls', detail: tlsTrouble(error) });
      else if (isReused && !hasAnswer && isConnectionLoss(error)) finish({ kind: 'went-stale' });
      else if (isConnectionLoss(error)) onClose();
      else finish(brokenAnswer(error, hasAnswer));
    };

    if (expired.aborted) return onExpired();
    expired.addEventListener('abort', onExpired);
    try {
      request = (url.isTls ? https : http).request({
        agent: url.isTls ? pool.tls : pool.plain,
        host: address,
        port: url.port,
        // An empty server name: no SNI for an address (RFC 6066 §3); the certificate is then compared with the address.
        ...(url.isTls ? { servername: url.isAddress ? '' : url.host } : {}),
        lookup: refuseLookup,
        method: wanted.method,
        path: url.path,
        maxHeaderSize: MAX_HEADER_BYTES,
        insecureHTTPParser: false,
        headers: {
          ...wanted.headers,
          host: url.hostHeader,
          ...(wanted.method === 'POST' ? { 'content-length': wanted.body.length } : {}),
        },
      });
    } catch (error) {
      // A header or path that is not valid in HTTP.
      return finish({
        kind: 'failed',
        reason: 'protocol',
        detail: error instanceof Error ? error.message : 'bad request',
      });
    }

    request.on('error', onError);
    request.on('close', onClose);
    request.on('socket', (socket) => {
      const isSecuring = 'secureConnecting' in socket && socket.secureConnecting === true;
      const tcp = lower.get(socket) ?? socket;
      isReused = !tcp.connecting && !isSecuring;
      let left = MAX_OVERHEAD_BYTES + WIRE_PER_BODY * wanted.maxResponseBytes;
      const count = (chunk: Uint8Array) => {
        left -= chunk.length;
        if (left < 0)
          finish({ kind: 'failed', reason: 'protocol', detail: 'the answer does not come to an end' });
      };
      socket.on('data', count);
      stopCounting = () => socket.off('data', count);
      stage = isReused ? 'sent' : 'connecting';
      if (isReused) return;
      const timer = clock.setTimer(wanted.connectMs, () => {
        const detail = `${stage === 'securing' ? 'the TLS handshake' : stage} took longer than ${Math.round(wanted.connectMs)} ms`;
        finish({ kind: 'unconnected', reason: 'timeout', detail });
      });
      cancelConnectTimer = () => timer.cancel();
      tcp.once('connect', () => {
        stage = url.isTls ? 'securing' : 'sent';
        if (!url.isTls) timer.cancel();
      });
      socket.once('secureConnect', () => {
        stage = 'sent';
        timer.cancel();
      });
    });
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM)
        finish({
          kind: 'failed',
          reason: 'protocol',
          detail: `more than ${MAX_INTERIM} interim answers (1xx)`,
        });
    });
    request.on('response', (response) => {
      hasAnswer = true;
      readBody(response, wanted.maxResponseBytes, finish);
    });
    request.end(wanted.body);
  });
}

function readBody(
  response: IncomingMessage,
  maxBytes: number,
  finish: (result: ExchangeResult) => void,
): void {
  const stretches = collectStretches();
  let length = 0;
  const answered = (isCut: boolean): HttpAnswer => ({
    kind: 'answered',
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(stretches.parts()).subarray(0, maxBytes),
    isCut,
  });
  response.on('data', (chunk: Uint8Array) => {
    stretches.add(chunk);
    length += chunk.length;
    if (length > maxBytes) finish(answered(true));
  });
  response.on('end', () => finish(answered(false)));
  response.on('error', (error: NodeJS.ErrnoException) =>
    finish(
      isConnectionLoss(error)
        ? { kind: 'failed', reason: 'reset', detail: CUT_OFF }
        : brokenAnswer(error, true),
    ),
  );
}

function brokenAnswer({ code, message }: NodeJS.ErrnoException, hasAnswer: boolean): ExchangeResult {
  const since = hasAnswer ? ' after the answer had begun' : '';
  return code?.startsWith('HPE_')
    ? {
        kind: 'failed',
        reason: 'protocol',
        detail: `not valid HTTP${since}: ${message.replace(/^Parse Error: /, '')}`,
      }
    : { kind: 'failed', reason: 'reset', detail: `the answer broke off: ${message}` };
}

/** In OpenSSL's words, without the places in its code. A certificate may have thousands of names, and Node lists all. */
function tlsTrouble({ message }: Error): string {
  const [, said = message] = /:SSL routines:[^:]*:([^:\n]+)/.exec(message) ?? [];
  return said.length <= MAX_TROUBLE_CHARS ? said : `${said.slice(0, MAX_TROUBLE_CHARS)}…`;
}

function mayBeForOne({ code = '' }: NodeJS.ErrnoException): boolean {
  return ['EACCES', 'EPERM', 'ENETUNREACH', 'ENETDOWN'].includes(code);
}

function isConnectionLoss(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** No name is passed down; if one came through, the call fails here instead of connecting to what it resolves to. */
function refuseLookup(
  hostname: string,
  _options: unknown,
  callback: (error: Error, address: string) => void,
): void {
  callback(new Error(`refused to look up ${hostname}`), '');
}
