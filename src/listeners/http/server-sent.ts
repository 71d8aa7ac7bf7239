/**
 * What streams of server-sent events share (WHATWG HTML §9.2): how they begin and beat, and where a client that comes back
 * goes on.
 */
import { type ApiRequest, queryInteger } from './route.ts';

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

/** The header that browsers send when they come back, or `After`; undefined = from now on. Throws AppError invalid-parameter. */
export function lastSeen(request: Pick<ApiRequest, 'header' | 'query'>): number | undefined {
  const header = request.header('last-event-id');
  const text = header === undefined || header === '' ? request.query.get('after') : header;
  if (text === undefined || text === '') return undefined;
  const limits = { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 };
  return queryInteger(new Map([['after', text]]), 'After', limits);
}
