/**
 * Reads captured messages for the search, behind the captures and never in their way: a few at a time, newest first, and
 * then a rest of several times as long as that took, so that a hundred captures a second cost a few per cent of a core and
 * a backlog (after an update, say) is worked off over minutes. Given messages that the store calls unread; leaves their text
 * and whether files came with them. What cannot be read counts as read, with nothing in it.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureText } from '../../../store/topics/captures.ts';
import type { CapturedReader } from './captured-reader.ts';

const AT_ONCE = 20;
/** After a capture, so that those of one moment are read together. */
const SOON_MS = 250;
const LEAST_REST_MS = 20;
const REST_FACTOR = 4;
/** It takes its turn with the tenants, as one of them. */
const BACKGROUND = 'captured mail';
/** Where the store could not be asked. */
const AGAIN_MS = 5_000;

/** Reads the texts of what is captured, in the background. */
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
  /** Something was captured while a look ran, perhaps too late for it. */
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
      // The workers are busy: later. Anything else would come back with the same message for ever, in front of all others.
      if (cause instanceof AppError && cause.status === 503) throw cause;
      log.warn({ err: cause }, 'a captured message cannot be read for the search; it is left out of it');
      return NOTHING;
    }
  }
}

const NOTHING = { hasFiles: false, text: '' };
