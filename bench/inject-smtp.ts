// Sends the load over SMTP connections: plain sockets, bytes built once per connection, many messages on each,
// one message a transaction. With a token it logs in first. MAIL, RCPT and DATA go in one write where PIPELINING is offered and wanted, else one by one.
// 250 after the dot is an acceptance; a 4xx reply is sent again; 5xx is a failure whose text is kept.
import { smtpTemplates, stampId, type Template } from './messages.ts';
import { createTally, openConnection, type Tally } from './tally.ts';
import { type Door, type InjectPlan, nowMicros } from './types.ts';

const MAX_RECONNECTS = 20;

/** Starts the load; the tally's `done` resolves with what was seen. */
export function injectSmtp(plan: InjectPlan): Tally {
  const tally = createTally(plan);
  const doors = plan.doors.filter((door) => door.kind === 'smtp');
  for (let n = 0; n < Math.min(plan.connections, plan.count); n += 1) {
    const door = doors[n % doors.length];
    if (door !== undefined) lane(plan, door, tally);
  }
  return tally;
}

/** Where the conversation stands: which replies are still to come before the next write. */
type Stage = 'greeting' | 'ehlo' | 'login' | 'envelope' | 'content' | 'reset' | 'idle';

function lane(plan: InjectPlan, door: Extract<Door, { kind: 'smtp' }>, tally: Tally): void {
  const { envelope, content } = smtpTemplates(plan);
  let reconnects = 0;
  let id: number | undefined;
  let sentAt = 0;

  const open = (): void => {
    let stage: Stage = 'greeting';
    let pending = '';
    let pipelining = false;
    let commands: Buffer[] = []; // envelope commands not yet written (one by one without PIPELINING)
    let repliesDue = 0;
    const socket = openConnection(door);

    const proceed = (): void => {
      id ??= tally.next();
      if (id === undefined) {
        stage = 'idle';
        socket.end('QUIT\r\n');
      } else begin(id);
    };
    const begin = (next: number): void => {
      if (socket.destroyed) return;
      stampId(envelope, next);
      stampId(content, next);
      stage = 'envelope';
      repliesDue = plan.recipients + 2;
      sentAt = nowMicros();
      commands = pipelining ? [] : linesOf(envelope);
      socket.write(pipelining ? envelope.bytes : (commands.shift() ?? ''));
    };
    const turnedDown = (line: string): void => {
      stage = 'reset';
      socket.write('RSET\r\n');
      const current = id;
      if (line.startsWith('4') && current !== undefined) return;
      id = undefined;
      tally.failed(line);
    };
    const onReply = (line: string): void => {
      switch (stage) {
        case 'greeting':
          stage = 'ehlo';
          socket.write('EHLO injector.example.com\r\n');
          return;
        case 'ehlo':
          if (door.token === undefined) {
            proceed();
            return;
          }
          stage = 'login';
          socket.write(`AUTH PLAIN ${Buffer.from(`\0bench\0${door.token}`).toString('base64')}\r\n`);
          return;
        case 'login':
          if (line.startsWith('2')) {
            proceed();
            return;
          }
          id ??= tally.next();
          if (id !== undefined) tally.failed(line);
          id = undefined;
          socket.destroy();
          return;
        case 'envelope': {
          repliesDue -= 1;
          const wanted = repliesDue === 0 ? '3' : '2';
          if (!line.startsWith(wanted)) {
            // With pipelining the rest of the group is still answered; a new connection is the simplest solution.
            if (!pipelining || repliesDue === 0) {
              turnedDown(line);
              return;
            }
            if (line.startsWith('4')) tally.refused(() => undefined);
            else {
              id = undefined;
              tally.failed(line);
            }
            socket.destroy();
            return;
          }
          if (repliesDue === 0) {
            stage = 'content';
            socket.write(content.bytes);
          } else if (!pipelining) socket.write(commands.shift() ?? '');
          return;
        }
        case 'content': {
          if (id === undefined) return;
          if (!line.startsWith('2')) {
            turnedDown(line);
            return;
          }
          const current = id;
          id = undefined;
          stage = 'idle';
          tally.accepted(current, sentAt, proceed);
          return;
        }
        case 'reset':
          if (id === undefined) proceed();
          else tally.refused(proceed);
          return;
        case 'idle':
          return;
      }
    };

    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
        if (socket.destroyed) return; // the rest answers a message that was given up
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        if (stage === 'ehlo' && line.slice(4).toUpperCase() === 'PIPELINING') pipelining = door.pipelining;
        if (line[3] !== '-') onReply(line);
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (id !== undefined && stage === 'content') {
        tally.failed('connection closed before the answer');
        id = undefined;
      }
      if (id === undefined && tally.exhausted()) return;
      reconnects += 1;
      if (reconnects <= MAX_RECONNECTS) setTimeout(open, 20 * reconnects).unref();
    });
    tally.done.then(() => socket.destroy());
  };

  open();
}

function linesOf(envelope: Template): Buffer[] {
  return envelope.bytes
    .toString('latin1')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => Buffer.from(`${line}\r\n`, 'latin1'));
}
