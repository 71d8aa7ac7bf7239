/** How an answer of the API or of a plain route goes out. */
import { constants, Http2ServerResponse } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asBuffer } from '../../lib/as-buffer.ts';
import type { ApiAnswer } from './route.ts';

/** The last answer of its connection. HTTP/2 says it by other means (secure-port.ts). */
export function closeAfter(request: FastifyRequest, reply: FastifyReply): void {
  if (request.raw.httpVersionMajor === 1) reply.header('connection', 'close');
}

/** About how many octets are in memory until the client has read them; none of a stream, which waits for its reader. */
export function heldBytes({ body }: ApiAnswer): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
}

/** Ends the answer of a client that reads nothing of it for this time. A slow one that reads is served to the end. */
export function endIfStalled({ raw }: FastifyReply, afterMs: number): void {
  raw.setTimeout(afterMs, () => {
    if (raw instanceof Http2ServerResponse) raw.stream.close(constants.NGHTTP2_CANCEL);
    else raw.destroy();
  });
}

export function sendAnswer(reply: FastifyReply, answer: ApiAnswer): FastifyReply {
  reply.code(answer.status).header('content-type', 'application/json; charset=utf-8');
  if (answer.headers !== undefined) reply.headers(answer.headers);
  const { body } = answer;
  return reply.send(body instanceof Uint8Array ? asBuffer(body) : body);
}
