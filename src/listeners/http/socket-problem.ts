/**
 * Answers input that never became a request: bytes that are not HTTP, headers that are too large, headers that did
 * not arrive in time. Takes the parser's error and the socket; writes a complete answer with a problem body and
 * closes the connection. If the peer is gone, it only closes.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../../lib/errors.ts';
import { TLS_HANDSHAKE } from '../../lib/server-tls.ts';
import { problemAnswer } from './problem.ts';

/**
 * Returns the problem that was sent, null if the peer was gone. Never throws. Does not write into an answer that has
 * begun.
 */
export function writeProblemToSocket(
  error: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
  publicUrl: string,
  requestId: string,
): AppError | null {
  if (
    error.code === 'ECONNRESET' ||
    !socket.writable ||
    (socket.bytesWritten > 0 && answerUnderWay(socket))
  ) {
    socket.destroy();
    return null;
  }
  const refusal = toRefusal(error, socket);
  const answer = problemAnswer(refusal, publicUrl, requestId);
  const headers = {
    ...answer.headers,
    'content-length': String(Buffer.byteLength(answer.body)),
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${answer.body}`,
    () => socket.destroySoon(),
  );
  return refusal;
}

/** Node keeps the answer that is being written on the socket. */
function answerUnderWay(socket: Socket): boolean {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return (
    typeof message === 'object' &&
    message !== null &&
    'headersSent' in message &&
    message.headersSent === true
  );
}

function toRefusal(
  { code, rawPacket }: { code?: string; rawPacket?: unknown },
  { bytesRead }: Socket,
): AppError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('headers-too-large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError(
        'request-timeout',
        bytesRead === 0 ? { message: 'Nothing was sent: this port speaks HTTP; SMTP has another port' } : {},
      );
    case 'HPE_LF_EXPECTED':
    case 'HPE_CR_EXPECTED':
    case 'HPE_INVALID_HEADER_TOKEN':
      return new AppError('http-malformed', {
        message:
          'A header has a line break or another character that it may not have: a token read from a file must not end with one',
      });
    case 'HPE_INVALID_METHOD':
      return new AppError('http-malformed', {
        message:
          Buffer.isBuffer(rawPacket) && rawPacket[0] === TLS_HANDSHAKE
            ? 'TLS was sent to a port without TLS: use http://, or set http-certificate'
            : 'This is no HTTP request, and this port speaks HTTP; SMTP has another port. Behind another request of the same connection: its Content-Length was too small',
      });
    default:
      return new AppError('http-malformed');
  }
}
