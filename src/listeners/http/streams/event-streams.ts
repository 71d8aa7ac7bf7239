/**
 * A stream of server-sent events over anything that is stored in order of a seq (WHATWG HTML §9.2): where it begins,
 * what it reads and when, its heartbeat, its end. It continues until the client disconnects, the token ends or the
 * listener stops. A slow client only slows itself; each open stream uses a place of its token, so a client that takes
 * nothing any more is cut off.
 */
import { Readable } from 'node:stream';
import { type Clock, sleep, type Timer } from '../../../lib/clock.ts';
import { createSharedTurns } from '../../../lib/turns.ts';
import type { Access } from '../../../policy/access/access.ts';
import type { ApiAnswer, ApiRequest } from '../route.ts';
import { createChangeWaiter } from './change-waiter.ts';
import { HEARTBEAT_MS, heartbeat, lastSeen, opening, STREAM_HEADERS } from './server-sent.ts';
import { createSlots } from './slots.ts';

/** What a stream reads. */
export interface StreamSource {
  /** The newest seq: where a client without a position begins. */
  newest(): Promise<number>;
  /**
   * Entries after `seq`, oldest first: a function that writes each, null for skipped ones. `upTo`: there are no others
   * up to there; `more`: the next read will find something.
   */
  after(seq: number): Promise<{
    items: readonly { seq: number; block: (() => string) | null }[];
    upTo: number;
    more: boolean;
  }>;
  /** Calls `listener` when there may be something new. */
  subscribe(listener: () => void): () => void;
}

/** A client that takes nothing of what waits for it for this time is cut off, at twice of it the latest; it can resume. */
const STALLED_MS = 60_000;
/** How long it may take for the rest when the listener stops. */
const LAST_MS = 1_000;

/** null = nothing waits for the client. */
interface Taking {
  sinceMs: number | null;
}

/** Opens a stream after `after`, or from now on. Throws AppError rate-limited, invalid-parameter. */
export type OpenStream = (
  request: ApiRequest,
  after: number | undefined,
  source: StreamSource,
) => Promise<ApiAnswer>;

/**
 * `pauseMs`: the shortest time between two reads, so that changes in between are combined; `pollMs`: without a change,
 * it reads after this time, for what another process stored (only with the heartbeat if equal).
 */
export function createEventStreams(
  deps: { access: Pick<Access, 'renew'>; clock: Clock },
  options: { perToken: number; perTenant: number; total: number; pauseMs: number; pollMs: number },
): OpenStream {
  const { clock } = deps;
  const slots = createSlots({ ...options, what: 'streams are open' });
  // One message to a thousand recipients wakes every stream at once, and is a thousand blocks that name them all.
  let turn: ReturnType<typeof createSharedTurns> | undefined;

  return async (request, after, source) => {
    const given = lastSeen(request, after);
    const leave = slots(request.caller);
    try {
      const from = given ?? (await source.newest());
      const ended = request.ended();
      const taking: Taking = { sinceMs: null };
      const blocks = timed(follow(request, source, from, ended, leave), taking);
      const body = Readable.from(blocks, { objectMode: false });
      return { status: 200, headers: STREAM_HEADERS, body: limited(body.on('close', leave), ended, taking) };
    } catch (cause) {
      leave();
      throw cause;
    }
  };

  /** The same blocks; `taking` says since when one, or what is left at the end, waits to be taken. */
  async function* timed(blocks: AsyncGenerator<string>, taking: Taking): AsyncGenerator<string> {
    for await (const block of blocks) {
      taking.sinceMs = clock.monotonicMs();
      yield block;
      taking.sinceMs = null;
    }
    taking.sinceMs = clock.monotonicMs();
  }

  /** The same stream, which ends if its client takes nothing any more. */
  function limited(body: Readable, ended: AbortSignal, taking: Taking): Readable {
    let timer: Timer;
    const look = (): void => {
      const { sinceMs } = taking;
      if (sinceMs !== null && sinceMs + STALLED_MS <= clock.monotonicMs()) body.destroy();
      else timer = clock.setTimer(STALLED_MS, look);
    };
    const hurry = (): void => {
      timer.cancel();
      timer = clock.setTimer(LAST_MS, () => body.destroy());
    };
    timer = clock.setTimer(STALLED_MS, look);
    ended.addEventListener('abort', hurry);
    return body.on('close', () => {
      timer.cancel();
      ended.removeEventListener('abort', hurry);
    });
  }

  async function* follow(
    request: ApiRequest,
    source: StreamSource,
    from: number,
    ended: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<string> {
    const waiter = createChangeWaiter({ subscribe: source.subscribe, clock, ended });
    try {
      let seen = from;
      let beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
      yield opening(seen);
      while (!ended.aborted) {
        const { items, upTo, more } = await source.after(seen);
        // The token was checked when the stream began, which may be long ago.
        if ((await deps.access.renew(request.caller)) === null) return;
        for (const { seq, block } of items) {
          seen = seq;
          if (block === null) continue;
          turn ??= createSharedTurns(clock);
          await turn();
          yield block();
        }
        seen = Math.max(seen, upTo);
        if (more) continue;
        const leftMs = beatAtMs - clock.monotonicMs();
        if (leftMs <= 0) {
          yield heartbeat(seen);
          beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
        } else if ((await waiter.next(Math.min(leftMs, options.pollMs))) === 'changed') {
          await sleep(clock, options.pauseMs);
        }
      }
    } finally {
      waiter.close();
      leave();
    }
  }
}
