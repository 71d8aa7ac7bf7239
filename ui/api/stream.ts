/**
 * A stream of the server, kept open while the page is looked at by somebody who is signed in: a hidden page lets go of its
 * connection, because a browser has six for one server. Given its path and filters; tells what arrives, and when a connection
 * has begun anew, after which the newest page of a list says what was missed. A silent connection (the server sends a heartbeat
 * every 15 seconds) counts as lost. Tried again after one second, then two, up to ten, or as late as the server says; at once when
 * the page is shown again, or somebody has signed in again.
 */
import { focusManager } from '@tanstack/react-query';
import { streamedEvents } from '../../src/client/event-stream.ts';
import { ApiError, open, type Query } from './call.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;
const SILENCE_MS = 40_000;

export interface StreamEvents {
  /** Connected: what happens from now on is told. */
  onOpen(): void;
  /** `data` of one event. */
  onData(data: string): void;
  /** The connection was lost or refused; tried again unless the refusal is for good. */
  onLost(error: unknown): void;
}

/**
 * Follows until the function it gives back is called. With `restMs` the connection is left after the first event and begun
 * anew so much later: for whoever asks only whether something happened, however much it is.
 */
export function followStream(
  path: string,
  filters: Query,
  events: StreamEvents,
  { restMs }: { restMs?: number } = {},
): () => void {
  let ended = false;
  let current: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = FIRST_WAIT_MS;

  const leave = focusManager.subscribe((isLookedAt) => {
    if (!isLookedAt) {
      clearTimeout(timer);
      current?.abort();
      current = null;
    } else if (current === null) void connect();
  });
  if (focusManager.isFocused()) void connect();

  return () => {
    ended = true;
    clearTimeout(timer);
    current?.abort();
    leave();
  };

  async function connect(): Promise<void> {
    clearTimeout(timer);
    const mine = new AbortController();
    current = mine;
    try {
      const answer = await open('GET', path, { query: filters, signal: mine.signal });
      waitMs = FIRST_WAIT_MS;
      events.onOpen();
      await readEvents(answer, mine, (data) => {
        events.onData(data);
        if (restMs !== undefined && current === mine) rest(restMs);
      });
      throw new TypeError('the stream has ended');
    } catch (error) {
      if (ended || current !== mine) return;
      current = null;
      mine.abort();
      events.onLost(error);
      if (isFinal(error)) return;
      const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      timer = setTimeout(() => void connect(), Math.max(waitMs, askedMs));
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }

  function rest(forMs: number): void {
    current?.abort();
    current = null;
    timer = setTimeout(() => void connect(), forMs);
  }
}

/** Asking again would be refused again. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429 && error.status !== 408;
}

/** Until the body ends; rejects where it is silent for too long. */
async function readEvents(
  answer: Response,
  end: AbortController,
  onData: (data: string) => void,
): Promise<void> {
  const patience = () => setTimeout(() => end.abort(), SILENCE_MS);
  let silence = patience();
  // A heartbeat is no event, so what counts is that octets come.
  const heard = new TransformStream<Uint8Array, Uint8Array>({
    transform(octets, on) {
      clearTimeout(silence);
      silence = patience();
      on.enqueue(octets);
    },
  });
  try {
    for await (const { data } of streamedEvents(new Response(answer.body?.pipeThrough(heard)))) onData(data);
  } finally {
    clearTimeout(silence);
  }
}
