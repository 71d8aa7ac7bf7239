/**
 * What streams of server-sent events share (WHATWG HTML §9.2): how they begin and beat, and where a client that comes back
 * goes on.
 */
import { integer, queryReader } from '../query.ts';
import type { ApiRequest } from '../route.ts';

/** Comments so far apart keep a connection, and move the place to resume from. */
export const HEARTBEAT_MS = 15_000;
/** What a client waits before it comes back, ms. */
const RECONNECT_MS = 2_000;

/** A proxy that collects answers would keep events back. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
} as const;

/** The first block: where the stream begins. */
export function opening(seq: number): string {
  return `retry: ${RECONNECT_MS}\nid: ${seq}\n\n`;
}

/** A block without an event. */
export function heartbeat(seq: number): string {
  return `: still here\nid: ${seq}\n\n`;
}

/** One event. JSON holds no line break, so the data is one line. */
export function eventBlock(seq: number, name: string, data: unknown): string {
  return `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The parameter that says where a stream goes on: `id`s of its events are numbers. */
export function resumeAfter(description: string) {
  return { After: integer(0, Number.MAX_SAFE_INTEGER).optional().describe(description) };
}

const readHeader = queryReader(resumeAfter(''));

/** The header that browsers send when they come back, else `after`; undefined = from now on. Throws AppError invalid-parameter. */
export function lastSeen(request: Pick<ApiRequest, 'header'>, after: number | undefined): number | undefined {
  const header = request.header('last-event-id') ?? '';
  return header === '' ? after : readHeader(new Map([['after', header]])).After;
}
