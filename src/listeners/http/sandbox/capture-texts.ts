/**
 * Indexes captured messages for the search in the background: a few at a time, newest first, sender domains in turn. Each
 * text is stored as soon as it is read, with whether the message has files. A pause several times as long as the work
 * follows, so that a hundred captures a second cost a few per cent of a core, and a backlog (after an update, say) is
 * processed over minutes; a domain pauses by itself for what takes long. A message that cannot be parsed, or not within
 * the deadline, counts as indexed, without text.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureText, UnreadCapture } from '../../../store/topics/captures.ts';
import type { CapturedReader } from './captured-reader.ts';

/** Messages read before a pause, and domains asked for. */
const AT_ONCE = 20;
/** After a capture, so that those of one moment are indexed together. */
const SOON_MS = 250;
const LEAST_REST_MS = 20;
const REST_FACTOR = 4;
/** What a message takes longer than this counts for the pause of its domain only; of others, for the pause of all. */
const SHARED_MS = 20;
/** For one message: the others wait for it. One of 17 MB takes 0.7 s. */
const DEADLINE_MS = 2_000;
/** It takes turns with the tenants as if it were one. */
const BACKGROUND = ['captured mail'];
/** If the store was unavailable. */
const AGAIN_MS = 5_000;
/** Before the id of any domain. */
const FIRST = -1;

export interface CaptureTexts {
  start(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

export function createCaptureTexts(deps: {
  store: Pick<Store, 'onCaptured' | 'unreadCaptures' | 'readContent' | 'putCaptureTexts'>;
  reader: CapturedReader;
  clock: Clock;
  log: Logger;
}): CaptureTexts {
  const { store, reader, clock, log } = deps;
  let leave: (() => void) | null = null;
  let timer: { at: number; timer: Timer } | null = null;
  let running: Promise<void> | null = null;
  /** Something was captured during a search, maybe too late for it. */
  let missed = false;
  /** Until when all pause; monotonic, as all times here. */
  let pausedUntil = 0;
  /** Until when a domain pauses. */
  const pauses = new Map<number, number>();
  /** The domain whose turn was the last, of more than are asked for at once. */
  let lastDomain = FIRST;

  return {
    start() {
      leave = store.onCaptured(() => plan(SOON_MS));
      plan(SOON_MS);
    },
    async stop() {
      leave?.();
      leave = null;
      timer?.timer.cancel();
      timer = null;
      await running;
    },
  };

  function plan(afterMs: number): void {
    if (running !== null) missed = true;
    if (leave === null || running !== null) return;
    const now = clock.monotonicMs();
    const at = Math.max(now + afterMs, pausedUntil);
    if (timer !== null && timer.at <= at) return;
    timer?.timer.cancel();
    timer = { at, timer: clock.setTimer(at - now, begin) };
  }

  function begin(): void {
    timer = null;
    missed = false;
    running = readSome().then(
      (againMs) => {
        running = null;
        if (againMs !== null) plan(againMs);
        if (missed) plan(SOON_MS);
      },
      (cause: unknown) => {
        running = null;
        log.warn({ err: cause }, 'captured mail cannot be read for the search; it is tried again');
        pausedUntil = clock.monotonicMs() + AGAIN_MS;
        plan(AGAIN_MS);
      },
    );
  }

  /** After how many milliseconds there may be more; null = there is none. */
  async function readSome(): Promise<number | null> {
    const began = clock.monotonicMs();
    for (const [domain, until] of pauses) if (until <= began) pauses.delete(domain);
    const from = lastDomain;
    const unread = await store.unreadCaptures({ afterDomain: from, limit: AT_ONCE });
    const domains = new Set(unread.map(({ domainId }) => domainId));
    lastDomain = domains.size < AT_ONCE ? FIRST : (unread.at(-1)?.domainId ?? FIRST);
    let ofDomains = 0;
    const stored: Promise<void>[] = [];
    for (const { domainId, messageSeq } of inTurn(unread.filter((one) => !pauses.has(one.domainId)))) {
      if (leave === null) break;
      if (pauses.has(domainId)) continue;
      const begun = clock.monotonicMs();
      const content = await store.readContent({ messageSeq });
      const text = { messageSeq, ...(content === null ? NOTHING : await read(content)) };
      // Waited for below: the store commits several together.
      const storing = store.putCaptureTexts({ texts: [text] });
      storing.catch(() => undefined);
      stored.push(storing);
      const longer = clock.monotonicMs() - begun - SHARED_MS;
      if (longer <= 0) continue;
      ofDomains += longer;
      pauses.set(domainId, clock.monotonicMs() + REST_FACTOR * longer);
    }
    await Promise.all(stored);
    const now = clock.monotonicMs();
    pausedUntil = now + Math.max(LEAST_REST_MS, REST_FACTOR * (now - began - ofDomains));
    if (unread.length === 0) return from === FIRST ? null : 0;
    const waits = [...domains].map((domain) => Math.max(0, (pauses.get(domain) ?? 0) - now));
    return lastDomain === FIRST && from === FIRST ? Math.min(...waits) : 0;
  }

  async function read(content: Uint8Array): Promise<Omit<CaptureText, 'messageSeq'>> {
    try {
      return await reader.searched(content, BACKGROUND, { deadlineMs: DEADLINE_MS });
    } catch (cause) {
      // The workers are busy: later. Any other error would occur again with the same message and block all others.
      if (cause instanceof AppError && cause.status === 503) throw cause;
      log.warn({ err: cause }, 'a captured message cannot be read for the search; it is left out of it');
      return NOTHING;
    }
  }
}

/** The first of each domain, then the second of each, and so on: as many as are read before a pause. */
function inTurn(unread: readonly UnreadCapture[]): UnreadCapture[] {
  const turns = new Map<number, number>();
  const turnOf = ({ domainId }: UnreadCapture): number => {
    const turn = turns.get(domainId) ?? 0;
    turns.set(domainId, turn + 1);
    return turn;
  };
  const placed = unread.map((one) => ({ one, turn: turnOf(one) }));
  return placed
    .sort((a, b) => a.turn - b.turn)
    .slice(0, AT_ONCE)
    .map(({ one }) => one);
}

const NOTHING = { hasFiles: false, text: '' };
