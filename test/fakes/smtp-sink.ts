/**
 * A fast, correct SMTP server that keeps every message: the far end of scenarios and benchmarks.
 * Given: what to offer. Leaves behind: each message with its envelope, destuffed, in order of arrival, and counts.
 * Correct means: CRLF.CRLF alone ends data, a bare LF never does; pipelined groups are answered in one write; limits
 * are refused with their proper codes. It shares no code with the client it is used to judge.
 * As a program of its own: `node test/fakes/smtp-sink.ts '{"port":2525}'` prints one JSON line `{"port":…}` and, for
 * every line on its standard input, one JSON line with its counts.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

export interface SinkMessage {
  from: string;
  rcpts: readonly string[];
  /** Parameters of MAIL, upper case, e.g. ["SIZE=120"]. */
  mailParams: readonly string[];
  /** Parameters of RCPT as they were, one text for each recipient. */
  rcptParams: readonly string[];
  /** As it was before dot-stuffing, ending in CRLF. Empty when the sink does not keep data. */
  data: Buffer;
  tls: boolean;
  /** Number of the connection, from 1. */
  connection: number;
  /** Where it came from. */
  remoteAddress: string;
}

export interface SinkOptions {
  host?: string;
  port?: number;
  pipelining?: boolean;
  chunking?: boolean;
  /** Every reply comes so much later, as from far away. Not with `tls`. */
  delayMs?: number;
  /** Announced and enforced; 0 announces no limit. */
  size?: number;
  eightBitMime?: boolean;
  smtpUtf8?: boolean;
  dsn?: boolean;
  /** PEM; STARTTLS is offered when given. */
  tls?: { key: string; cert: string };
  /** AUTH PLAIN and LOGIN with this one account are offered, and demanded before MAIL. */
  auth?: { user: string; pass: string };
  /** False: data is counted and forgotten. */
  keepData?: boolean;
  /** The reply that refuses a recipient, without its line end; null takes it. */
  refuse?: (recipient: string) => string | null;
  /** Called for each message when its 250 is about to be written. */
  onMessage?: (message: SinkMessage) => void;
  /** The message is in, but its 250 waits for this, and with it all that the client sends behind; null = it does not. */
  hold?: (message: SinkMessage) => Promise<unknown> | null;
}

export interface SmtpSink {
  readonly port: number;
  readonly host: string;
  readonly messages: readonly SinkMessage[];
  /** `peak`: most connections that were open at a time. */
  readonly counts: {
    connections: number;
    open: number;
    peak: number;
    messages: number;
    /** Of these by BDAT. */
    whole: number;
    recipients: number;
    bytes: number;
  };
  /** Resolves when at least `count` messages are in. */
  waitFor(count: number): Promise<void>;
  close(): Promise<void>;
}

const END_OF_DATA = Buffer.from('\r\n.\r\n');
const STUFFED = Buffer.from('\r\n.');

/** The message as it was before stuffing; `raw` is what came between 354 and the final ".\r\n". */
export function destuff(raw: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = raw[0] === 46 ? 1 : 0;
  for (let at = raw.indexOf(STUFFED, from === 1 ? 1 : 0); at !== -1; at = raw.indexOf(STUFFED, at + 3)) {
    parts.push(raw.subarray(from, at + 2));
    from = at + 3;
  }
  if (parts.length === 0) return raw.subarray(from);
  parts.push(raw.subarray(from));
  return Buffer.concat(parts);
}

interface Shared {
  options: SinkOptions;
  counts: SmtpSink['counts'];
  messages: SinkMessage[];
  arrived(): void;
}

function serve(plain: Socket, connection: number, shared: Shared): void {
  const { options, counts } = shared;
  let socket: Socket = plain;
  let input: Buffer = Buffer.alloc(0);
  let dataChunks: Buffer[] | null = null;
  let dataTail: Buffer = Buffer.alloc(0);
  let secure = false;
  let authenticated = options.auth === undefined;
  let login: { user: string | null } | null = null;
  let plainAuth = false;
  let from: string | null = null;
  let mailParams: string[] = [];
  let rcpts: string[] = [];
  let rcptParams: string[] = [];
  let out = '';
  let held = false;

  /** Octets of BDAT that are still to come. */
  let chunk: number | null = null;

  const { delayMs = 0 } = options;
  const later = (then: () => void) => {
    if (delayMs === 0) then();
    else setTimeout(then, delayMs).unref();
  };
  const flush = () => {
    if (out === '') return;
    const text = out;
    out = '';
    later(() => {
      if (!socket.destroyed) socket.write(text, 'latin1');
    });
  };
  const reset = () => {
    from = null;
    rcpts = [];
    rcptParams = [];
    mailParams = [];
  };
  const ehlo = () => {
    const lines = ['sink.test'];
    if (options.pipelining !== false) lines.push('PIPELINING');
    if (options.chunking === true) lines.push('CHUNKING');
    if (options.size !== undefined) lines.push(`SIZE ${options.size}`);
    if (options.eightBitMime !== false) lines.push('8BITMIME');
    if (options.smtpUtf8 === true) lines.push('SMTPUTF8');
    if (options.dsn === true) lines.push('DSN');
    if (options.tls !== undefined && !secure) lines.push('STARTTLS');
    if (options.auth !== undefined) lines.push('AUTH PLAIN LOGIN');
    lines.push('ENHANCEDSTATUSCODES');
    return lines.map((line, i) => `250${i === lines.length - 1 ? ' ' : '-'}${line}\r\n`).join('');
  };
  const checkAuth = (user: string, pass: string) => {
    authenticated = user === options.auth?.user && pass === options.auth.pass;
    return authenticated ? '235 2.7.0 ok\r\n' : '535 5.7.8 wrong\r\n';
  };
  const checkPlain = (encoded: string) => {
    const [, user = '', pass = ''] = Buffer.from(encoded, 'base64').toString('utf8').split('\0');
    return checkAuth(user, pass);
  };

  function command(line: string): string {
    if (plainAuth) {
      plainAuth = false;
      return checkPlain(line);
    }
    if (login !== null) {
      const text = Buffer.from(line, 'base64').toString('utf8');
      if (login.user === null) {
        login.user = text;
        return '334 UGFzc3dvcmQ6\r\n';
      }
      const { user } = login;
      login = null;
      return checkAuth(user, text);
    }
    const verb = line.slice(0, 4).toUpperCase();
    switch (verb) {
      case 'EHLO':
        reset();
        return ehlo();
      case 'HELO':
        reset();
        return '250 sink.test\r\n';
      case 'MAIL': {
        if (!authenticated) return '530 5.7.0 authentication required\r\n';
        if (from !== null) return '503 5.5.1 nested MAIL\r\n';
        const match = /^MAIL FROM:<([^>]*)>(.*)$/i.exec(line);
        if (match === null) return '501 5.5.4 syntax\r\n';
        mailParams = (match[2] ?? '')
          .trim()
          .toUpperCase()
          .split(' ')
          .filter((word) => word !== '');
        const size = Number(
          /^SIZE=(\d+)$/.exec(mailParams.find((word) => word.startsWith('SIZE=')) ?? '')?.[1] ?? 0,
        );
        if (options.size !== undefined && options.size > 0 && size > options.size)
          return '552 5.3.4 too large\r\n';
        from = match[1] ?? '';
        return '250 2.1.0 ok\r\n';
      }
      case 'RCPT': {
        if (from === null) return '503 5.5.1 MAIL first\r\n';
        const match = /^RCPT TO:<([^>]+)>(.*)$/i.exec(line);
        if (match === null) return '501 5.5.4 syntax\r\n';
        const refusal = options.refuse?.(match[1] ?? '') ?? null;
        if (refusal !== null) return `${refusal}\r\n`;
        rcpts.push(match[1] ?? '');
        rcptParams.push((match[2] ?? '').trim());
        return '250 2.1.5 ok\r\n';
      }
      case 'DATA':
        if (rcpts.length === 0) return '503 5.5.1 RCPT first\r\n';
        dataChunks = [];
        dataTail = Buffer.from('\r\n');
        return '354 go\r\n';
      case 'BDAT':
        if (options.chunking !== true) return '502 5.5.1 unknown command\r\n';
        chunk = Number(/^BDAT (\d{1,9}) LAST$/i.exec(line)?.[1] ?? 0);
        return '';
      case 'RSET':
        reset();
        return '250 2.0.0 ok\r\n';
      case 'NOOP':
        return '250 2.0.0 ok\r\n';
      case 'AUTH': {
        if (options.auth === undefined) return '502 5.5.1 no AUTH\r\n';
        const [, mechanism = '', initial] = line.split(' ');
        if (mechanism.toUpperCase() === 'LOGIN') {
          login = { user: null };
          return '334 VXNlcm5hbWU6\r\n';
        }
        if (mechanism.toUpperCase() !== 'PLAIN') return '504 5.5.4 unknown mechanism\r\n';
        if (initial !== undefined) return checkPlain(initial);
        plainAuth = true;
        return '334 \r\n';
      }
      default:
        return '502 5.5.1 unknown command\r\n';
    }
  }

  /** Takes data from the input; true when the end of the message was found. */
  function takeData(chunks: Buffer[]): boolean {
    // The terminator may lie across chunks: search from four octets back.
    const joined = dataTail.length === 0 ? input : Buffer.concat([dataTail, input]);
    const end = joined.indexOf(END_OF_DATA);
    if (end === -1) {
      const keep = Math.max(0, joined.length - 4);
      chunks.push(joined.subarray(0, keep));
      dataTail = joined.subarray(keep);
      input = Buffer.alloc(0);
      return false;
    }
    chunks.push(joined.subarray(0, end + 2));
    input = joined.subarray(end + END_OF_DATA.length);
    return true;
  }

  /** The reply, and what it waits for. */
  function store(chunks: Buffer[]): { answer: string; until: Promise<unknown> | null } {
    const whole = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    // The CRLF in front stands for the end of the DATA line.
    return keep(whole.subarray(2), destuff);
  }

  function keep(raw: Buffer, plainOf: (raw: Buffer) => Buffer): ReturnType<typeof store> {
    if (options.size !== undefined && options.size > 0 && raw.length > options.size * 1.2) {
      reset();
      return { answer: '552 5.3.4 too large\r\n', until: null };
    }
    counts.messages += 1;
    counts.recipients += rcpts.length;
    counts.bytes += raw.length;
    const data = options.keepData === false ? Buffer.alloc(0) : Buffer.from(plainOf(raw));
    const { remoteAddress = '' } = plain;
    const message = {
      ...{ from: from ?? '', rcpts, mailParams, rcptParams, data, tls: secure, connection, remoteAddress },
    };
    if (options.keepData !== false) shared.messages.push(message);
    options.onMessage?.(message);
    shared.arrived();
    const answer = `250 2.0.0 queued as ${counts.messages.toString(36)}\r\n`;
    reset();
    return { answer, until: options.hold?.(message) ?? null };
  }

  function upgrade(pair: { key: string; cert: string }): void {
    out = '220 2.0.0 go ahead\r\n';
    flush();
    socket.removeAllListeners('data');
    // Clear text behind STARTTLS is dropped (RFC 3207 §4.2).
    input = Buffer.alloc(0);
    reset();
    secure = true;
    socket = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(pair) });
    attach();
  }

  function onData(chunk: Buffer): void {
    input = input.length === 0 ? chunk : Buffer.concat([input, chunk]);
    work();
  }

  function reply({ answer, until }: ReturnType<typeof store>): void {
    if (until === null) {
      out += answer;
      return;
    }
    held = true;
    void until.then(() => {
      held = false;
      out += answer;
      work();
    });
  }

  function work(): void {
    while (!held) {
      if (chunk !== null) {
        if (input.length < chunk) break;
        const octets = input.subarray(0, chunk);
        input = input.subarray(chunk);
        chunk = null;
        if (rcpts.length === 0) {
          reset();
          out += '503 5.5.1 no valid recipients\r\n';
        } else {
          counts.whole += 1;
          reply(keep(octets, (raw) => raw));
        }
        continue;
      }
      if (dataChunks !== null) {
        if (!takeData(dataChunks)) break;
        const chunks = dataChunks;
        dataChunks = null;
        reply(store(chunks));
        continue;
      }
      const end = input.indexOf('\r\n');
      if (end === -1) {
        if (input.length > 4096) {
          out += '500 5.5.6 line too long\r\n';
          flush();
          socket.destroy();
        }
        break;
      }
      const line = input.toString('utf8', 0, end);
      input = input.subarray(end + 2);
      if (options.tls !== undefined && !secure && line.toUpperCase() === 'STARTTLS') {
        upgrade(options.tls);
        return;
      }
      if (line.toUpperCase() === 'QUIT') {
        out += '221 2.0.0 bye\r\n';
        flush();
        later(() => socket.end());
        return;
      }
      out += command(line);
    }
    flush();
  }

  function attach(): void {
    socket.on('data', onData);
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
  }

  plain.setNoDelay(true);
  attach();
  out = '220 sink.test ESMTP\r\n';
  flush();
}

/** Starts a sink, on 127.0.0.1 and a free port if not told otherwise. */
export async function startSmtpSink(options: SinkOptions = {}): Promise<SmtpSink> {
  const host = options.host ?? '127.0.0.1';
  const counts = { connections: 0, open: 0, peak: 0, messages: 0, whole: 0, recipients: 0, bytes: 0 };
  const messages: SinkMessage[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];
  const sockets = new Set<Socket>();
  const arrived = () => {
    for (let i = waiters.length - 1; i >= 0; i -= 1) {
      const waiter = waiters[i];
      if (waiter !== undefined && counts.messages >= waiter.count) {
        waiters.splice(i, 1);
        waiter.resolve();
      }
    }
  };
  const server: Server = createServer((socket) => {
    counts.connections += 1;
    counts.open += 1;
    counts.peak = Math.max(counts.peak, counts.open);
    sockets.add(socket);
    socket.on('close', () => {
      counts.open -= 1;
      sockets.delete(socket);
    });
    serve(socket, counts.connections, { options, counts, messages, arrived });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    host,
    messages,
    counts,
    waitFor(count) {
      if (counts.messages >= count) return Promise.resolve();
      return new Promise((resolve) => {
        waiters.push({ count, resolve });
      });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

if (import.meta.main) {
  const sink = await startSmtpSink({ keepData: false, ...JSON.parse(process.argv[2] ?? '{}') });
  process.stdout.write(`${JSON.stringify({ port: sink.port })}\n`);
  process.stdin.on('data', (chunk: Buffer) => {
    for (let i = chunk.indexOf(10); i !== -1; i = chunk.indexOf(10, i + 1)) {
      process.stdout.write(`${JSON.stringify({ ...sink.counts, cpu: process.cpuUsage() })}\n`);
    }
  });
  process.stdin.on('end', () => process.exit(0));
}
