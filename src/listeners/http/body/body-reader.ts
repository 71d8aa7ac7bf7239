/**
 * Reads the body of a request; its size is checked before reading (Content-Length), while reading, and after inflation.
 * Returns one buffer. If a body stops arriving, or takes too long as a whole, the request gets a 408, so that a slow
 * sender does not occupy memory for long. A body that is too large is refused at once, and the server drops the rest.
 */
import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import type { ByteShare } from '../../../lib/byte-budget.ts';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { collectStretches, joinInTurns } from '../../../lib/join-in-turns.ts';
import { createTurns } from '../../../lib/turns.ts';

const EMPTY = new Uint8Array(0);

/** The minimum speed of a body, measured every `PACE_CHECK_MS`. */
const MIN_BYTES_PER_CHECK = 4096;
const PACE_CHECK_MS = 10_000;

interface BodyLimits {
  maxBytes: number;
  /** The whole body must be there by then. */
  withinMs: number;
  clock: Clock;
  share: ByteShare;
}

/**
 * Throws AppError body-too-large, content-encoding, request-timeout, http-malformed (the client disconnected) or
 * unavailable (too much is in memory for other requests). `share` ends with the request, and here if nothing was read: a
 * client of HTTP/2 can leave a request open that was refused long ago.
 */
export async function readBody(stream: IncomingMessage, options: BodyLimits): Promise<Uint8Array> {
  const encoding = contentEncoding(stream.headers['content-encoding']);
  const announced = Number(stream.headers['content-length'] ?? 0);
  if (announced > options.maxBytes) throw tooLarge(options.maxBytes);
  // Node reports the end one turn after the last octet; all announced octets have arrived before.
  const whole = stream.complete || (announced > 0 && stream.readableLength >= announced);
  try {
    const raw = whole ? takeWhole(stream, options) : await collect(stream, options);
    return encoding === 'identity' || raw.length === 0 ? raw : await inflated(raw, options);
  } catch (cause) {
    options.share.end();
    throw cause;
  }
}

/** What it takes is counted as it grows: a small body can become a thousand times as large, and many are inflated at once. */
function inflated(raw: Uint8Array, { maxBytes, clock, share }: BodyLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stretches = collectStretches();
    let length = 0;
    const gunzip = createGunzip();
    gunzip.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) fail(tooLarge(maxBytes));
      else if (!share.take(chunk.length)) fail(noRoom());
      else stretches.add(chunk);
    });
    gunzip.once('end', () => resolve(joinInTurns(stretches.parts(), createTurns(clock))));
    gunzip.once('error', (cause) => fail(new AppError('content-encoding', { cause })));
    gunzip.end(raw);

    function fail(error: AppError): void {
      gunzip.destroy();
      stretches.clear();
      reject(error);
    }
  });
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('body-too-large', {
    message: `The request body may have at most ${maxBytes} octets; files in base64 are a third larger in it`,
  });
}

function noRoom(): AppError {
  return new AppError('unavailable', {
    message: 'Too many large requests at once; repeat this one. More fit where the server has more memory',
    retryAfterSeconds: 1,
  });
}

function contentEncoding(header: string | undefined): 'identity' | 'gzip' {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  throw new AppError('content-encoding', { message: 'Content-Encoding may be gzip or absent' });
}

/** A small body arrives with its headers: it is taken at once, without timers and events. */
function takeWhole(stream: IncomingMessage, { maxBytes, share }: BodyLimits): Uint8Array {
  const parts: Uint8Array[] = [];
  // One read gives all that is there up to Node 25, and one part of it since Node 26.
  for (let part: unknown = stream.read(); part instanceof Uint8Array; part = stream.read()) parts.push(part);
  const [first = EMPTY] = parts;
  const bytes = parts.length > 1 ? Buffer.concat(parts) : first;
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (!share.take(bytes.length)) throw noRoom();
  return bytes;
}

function collect(
  stream: IncomingMessage,
  { maxBytes, withinMs, clock, share }: BodyLimits,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stretches = collectStretches();
    let received = 0;
    let receivedAtCheck = 0;
    let timer = clock.setTimer(PACE_CHECK_MS, checkPace);
    const end = clock.setTimer(withinMs, () => fail(new AppError('request-timeout')));

    stream.on('data', onData);
    stream.once('end', onEnd);
    stream.once('error', onGone);
    stream.once('close', onGone);

    function onData(chunk: Buffer): void {
      received += chunk.length;
      if (received > maxBytes) fail(tooLarge(maxBytes));
      else if (!share.take(chunk.length)) fail(noRoom());
      else stretches.add(chunk);
    }
    function onEnd(): void {
      release();
      resolve(joinInTurns(stretches.parts(), createTurns(clock)));
    }
    function onGone(): void {
      fail(new AppError('http-malformed', { message: 'The request ended before its body was complete' }));
    }
    function checkPace(): void {
      if (received - receivedAtCheck < MIN_BYTES_PER_CHECK) {
        fail(new AppError('request-timeout'));
        return;
      }
      receivedAtCheck = received;
      timer = clock.setTimer(PACE_CHECK_MS, checkPace);
    }
    function fail(error: AppError): void {
      release();
      stretches.clear();
      stream.on('error', () => {}); // The rest is thrown away; how it ends is of no interest any more.
      stream.resume();
      reject(error);
    }
    function release(): void {
      timer.cancel();
      end.cancel();
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.off('error', onGone);
      stream.off('close', onGone);
    }
  });
}
