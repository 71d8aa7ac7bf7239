/**
 * The requests that run: their number, the end of those that wait for news, and the stop of the listener, which lets them
 * finish and refuses new ones.
 */
import type { FastifyReply } from 'fastify';
import { atMost, type Clock } from '../../lib/clock.ts';
import type { RequestEnd } from './route.ts';

export interface RunningRequests {
  began(): void;
  /** Its answer was sent, or its client has gone. */
  ended(): void;
  isStopping(): boolean;
  /** No new ones from now on; those that wait for news end. */
  stop(): void;
  /** Resolves when none runs, or after `deadlineMs`. */
  finished(deadlineMs: number): Promise<void>;
  /**
   * Aborted when the client of this answer has gone, or the listener stops. A client that has ended its side may still
   * read, but who waits for news that may never come cannot tell it from one that is gone.
   */
  endOf(reply: FastifyReply): AbortSignal;
}

export function createRunningRequests(clock: Pick<Clock, 'setTimer'>): RunningRequests {
  let running = 0;
  /** Ends the requests that wait for something. */
  const stop = new AbortController();
  let onIdle: (() => void) | null = null;

  return {
    began() {
      running++;
    },
    ended() {
      running--;
      if (running === 0) onIdle?.();
    },
    isStopping: () => stop.signal.aborted,
    stop() {
      stop.abort('stopping' satisfies RequestEnd);
    },
    finished(deadlineMs) {
      if (running === 0) return Promise.resolve();
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      return atMost(clock, deadlineMs, idle);
    },
    endOf: (reply) => AbortSignal.any([goneOf(reply), stop.signal]),
  };
}

function goneOf({ raw, request }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  // Of HTTP/2, the side of the client ends with every request.
  const isHttp1 = request.raw.httpVersionMajor === 1;
  const socket = isHttp1 ? raw.socket : null;
  const onGone = (): void => gone.abort('gone' satisfies RequestEnd);
  // An answer of HTTP/2 whose request was taken back before has no socket, and says nothing any more.
  const isGone = isHttp1 ? raw.closed || socket?.readableEnded === true : !raw.socket;
  if (isGone) onGone();
  socket?.once('end', onGone);
  raw.once('close', () => {
    socket?.off('end', onGone);
    onGone();
  });
  return gone.signal;
}
