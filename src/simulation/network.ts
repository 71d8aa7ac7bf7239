/**
 * A network in memory: the SMTP client sends its real bytes over it, without sockets or real time. Bytes of the
 * client reach the far end at once; replies reach the client after the delay of the virtual clock. Takes a function
 * that says who answers at an address. When a process dies, its connections end.
 */
import { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import type { Connect, ConnectRequest } from '../net/sockets.ts';

/** The far end's half of one connection. */
export interface ServerHalf {
  /** Bytes from the client. */
  received(bytes: Buffer): void;
  /** The connection has ended, on either side; called once. */
  gone(): void;
  /** Bytes that the client wrote before it noticed the end. */
  missed?(bytes: Buffer): void;
}

/** What the far end can do with a connection. */
export interface ClientHalf {
  readonly isOpen: boolean;
  say(text: string): void;
  /** An orderly end. */
  end(): void;
  reset(): void;
}

/** How an address answers a call. */
export type Answer =
  | { kind: 'connects'; afterMs: number; serve(client: ClientHalf): ServerHalf }
  | { kind: 'refuses'; afterMs: number }
  /** Nothing ever comes back. */
  | { kind: 'silent' };

export interface Network {
  /** The network as one process sees it; `die` ends its connections. `whenAwake` delays what reaches a paused process. */
  plugIn(clock: Clock, whenAwake?: (run: () => void) => void): { connect: Connect; die(): void };
}

class ClientSocket extends Duplex {
  server: ServerHalf | null = null;
  private former: ServerHalf | null = null;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.deliver(chunk);
    done();
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.deliver(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    done();
  }

  private deliver(bytes: Buffer): void {
    if (this.server === null) this.former?.missed?.(bytes);
    else this.server.received(bytes);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.leave();
    done(error);
  }

  leave(): void {
    const { server } = this;
    this.server = null;
    this.former = server ?? this.former;
    server?.gone();
  }
}

/** `worldClock` continues when a process dies; a process is only called by its own clock. */
export function createNetwork(
  worldClock: Clock,
  answerOf: (request: Pick<ConnectRequest, 'address' | 'port' | 'localAddress'>) => Answer,
): Network {
  return {
    plugIn(clock, whenAwake = (run) => run()) {
      const open = new Set<ClientSocket>();
      let dead = false;

      const connect: Connect = (request) =>
        new Promise((resolve) => {
          if (dead) return;
          let settled = false;
          const settle = (result: Awaited<ReturnType<Connect>>) => {
            if (settled) return;
            settled = true;
            timeout.cancel();
            request.signal?.removeEventListener('abort', onAbort);
            resolve(result);
          };
          const onAbort = () => settle({ kind: 'aborted', detail: 'aborted while connecting' });
          const timeout = clock.setTimer(request.timeoutMs, () =>
            settle({ kind: 'timeout', detail: `no connection within ${request.timeoutMs} ms` }),
          );
          request.signal?.addEventListener('abort', onAbort, { once: true });
          const answer = answerOf(request);
          if (answer.kind === 'silent') return;
          const arrive = () => {
            if (dead || settled) return;
            if (answer.kind === 'refuses') return settle({ kind: 'refused', detail: 'ECONNREFUSED' });
            settle({ kind: 'connected', socket: openSocket(answer.serve) });
          };
          worldClock.setTimer(answer.afterMs, () => whenAwake(arrive));
        });

      return {
        connect,
        die() {
          dead = true;
          for (const socket of open) socket.leave();
          open.clear();
        },
      };

      function openSocket(serve: (client: ClientHalf) => ServerHalf): ClientSocket {
        const socket = new ClientSocket();
        open.add(socket);
        socket.once('close', () => open.delete(socket));
        const reaches = (arrive: () => void) =>
          whenAwake(() => {
            if (!dead && !socket.destroyed) arrive();
          });
        const isOpen = () => !dead && !socket.destroyed && socket.server !== null;
        socket.server = serve({
          get isOpen() {
            return isOpen();
          },
          say(text) {
            if (isOpen()) reaches(() => socket.push(Buffer.from(text, 'latin1')));
          },
          end() {
            if (!isOpen()) return;
            reaches(() => socket.push(null));
            socket.leave();
          },
          reset() {
            if (!isOpen()) return;
            socket.leave();
            const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
            reaches(() => socket.destroy(error));
          },
        });
        return socket;
      }
    },
  };
}
