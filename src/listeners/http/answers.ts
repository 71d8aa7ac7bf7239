/** How an answer of the API or of a plain route goes out. */
import { constants, Http2ServerResponse } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asBuffer } from '../../lib/as-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import { afterInput } from '../../lib/turns.ts';
import type { ApiAnswer } from './route.ts';

/** The last answer of its connection. HTTP/2 says it by other means (secure-port.ts). */
export function closeAfter(request: FastifyRequest, reply: FastifyReply): void {
  if (request.raw.httpVersionMajor === 1) reply.header('connection', 'close');
}

/** About how many octets are in memory until the client has read them; none of a stream, which waits for its reader. */
export function heldBytes({ body }: ApiAnswer): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
}

/**
 * Ends the answer of a client that reads nothing of it for this time; on HTTP/2, none of the pieces of 64 KiB in which
 * Fastify writes it. A slow one that reads is served to the end.
 */
export function endIfStalled({ raw }: FastifyReply, clock: Clock, afterMs: number): void {
  if (!(raw instanceof Http2ServerResponse)) {
    raw.setTimeout(afterMs, () => raw.destroy());
    return;
  }
  // Not the timeout of the stream: for Node each frame of the connection is progress of all its streams.
  const { stream } = raw;
  let pieces = 0;
  let timer = clock.setTimer(afterMs, look);
  stream.on('drain', () => {
    pieces++;
    timer.cancel();
    timer = clock.setTimer(afterMs, look);
  });
  stream.once('close', () => timer.cancel());

  function look(): void {
    // After a pause of this process, what the client read may not be known yet.
    const known = pieces;
    afterInput(() => {
      if (pieces === known) stream.close(constants.NGHTTP2_CANCEL);
    });
  }
}

export function sendAnswer(reply: FastifyReply, answer: ApiAnswer): FastifyReply {
  reply.code(answer.status).header('content-type', 'application/json; charset=utf-8');
  if (answer.headers !== undefined) reply.headers(answer.headers);
  const { body } = answer;
  return reply.send(body instanceof Uint8Array ? asBuffer(body) : body);
}
