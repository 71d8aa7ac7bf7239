// Sends the load over HTTP/1.1 keep-alive connections: plain sockets, request bytes built once per connection,
// one request in flight on each, and a reader that looks for nothing but the status, the length and the end.
// An answer 200 is an acceptance; 429 and 503 are sent again; anything else is a failure whose text is kept.
import type { Socket } from 'node:net';
import { httpTemplates, stampId, type Template } from './messages.ts';
import { createTally, openConnection, type Tally } from './tally.ts';
import { type Door, type InjectPlan, nowMicros } from './types.ts';

const MAX_RECONNECTS = 20;

/** Starts the load; the tally's `done` resolves with what was seen. */
export function injectHttp(plan: InjectPlan): Tally {
  const tally = createTally(plan);
  const doors = plan.doors.filter((door) => door.kind === 'http');
  for (let n = 0; n < Math.min(plan.connections, plan.count); n += 1) {
    const door = doors[n % doors.length];
    if (door !== undefined) lane(plan, door, tally);
  }
  return tally;
}

/** One connection and its successors: sends ids, `plan.batch` in a request, until there are none left. */
function lane(plan: InjectPlan, door: Extract<Door, { kind: 'http' }>, tally: Tally): void {
  const templates = new Map<number, readonly Template[]>();
  const templatesFor = (messages: number): readonly Template[] => {
    const known = templates.get(messages) ?? httpTemplates(door, plan, messages);
    templates.set(messages, known);
    return known;
  };
  let reconnects = 0;
  let ids: readonly number[] = [];
  let sentAt = 0;
  let answered = true;

  const open = (): void => {
    let pending: Buffer = Buffer.alloc(0);
    const socket = openConnection(door, () => proceed(socket));
    socket.on('data', (chunk) => {
      pending = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk;
      const answer = readAnswer(pending);
      if (answer === undefined) return;
      const body = pending.toString('latin1', answer.bodyAt, answer.end);
      pending = pending.subarray(answer.end);
      answered = true;
      const current = ids;
      if (current.length === 0) return;
      if (answer.status === 200 && (current.length === 1 || body.includes('"Rejected":0'))) {
        ids = [];
        // The last of a request goes on with the next one.
        current.forEach((id, i) => {
          tally.accepted(id, sentAt, i + 1 === current.length ? () => proceed(socket) : () => undefined);
        });
      } else if (answer.status === 429 || answer.status === 503) {
        tally.refused(() => send(socket));
      } else {
        ids = [];
        for (const _ of current) tally.failed(`HTTP ${answer.status}: ${body.slice(0, 300)}`);
        proceed(socket);
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (!answered) {
        for (const _ of ids) tally.failed('connection closed before the answer');
        ids = [];
      }
      if (ids.length === 0 && tally.exhausted()) return;
      reconnects += 1;
      if (reconnects <= MAX_RECONNECTS) setTimeout(open, 20 * reconnects).unref();
    });
    tally.done.then(() => socket.destroy());
  };

  const proceed = (socket: Socket): void => {
    if (ids.length === 0) ids = takeIds();
    if (ids.length === 0) socket.end();
    else send(socket);
  };

  const takeIds = (): number[] => {
    const taken: number[] = [];
    while (taken.length < plan.batch) {
      const id = tally.next();
      if (id === undefined) break;
      taken.push(id);
    }
    return taken;
  };

  const send = (socket: Socket): void => {
    if (socket.destroyed) return;
    const request = templatesFor(ids.length);
    ids.forEach((id, i) => {
      const message = request[i];
      if (message !== undefined) stampId(message, id);
    });
    answered = false;
    sentAt = nowMicros();
    socket.write(request[0]?.bytes ?? Buffer.alloc(0));
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
