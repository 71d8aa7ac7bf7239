// The far end: an SMTP sink in a process of its own. It takes every message, reads the id from the header
// X-Bench-Id and its recipients from RCPT, notes for each when the final dot came in, and counts duplicates,
// signatures and what came over TLS (STARTTLS is offered with --certificate and --key). It shares the machine
// with the server under test, so it looks at each byte once (Buffer.indexOf) and keeps no message.
//   node bench/sink.ts PORT MESSAGES [--recipients N] [--delay-ms N] [--chunking] [--notify] [--addresses N] [--certificate FILE --key FILE]
// It is started by the harness with an IPC channel.
// Messages out: {kind:'ready',port} · {kind:'complete'} when every delivery is in · {kind:'arrived',id}
// with --notify · {kind:'report',report} on {kind:'report'} · {kind:'count',unique} on {kind:'count'}.
// With --delay-ms every reply waits that long (a far end one round trip away) and the greeting twice as long,
// the connection's own handshake included, as has the reply to STARTTLS. It ends when its parent is gone.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { parseArgs } from 'node:util';
import { readerOf, siteAddress } from './messages.ts';
import { deliveryOf, nowMicros, type SinkReport } from './types.ts';

type Sink = {
  readonly messages: number;
  readonly recipients: number;
  readonly tls: SecureContext | undefined;
  readonly delayMs: number;
  readonly chunking: boolean;
  readonly arrivedAt: Float64Array;
  readonly notify: boolean;
  unique: number;
  duplicates: number;
  signed: number;
  secure: number;
  transactions: number;
  warmup: number;
  unknown: number;
  bytes: number;
  connections: number;
  open: number;
  peakConnections: number;
  sample: string;
};

const END = Buffer.from('\r\n.\r\n');
const HEADER_END = Buffer.from('\r\n\r\n');
const ID_NAME = Buffer.from('\nX-Bench-Id:');
const SIGNATURE_NAME = Buffer.from('\nDKIM-Signature:');
const EHLO_REPLY = 'PIPELINING\r\n250-SIZE 104857600\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES\r\n';

/** Counts a connection, greets and serves it. */
function receive(sink: Sink, socket: Socket): void {
  sink.connections += 1;
  sink.open += 1;
  sink.peakConnections = Math.max(sink.peakConnections, sink.open);
  socket.on('close', () => {
    sink.open -= 1;
  });
  replier(socket, sink.delayMs)('220 sink.example.net ESMTP\r\n', 2);
  serve(sink, socket, false);
}

/** Serves one connection: commands line by line, content until the lone dot, both across any chunking. */
function serve(sink: Sink, socket: Socket, secure: boolean): void {
  let pending: Buffer = Buffer.alloc(0); // an unfinished command line, or the content's last four bytes
  let inData = false;
  let recipients: number[] = [];
  let chunkLeft = -1; // octets of BDAT that are still to come; -1 = none is under way
  let head: Buffer[] = []; // content up to the end of its header
  let headDone = false;
  let contentBytes = 0;
  const reply = replier(socket, sink.delayMs);

  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());

  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    let out = '';
    while (rest.length > 0) {
      if (chunkLeft >= 0) {
        const content = rest.subarray(0, chunkLeft);
        rest = rest.subarray(content.length);
        chunkLeft -= content.length;
        contentBytes += content.length;
        if (!headDone) {
          head.push(content);
          headDone = content.includes(HEADER_END) || contentBytes > 65_536;
        }
        if (chunkLeft > 0) break;
        chunkLeft = -1;
        out += recipients.length > 0 ? '250 2.0.0 taken\r\n' : '503 5.5.1 RCPT first\r\n';
        if (recipients.length > 0)
          record(sink, { head: Buffer.concat(head), contentBytes, recipients, secure });
        recipients = [];
        continue;
      }
      if (inData) {
        const joined = pending.length > 0 ? Buffer.concat([pending, rest]) : rest;
        const end = joined.indexOf(END);
        const content = end < 0 ? rest : joined.subarray(pending.length, end + 2);
        contentBytes += content.length;
        if (!headDone && content.length > 0) {
          head.push(content);
          headDone = content.includes(HEADER_END) || contentBytes > 65_536;
        }
        if (end < 0) {
          pending = joined.subarray(Math.max(0, joined.length - 4));
          break;
        }
        record(sink, { head: Buffer.concat(head), contentBytes, recipients, secure });
        inData = false;
        recipients = [];
        pending = Buffer.alloc(0);
        rest = joined.subarray(end + END.length);
        out += '250 2.0.0 taken\r\n';
        continue;
      }
      const joined = pending.length > 0 ? Buffer.concat([pending, rest]) : rest;
      const lineEnd = joined.indexOf(10);
      if (lineEnd < 0) {
        pending = joined;
        break;
      }
      pending = Buffer.alloc(0);
      rest = joined.subarray(lineEnd + 1);
      switch (joined.toString('latin1', 0, 4).toUpperCase()) {
        case 'EHLO':
          out += '250-sink.example.net\r\n';
          if (sink.tls !== undefined && !secure) out += '250-STARTTLS\r\n';
          if (sink.chunking) out += '250-CHUNKING\r\n';
          out += `250-${EHLO_REPLY}`;
          break;
        case 'STAR': {
          const { tls } = sink;
          if (tls === undefined || secure) {
            out += '502 5.5.1 not here\r\n';
            break;
          }
          socket.removeAllListeners('data').pause();
          reply(`${out}220 2.0.0 go on\r\n`, 2, () =>
            serve(sink, new TLSSocket(socket, { isServer: true, secureContext: tls }), true),
          );
          return;
        }
        case 'RCPT':
          recipients.push(sink.recipients === 1 ? 0 : readerOf(joined.toString('latin1', 0, lineEnd)));
          out += '250 2.1.0 ok\r\n';
          break;
        case 'MAIL':
          recipients = [];
          out += '250 2.1.0 ok\r\n';
          break;
        case 'BDAT':
          chunkLeft = Number(joined.toString('latin1', 5, lineEnd).split(' ')[0]);
          head = [];
          headDone = false;
          contentBytes = 0;
          break;
        case 'DATA':
          out += '354 go on\r\n';
          inData = true;
          head = [];
          headDone = false;
          contentBytes = 0;
          // The lone dot may be the content's very first line: let the search see the line end before it.
          pending = Buffer.from('\r\n');
          break;
        case 'QUIT':
          reply(`${out}221 2.0.0 bye\r\n`, 1, () => socket.end());
          return;
        case 'HELO':
        case 'RSET':
          recipients = [];
          out += '250 2.0.0 ok\r\n';
          break;
        case 'NOOP':
          out += '250 2.0.0 ok\r\n';
          break;
        default:
          out += '502 5.5.1 not here\r\n';
      }
    }
    if (out !== '') reply(out, 1);
  });
}

/** Writes replies in order, each held back by the delay times `factor`; without a delay at once. */
function replier(socket: Socket, delayMs: number): (text: string, factor: number, then?: () => void) => void {
  const write = (text: string, then?: () => void): void => {
    if (socket.destroyed) return;
    socket.write(text, 'latin1');
    then?.();
  };
  if (delayMs <= 0) return (text, _factor, then) => write(text, then);
  return (text, factor, then) => {
    setTimeout(() => write(text, then), delayMs * factor);
  };
}

type Transaction = {
  readonly head: Buffer;
  readonly contentBytes: number;
  readonly recipients: readonly number[];
  readonly secure: boolean;
};

function record(sink: Sink, { head, contentBytes, recipients, secure }: Transaction): void {
  const at = nowMicros();
  const id = readId(head);
  if (id === undefined) {
    sink.unknown += recipients.length;
    return;
  }
  if (id >= sink.messages) {
    sink.warmup += recipients.length;
    return;
  }
  if (sink.sample === '') sink.sample = head.toString('latin1');
  const signed = head.includes(SIGNATURE_NAME) || head.toString('latin1', 0, 15) === 'DKIM-Signature:';
  sink.transactions += 1;
  for (const n of recipients) {
    const delivery = deliveryOf(id, n, sink.recipients);
    if ((sink.arrivedAt[delivery] ?? 0) > 0) {
      sink.duplicates += 1;
      continue;
    }
    sink.arrivedAt[delivery] = at;
    sink.unique += 1;
    sink.bytes += contentBytes;
    if (signed) sink.signed += 1;
    if (secure) sink.secure += 1;
  }
  if (sink.notify) process.send?.({ kind: 'arrived', id });
  if (sink.unique === sink.arrivedAt.length) process.send?.({ kind: 'complete' });
}

function readId(head: Buffer): number | undefined {
  const at = head.indexOf(ID_NAME);
  if (at < 0) return undefined;
  const id = Number.parseInt(head.toString('latin1', at + ID_NAME.length, at + ID_NAME.length + 12), 10);
  return Number.isSafeInteger(id) && id >= 0 ? id : undefined;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      recipients: { type: 'string', default: '1' },
      'delay-ms': { type: 'string', default: '0' },
      chunking: { type: 'boolean', default: false },
      notify: { type: 'boolean', default: false },
      addresses: { type: 'string', default: '0' },
      certificate: { type: 'string' },
      key: { type: 'string' },
    },
  });
  const [port = '0', messages = '0'] = positionals;
  const { recipients, chunking, notify, certificate, key } = values;
  const sink: Sink = {
    messages: Number(messages),
    recipients: Number(recipients),
    tls:
      certificate === undefined || key === undefined
        ? undefined
        : createSecureContext({ cert: readFileSync(certificate), key: readFileSync(key) }),
    delayMs: Number(values['delay-ms']),
    chunking,
    notify,
    arrivedAt: new Float64Array(Number(messages) * Number(recipients)),
    unique: 0,
    duplicates: 0,
    signed: 0,
    secure: 0,
    transactions: 0,
    warmup: 0,
    unknown: 0,
    bytes: 0,
    connections: 0,
    open: 0,
    peakConnections: 0,
    sample: '',
  };
  const listen = async (host: string, at: number): Promise<number> => {
    const server = createServer({ noDelay: true }, (socket) => receive(sink, socket));
    server.listen({ port: at, host, backlog: 1024 });
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const own = await listen('127.0.0.1', Number(port));
  for (let site = 0; site < Number(values.addresses); site += 1) await listen(siteAddress(site), own);
  process.send?.({ kind: 'ready', port: own });
  process.on('message', (message: { kind: string }) => {
    if (message.kind === 'count') process.send?.({ kind: 'count', unique: sink.unique, warmup: sink.warmup });
    if (message.kind !== 'report') return;
    const {
      messages: _messages,
      recipients: _recipients,
      tls: _tls,
      delayMs: _delay,
      chunking: _chunking,
      notify: _notify,
      open: _open,
      ...report
    } = sink;
    process.send?.({ kind: 'report', report: report satisfies SinkReport });
  });
  process.on('disconnect', () => process.exit(0));
}

await main();
