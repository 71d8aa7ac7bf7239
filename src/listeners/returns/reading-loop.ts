/**
 * Reads the spool of returned mail, one by one, oldest first. Mail to addresses for reports is read beside the rest, in turns of
 * its senders: to check its signature, DNS servers that its sender has chosen are asked, which may take long. A message that cannot be read is moved away with the
 * reason, and the next one is read. A report whose delivery is being made at this moment is tried again after
 * increasing pauses, and other reports about that delivery wait behind it: a far end that keeps a transaction open
 * costs one try per minute. While the store is unavailable everything waits.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { Disposition, ReturnedMailReader } from '../../pipeline/events/returned-mail.ts';
import type { ReturnMetrics } from '../../pipeline/events/returns-metrics.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { OperatorMail } from './operator-mail.ts';
import type { Spool, SpooledMail } from './spool.ts';

export interface ReadingLoop {
  /** There may be something to read. */
  wake(): void;
  /** Resolves when everything that was due was processed. */
  idle(): Promise<void>;
  /** Finishes the current message. */
  stop(): Promise<void>;
}

interface Deps {
  reader: ReturnedMailReader;
  operatorMail: OperatorMail;
  spool: Spool;
  clock: Clock;
  log: Logger;
  metrics: ReturnMetrics;
}

/** The pause before an unavailable store is tried again; also the first pause of a report whose delivery is running. */
const RETRY_MS = 2_000;
const MAX_PAUSE_MS = 60_000;
const LEAST_PAUSE_MS = 10;

interface Pause {
  untilMs: number;
  lengthMs: number;
}

/** Reads nothing before the first `wake`. */
export function createReadingLoop({ reader, operatorMail, spool, clock, log, metrics }: Deps): ReadingLoop {
  const later = createRetryTimer(clock, () => wake());
  const lanes = [readingOf(false, readWaiting), readingOf(true, readReports)];
  /** Of each sender whose reports wait, when one was read last, or when the first one came. */
  let turns = new Map<string, number>();
  let stopped = false;
  /** Messages that could not even be moved away: they stay, and are tried again at the next start. */
  const stuck = new Set<string>();
  /** Reports that wait for their delivery. */
  const pauses = new Map<string, Pause>();

  return {
    wake,
    idle,
    async stop() {
      stopped = true;
      later.cancel();
      await idle();
    },
  };

  function wake(): void {
    if (!stopped) for (const lane of lanes) lane.ask();
  }

  async function idle(): Promise<void> {
    await Promise.all(lanes.map((lane) => lane.ended()));
  }

  /** `read`: false if the store went away, and the timer is set already. */
  function readingOf(ofReports: boolean, read: () => Promise<boolean>) {
    return createReruns(async () => {
      await Promise.resolve();
      if (stopped) return;
      if (await read()) armForPauses(ofReports);
      metrics.waiting(spool.waiting().length);
    });
  }

  /** Reads what waits and is due, in order. */
  async function readWaiting(): Promise<boolean> {
    for (const id of spool.waiting(false)) {
      if (stopped) break;
      if (!isDue(id)) continue;
      if ((await readOne(id)) === 'store-away') return false;
    }
    return true;
  }

  async function readReports(): Promise<boolean> {
    for (let id = nextReport(); id !== null && !stopped; id = nextReport())
      if ((await readOne(id)) === 'store-away') return false;
    return true;
  }

  /** The oldest one that is due, of the sender whose last turn, or whose arrival, was longest ago. */
  function nextReport(): string | null {
    const last = Math.max(0, ...turns.values());
    const waiting = new Map<string, number>();
    let next: { id: string; sender: string; turn: number } | null = null;
    for (const id of spool.waiting(true)) {
      const sender = spool.reporter(id);
      if (sender === null) continue;
      const turn = turns.get(sender) ?? last;
      waiting.set(sender, turn);
      if ((next === null || turn < next.turn) && isDue(id)) next = { id, sender, turn };
    }
    turns = waiting;
    if (next === null) return null;
    turns.set(next.sender, last + 1);
    return next.id;
  }

  /** A pause may have ended while another message was read, after it was looked at. */
  function armForPauses(ofReports: boolean): void {
    let next = Number.POSITIVE_INFINITY;
    for (const [id, { untilMs }] of pauses) {
      if ((spool.reporter(id) !== null) === ofReports && !spool.isBehind(id)) next = Math.min(next, untilMs);
    }
    if (next < Number.POSITIVE_INFINITY) later.arm(Math.max(LEAST_PAUSE_MS, next - clock.monotonicMs()));
  }

  function isDue(id: string): boolean {
    if (stuck.has(id) || spool.isBehind(id)) return false;
    return (pauses.get(id)?.untilMs ?? 0) <= clock.monotonicMs();
  }

  async function readOne(id: string): Promise<'read' | 'store-away'> {
    try {
      const mail = await spool.read(id);
      if (mail === null) await quarantine(id, 'the file is damaged: its first line is no envelope');
      else await settle(id, mail, await reader.take({ ...mail, envelopeFrom: mail.from }));
      return 'read';
    } catch (err) {
      if (isAway(err)) {
        later.arm(RETRY_MS);
        return 'store-away';
      }
      log.error({ err, id }, 'returned mail could not be read and is put aside');
      await quarantine(
        id,
        `reading it failed: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`,
      );
      return 'read';
    }
  }

  async function settle(id: string, mail: SpooledMail, disposition: Disposition): Promise<void> {
    if (disposition.kind === 'later') {
      pause(id, disposition);
      return;
    }
    // Those behind it may be read now.
    if (pauses.delete(id)) wake();
    if (disposition.kind === 'done') return spool.remove(id);
    const { folder, why } = disposition;
    const stays = folder === 'operator' ? await operatorMail.passOn(id, mail) : null;
    if (folder === 'operator' && stays === null) {
      log.info({ id, why }, 'returned mail was passed on to the operator');
      return spool.remove(id);
    }
    const reason = stays === null ? why : `${why}; ${stays}`;
    await spool.keep(id, folder, reason);
    log.warn({ id, folder, why: reason }, 'returned mail waits for the operator');
  }

  function pause(id: string, { about }: Extract<Disposition, { kind: 'later' }>): void {
    const lengthMs = Math.min(MAX_PAUSE_MS, 2 * (pauses.get(id)?.lengthMs ?? RETRY_MS / 2));
    pauses.set(id, { lengthMs, untilMs: clock.monotonicMs() + lengthMs });
    spool.postpone(id, about);
  }

  async function quarantine(id: string, why: string): Promise<void> {
    metrics.quarantined();
    if (pauses.delete(id)) wake();
    await spool.keep(id, 'quarantine', why).catch((err: unknown) => {
      stuck.add(id);
      spool.postpone(id, []);
      log.error({ err, id }, 'returned mail could not be put aside and stays in the spool');
    });
  }
}

/** The store, or acceptance, is unavailable now. */
function isAway(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable || (error instanceof AppError && error.retryAfterSeconds !== undefined)
  );
}

/** `arm` never moves an earlier time to a later one. */
function createRetryTimer(clock: Clock, fire: () => void): { arm(ms: number): void; cancel(): void } {
  let timer: Timer | null = null;
  let atMs = 0;
  return {
    arm(ms) {
      const wantedMs = clock.monotonicMs() + ms;
      if (timer !== null && atMs <= wantedMs) return;
      timer?.cancel();
      atMs = wantedMs;
      timer = clock.setTimer(ms, () => {
        timer = null;
        fire();
      });
    },
    cancel() {
      timer?.cancel();
      timer = null;
    },
  };
}
