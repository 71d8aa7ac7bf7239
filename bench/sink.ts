// The far end: an SMTP sink in a process of its own. It takes every message, reads the id from the header
// X-Bench-Id, notes when the final dot came in, and counts duplicates and signatures. It shares the machine
// with the server under test, so it looks at each byte once (Buffer.indexOf) and keeps no message.
//   node bench/sink.ts PORT EXPECTED [--delay-ms N] [--chunking] [--notify]     (started by the harness with an IPC channel)
// Messages out: {kind:'ready',port} · {kind:'complete'} when EXPECTED unique ids are in · {kind:'arrived',id}
// with --notify · {kind:'report',report} on {kind:'report'} · {kind:'count',unique} on {kind:'count'}.
// With --delay-ms every reply waits that long (a far end one round trip away) and the greeting twice as long,
// the connection's own handshake included. It ends when its parent is gone.
import { createServer, type Socket } from 'node:net';
import { nowMicros, type SinkReport } from './types.ts';

type Sink = {
  readonly expected: number;
  readonly delayMs: number;
  readonly chunking: boolean;
  readonly arrivedAt: Float64Array;
  readonly notify: boolean;
  unique: number;
  duplicates: number;
  signed: number;
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

/** Serves one connection: commands line by line, content until the lone dot, both across any chunking. */
function serve(sink: Sink, socket: Socket): void {
  let pending: Buffer = Buffer.alloc(0); // an unfinished command line, or the content's last four bytes
  let inData = false;
  let hasRecipient = false;
  let chunkLeft = -1; // octets of BDAT that are still to come; -1 = none is under way
  let head: Buffer[] = []; // content up to the end of its header
  let headDone = false;
  let contentBytes = 0;
  const reply = replier(socket, sink.delayMs);

  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  sink.connections += 1;
  sink.open += 1;
  sink.peakConnections = Math.max(sink.peakConnections, sink.open);
  socket.on('close', () => {
    sink.open -= 1;
  });
  reply('220 sink.example.net ESMTP\r\n', 2);

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
        if (hasRecipient) record(sink, Buffer.concat(head), contentBytes);
        out += hasRecipient ? '250 2.0.0 taken\r\n' : '503 5.5.1 RCPT first\r\n';
        hasRecipient = false;
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
        record(sink, Buffer.concat(head), contentBytes);
        inData = false;
        hasRecipient = false;
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
          out += `250-sink.example.net\r\n${sink.chunking ? '250-CHUNKING\r\n' : ''}250-${EHLO_REPLY}`;
          break;
        case 'MAIL':
        case 'RCPT':
          hasRecipient = true;
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
          reply(`${out}221 2.0.0 bye\r\n`, 1, true);
          return;
        case 'HELO':
        case 'RSET':
          hasRecipient = false;
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
function replier(socket: Socket, delayMs: number): (text: string, factor: number, last?: boolean) => void {
  const write = (text: string, last: boolean): void => {
    if (socket.destroyed) return;
    if (last) socket.end(text, 'latin1');
    else socket.write(text, 'latin1');
  };
  if (delayMs <= 0) return (text, _factor, last = false) => write(text, last);
  return (text, factor, last = false) => {
    setTimeout(() => write(text, last), delayMs * factor);
  };
}

function record(sink: Sink, head: Buffer, contentBytes: number): void {
  const at = nowMicros();
  const id = readId(head);
  if (id === undefined) {
    sink.unknown += 1;
    return;
  }
  if (id >= sink.expected) {
    sink.warmup += 1;
    return;
  }
  if (sink.sample === '') sink.sample = head.toString('latin1');
  if ((sink.arrivedAt[id] ?? 0) > 0) {
    sink.duplicates += 1;
    return;
  }
  sink.arrivedAt[id] = at;
  sink.unique += 1;
  sink.bytes += contentBytes;
  if (head.includes(SIGNATURE_NAME) || head.toString('latin1', 0, 15) === 'DKIM-Signature:') sink.signed += 1;
  if (sink.notify) process.send?.({ kind: 'arrived', id });
  if (sink.unique === sink.expected) process.send?.({ kind: 'complete' });
}

function readId(head: Buffer): number | undefined {
  const at = head.indexOf(ID_NAME);
  if (at < 0) return undefined;
  const id = Number.parseInt(head.toString('latin1', at + ID_NAME.length, at + ID_NAME.length + 12), 10);
  return Number.isSafeInteger(id) && id >= 0 ? id : undefined;
}

function main(): void {
  const [port = '0', expected = '0', ...flags] = process.argv.slice(2);
  const delayAt = flags.indexOf('--delay-ms');
  const sink: Sink = {
    expected: Number(expected),
    delayMs: delayAt < 0 ? 0 : Number(flags[delayAt + 1]),
    chunking: flags.includes('--chunking'),
    notify: flags.includes('--notify'),
    arrivedAt: new Float64Array(Number(expected)),
    unique: 0,
    duplicates: 0,
    signed: 0,
    warmup: 0,
    unknown: 0,
    bytes: 0,
    connections: 0,
    open: 0,
    peakConnections: 0,
    sample: '',
  };
  const server = createServer({ noDelay: true }, (socket) => serve(sink, socket));
  server.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 }, () => {
    const address = server.address();
    if (address !== null && typeof address === 'object')
      process.send?.({ kind: 'ready', port: address.port });
  });
  process.on('message', (message: { kind: string }) => {
    if (message.kind === 'count') process.send?.({ kind: 'count', unique: sink.unique, warmup: sink.warmup });
    if (message.kind !== 'report') return;
    const {
      expected: _expected,
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

main();
