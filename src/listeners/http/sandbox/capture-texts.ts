/**
 * Indexes captured messages for the search in the background: a few at a time, newest first, each followed by a pause
 * several times as long, so that a hundred captures a second cost a few per cent of a core, and a backlog (after an
 * update, say) is processed over minutes. Stores their text and whether they have files. A message that cannot be
 * parsed counts as indexed, without text.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureText } from '../../../store/topics/captures.ts';
import type { CapturedReader } from './captured-reader.ts';

const AT_ONCE = 20;
/** After a capture, so that those of one moment are indexed together. */
const SOON_MS = 250;
const LEAST_REST_MS = 20;
const REST_FACTOR = 4;
/** It takes turns with the tenants as if it were one. */
const BACKGROUND = 'captured mail';
/** If the store was unavailable. */
const AGAIN_MS = 5_000;

/** Indexes captured texts in the background. */
export interface CaptureTexts {
  start(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** One that does not run yet. */
export function createCaptureTexts(deps: {
  store: Pick<Store, 'onCaptured' | 'unreadCaptures' | 'readContent' | 'putCaptureTexts'>;
  reader: CapturedReader;
  clock: Clock;
  log: Logger;
}): CaptureTexts {
  const { store, reader, clock, log } = deps;
  let leave: (() => void) | null = null;
  let timer: Timer | null = null;
  let running: Promise<void> | null = null;
  /** Something was captured during a search, maybe too late for it. */
  let missed = false;

  return {
    start() {
      leave = store.onCaptured(() => plan(SOON_MS));
      plan(SOON_MS);
    },
    async stop() {
      leave?.();
      leave = null;
      timer?.cancel();
      timer = null;
      await running;
    },
  };

  function plan(afterMs: number): void {
    if (running !== null) missed = true;
    if (leave === null || timer !== null || running !== null) return;
    timer = clock.setTimer(afterMs, () => {
      timer = null;
      missed = false;
      const began = clock.monotonicMs();
      running = readSome().then(
        (more) => {
          running = null;
          if (more || missed) plan(Math.max(LEAST_REST_MS, REST_FACTOR * (clock.monotonicMs() - began)));
        },
        (cause: unknown) => {
          running = null;
          log.warn({ err: cause }, 'captured mail cannot be read for the search; it is tried again');
          plan(AGAIN_MS);
        },
      );
    });
  }

  /** Whether there may be more. */
  async function readSome(): Promise<boolean> {
    const seqs = await store.unreadCaptures({ limit: AT_ONCE });
    const texts: CaptureText[] = [];
    for (const messageSeq of seqs) {
      if (leave === null) break;
      const content = await store.readContent({ messageSeq });
      texts.push({ messageSeq, ...(content === null ? NOTHING : await read(content)) });
    }
    if (texts.length > 0) await store.putCaptureTexts({ texts });
    return seqs.length > 0;
  }

  async function read(content: Uint8Array): Promise<Omit<CaptureText, 'messageSeq'>> {
    try {
      return await reader.searched(content, BACKGROUND);
    } catch (cause) {
      // The workers are busy: later. Any other error would occur again with the same message and block all others.
      if (cause instanceof AppError && cause.status === 503) throw cause;
      log.warn({ err: cause }, 'a captured message cannot be read for the search; it is left out of it');
      return NOTHING;
    }
  }
}

const NOTHING = { hasFiles: false, text: '' };
