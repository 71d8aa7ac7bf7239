/**
 * Common parts of server-sent events (WHATWG HTML §9.2): how a stream begins, its heartbeat, and where a client that
 * reconnects continues.
 */
import { wellFormedJson } from '../../../lib/well-formed-json.ts';
import { integer, queryReader } from '../query.ts';
import type { ApiRequest } from '../route.ts';

/** Comments at this interval keep a connection open, and advance the position to resume from. */
export const HEARTBEAT_MS = 15_000;
/** How long a client waits before it reconnects, ms. */
const RECONNECT_MS = 2_000;

/** A proxy that buffers answers would delay events. */
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
  return `id: ${seq}\nevent: ${name}\ndata: ${wellFormedJson(data)}\n\n`;
}

/** The parameter for the position of a stream: `id`s of its events are numbers. */
export function resumeAfter(description: string) {
  return { After: integer(0, Number.MAX_SAFE_INTEGER).optional().describe(description) };
}

const readHeader = queryReader(resumeAfter(''));

/**
 * The header that browsers send when they reconnect, otherwise `after`; undefined = from now on. Throws AppError
 * invalid-parameter.
 */
export function lastSeen(request: Pick<ApiRequest, 'header'>, after: number | undefined): number | undefined {
  const header = request.header('last-event-id') ?? '';
  return header === '' ? after : readHeader(new Map([['after', header]]), false).After;
}
