// Sends the load over HTTP/1.1 keep-alive connections: plain sockets, request bytes built once per connection,
// one request in flight on each, and a reader that looks for nothing but the status, the length and the end.
// An answer 200 is an acceptance; 429 and 503 are sent again; anything else is a failure whose text is kept.
import { connect, type Socket } from 'node:net';
import { httpTemplate, stampId } from './messages.ts';
import { createTally, type Tally } from './tally.ts';
import { type InjectPlan, nowMicros } from './types.ts';

const MAX_RECONNECTS = 20;

/** Starts the load; the tally's `done` resolves with what was seen. */
export function injectHttp(plan: InjectPlan, token: string): Tally {
  const tally = createTally(plan);
  for (let n = 0; n < Math.min(plan.connections, plan.count); n += 1) lane(plan, token, tally);
  return tally;
}

/** One connection and its successors: sends ids until there are none left. */
function lane(plan: InjectPlan, token: string, tally: Tally): void {
  const request = httpTemplate(plan.door.port, token, plan.bodyBytes);
  let reconnects = 0;
  let id: number | undefined;
  let sentAt = 0;
  let answered = true;

  const open = (): void => {
    let pending: Buffer = Buffer.alloc(0);
    const socket = connect({ port: plan.door.port, host: '127.0.0.1', noDelay: true });
    socket.on('connect', () => proceed(socket));
    socket.on('data', (chunk) => {
      pending = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk;
      const answer = readAnswer(pending);
      if (answer === undefined) return;
      const body = pending.toString('latin1', answer.bodyAt, answer.end);
      pending = pending.subarray(answer.end);
      answered = true;
      if (id === undefined) return;
      const current = id;
      if (answer.status === 200) {
        id = undefined;
        tally.accepted(current, sentAt, () => proceed(socket));
      } else if (answer.status === 429 || answer.status === 503) {
        tally.refused(() => send(socket, current));
      } else {
        id = undefined;
        tally.failed(`HTTP ${answer.status}: ${body.slice(0, 300)}`);
        proceed(socket);
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (id !== undefined && !answered) {
        tally.failed('connection closed before the answer');
        id = undefined;
      }
      if (id === undefined && tally.exhausted()) return;
      reconnects += 1;
      if (reconnects <= MAX_RECONNECTS) setTimeout(open, 20 * reconnects).unref();
    });
    tally.done.then(() => socket.destroy());
  };

  const proceed = (socket: Socket): void => {
    id ??= tally.next();
    if (id === undefined) socket.end();
    else send(socket, id);
  };

  const send = (socket: Socket, next: number): void => {
    if (socket.destroyed) return;
    stampId(request, next);
    answered = false;
    sentAt = nowMicros();
    socket.write(request.bytes);
  };

  open();
}

/** Finds one whole answer at the start of `bytes`; undefined while more must come. */
function readAnswer(bytes: Buffer): { status: number; bodyAt: number; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const status = Number(bytes.toString('latin1', 9, 12));
  const bodyAt = headEnd + 4;
  const head = bytes.toString('latin1', 0, headEnd).toLowerCase();
  const lengthAt = head.indexOf('\r\ncontent-length:');
  if (lengthAt >= 0) {
    const end = bodyAt + Number.parseInt(head.slice(lengthAt + 17, lengthAt + 30), 10);
    return bytes.length >= end ? { status, bodyAt, end } : undefined;
  }
  if (!head.includes('\r\ntransfer-encoding: chunked')) return { status, bodyAt, end: bodyAt };
  const last = bytes.indexOf('0\r\n\r\n', bodyAt);
  return last < 0 ? undefined : { status, bodyAt, end: last + 5 };
}
