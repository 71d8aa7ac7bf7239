/**
 * Collects opens, clicks and unsubscribes and stores them as events. Opens and clicks are held for two seconds, because
 * a scanner that follows every link is recognised only by the next one, and are then stored together, which needs few
 * syncs. Unsubscribes are stored at once, and answered only then.
 *
 * Takes facts with a verified token. Limited: facts in memory, facts about one copy, concurrent unsubscribes. While the
 * store cannot write, facts wait up to the limit; what does not fit is dropped, counted and logged. A crash loses the
 * last two seconds of opens and clicks, never an unsubscribe that was answered.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import { atMost, type Clock, type Timer } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createKeptWrites } from '../../lib/kept-writes.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Service } from '../../lib/service.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { EventDetail } from '../../store/topics/events.ts';
import type { ReaderFact } from '../../store/topics/readers.ts';
import { machineReason } from './machine-marks.ts';
import type { ReaderMetrics } from './reader-metrics.ts';

/** Who fetched a link, as far as the request says. */
export interface Visitor {
  ip: string;
  userAgent: string;
}

export interface ReaderFacts extends Service {
  opened(deliveryId: number, visitor: Visitor): void;
  clicked(deliveryId: number, link: number, url: string, visitor: Visitor): void;
  /** The unsubscribe page was only opened: not a fact, but scanners do that too. */
  looked(deliveryId: number): void;
  /**
   * Stored before it resolves. `unknown`: the delivery is no longer stored. Throws AppError `unavailable` if it could
   * not be stored.
   */
  unsubscribe(deliveryId: number, visitor: Visitor, rule: string): Promise<'done' | 'unknown'>;
}

interface Deps {
  store: Pick<Store, 'appendReaderFacts' | 'unsubscribe'>;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: ReaderMetrics;
  eventsStored(): void;
}

/** A reader does not follow this many different links of one copy within `BURST_MS`. */
const BURST_LINKS = 3;
const BURST_MS = 2_000;
const FLUSH_EVERY_MS = 250;
const RETRY_MS = 1_000;
const MAX_PENDING = 10_000;
const MAX_PER_CALL = 256;
/** Facts about one copy per hour: enough for a forwarded newsletter, but not for a flood. */
const MAX_PER_COPY = 100;
const COPY_WINDOW_MS = 3_600_000;
const MAX_COPIES = 100_000;
const MAX_UNSUBSCRIBING = 64;
/** A click sooner after the delivery comes from a scanner on the way. */
const QUICK_MS = 1_000;
const MAX_AGENT_CHARS = 512;
const BURST_REASON = 'many links were followed at once';

interface Held {
  fact: ReaderFact & { detail: EventDetail };
  dueMs: number;
}

interface Visit {
  /** Links and when each was last followed. */
  links: Map<string, number>;
  held: Held[];
  burstUntilMs: number;
  lastMs: number;
}

/** A stop loses nothing: collected facts are stored first. */
export function createReaderFacts(deps: Deps): ReaderFacts {
  const { store, clock, random, log, metrics } = deps;
  const held: Held[] = [];
  const visits = new BoundedMap<number, Visit>(MAX_PENDING);
  const copies = new BoundedMap<number, number>(MAX_COPIES);
  let copiesSinceMs = clock.monotonicMs();
  const unsubscribing = new Map<number, Promise<'done' | 'unknown'>>();
  let timer: Timer | null = null;
  let dropping = false;
  const writes = createKeptWrites<Held['fact'], undefined>({
    clock,
    retryMs: RETRY_MS,
    maxBatch: MAX_PER_CALL,
    async write(facts) {
      await store.appendReaderFacts({ facts, quickMs: QUICK_MS });
      return undefined;
    },
    isAway: (cause) => cause instanceof StoreUnavailable,
    written: ({ kind, detail }) => metrics.noted(kind, detail.bot === true),
    wrote: deps.eventsStored,
    refused(_, err) {
      log.error({ err }, 'an open or a click could not be stored');
      metrics.dropped(1);
    },
    away: (err) => log.warn({ err }, 'opens and clicks wait for the store'),
  });

  return {
    async start() {},
    async stop(deadlineMs) {
      timer?.cancel();
      timer = null;
      passOn(Number.MAX_VALUE);
      await atMost(clock, deadlineMs, Promise.allSettled([writes.drained(), ...unsubscribing.values()]));
      writes.stop();
    },
    opened: (deliveryId, visitor) => note('opened', deliveryId, null, visitor),
    clicked: (deliveryId, link, url, visitor) =>
      note('clicked', deliveryId, { link: `c${link}`, url }, visitor),
    looked: (deliveryId) => void follow(deliveryId, 'u'),
    unsubscribe,
  };

  function note(
    kind: 'opened' | 'clicked',
    deliveryId: number,
    followed: { link: string; url: string } | null,
    { ip, userAgent }: Visitor,
  ): void {
    if (held.length + writes.size >= MAX_PENDING || !mayTell(deliveryId)) {
      drop(1);
      return;
    }
    const visit = follow(deliveryId, followed?.link ?? null);
    const reason =
      machineReason(userAgent) ?? (visit.burstUntilMs > clock.monotonicMs() ? BURST_REASON : null);
    const one: Held = {
      dueMs: clock.monotonicMs() + BURST_MS,
      fact: {
        id: uuidv7(clock, random),
        kind,
        at: clock.now(),
        deliveryId,
        detail: {
          ipAddress: ip,
          userAgent: userAgent.slice(0, MAX_AGENT_CHARS).toWellFormed(),
          ...(followed === null ? {} : { url: followed.url }),
          bot: reason !== null,
          ...(reason === null ? {} : { reason }),
        },
      },
    };
    held.push(one);
    visit.held.push(one);
    schedule(BURST_MS);
  }

  /** Records that a link was followed; if there were too many, a program followed all those of the last seconds. */
  function follow(deliveryId: number, link: string | null): Visit {
    const nowMs = clock.monotonicMs();
    let visit = visits.get(deliveryId);
    if (visit === undefined) {
      visit = { links: new Map(), held: [], burstUntilMs: 0, lastMs: nowMs };
      visits.set(deliveryId, visit);
      schedule(BURST_MS);
    }
    visit.lastMs = nowMs;
    if (link === null) return visit;
    visit.links.set(link, nowMs);
    for (const [each, atMs] of visit.links) if (nowMs - atMs >= BURST_MS) visit.links.delete(each);
    if (visit.links.size < BURST_LINKS) return visit;
    visit.burstUntilMs = nowMs + BURST_MS;
    for (const { fact } of visit.held) {
      if (fact.kind !== 'clicked' || fact.detail.bot === true) continue;
      fact.detail = { ...fact.detail, bot: true, reason: BURST_REASON };
    }
    return visit;
  }

  function mayTell(deliveryId: number): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - copiesSinceMs >= COPY_WINDOW_MS) {
      copies.clear();
      copiesSinceMs = nowMs;
    }
    const count = (copies.get(deliveryId) ?? 0) + 1;
    copies.set(deliveryId, count);
    return count <= MAX_PER_COPY;
  }

  function drop(count: number): void {
    metrics.dropped(count);
    if (dropping) return;
    dropping = true;
    log.warn(
      { held: held.length + writes.size },
      'opens and clicks are dropped: more arrive than can be stored',
    );
    clock.setTimer(60_000, () => {
      dropping = false;
    });
  }

  function schedule(delayMs: number): void {
    timer ??= clock.setTimer(delayMs, () => {
      timer = null;
      passOn(clock.monotonicMs());
    });
  }

  /** Stores what is due by then. */
  function passOn(nowMs: number): void {
    for (const [deliveryId, visit] of visits) {
      visit.held = visit.held.filter(({ dueMs }) => dueMs > nowMs);
      if (visit.held.length === 0 && nowMs - visit.lastMs >= BURST_MS) visits.delete(deliveryId);
    }
    const later = held.findIndex(({ dueMs }) => dueMs > nowMs);
    const due = held.splice(0, later === -1 ? held.length : later);
    for (const { fact } of due) void writes.put(fact);
    if (nowMs < Number.MAX_VALUE && (held.length > 0 || visits.size > 0)) schedule(FLUSH_EVERY_MS);
  }

  function unsubscribe(deliveryId: number, visitor: Visitor, rule: string): Promise<'done' | 'unknown'> {
    const running = unsubscribing.get(deliveryId);
    if (running !== undefined) return running;
    if (unsubscribing.size >= MAX_UNSUBSCRIBING) {
      return Promise.reject(new AppError('unavailable', { retryAfterSeconds: 5 }));
    }
    const now = clock.now();
    const { ip, userAgent } = visitor;
    const detail = {
      ipAddress: ip,
      userAgent: userAgent.slice(0, MAX_AGENT_CHARS).toWellFormed(),
      reason: rule,
    };
    const done = store
      .unsubscribe({
        deliveryId,
        event: { id: uuidv7(clock, random), kind: 'unsubscribed', at: now, detail },
        rule,
        now,
      })
      .then(
        (result) => {
          if (result.kind === 'unknown') return 'unknown' as const;
          if (result.kind === 'unsubscribed') {
            metrics.noted('unsubscribed', false);
            deps.eventsStored();
          }
          return 'done' as const;
        },
        (cause: unknown) => {
          if (cause instanceof StoreUnavailable) {
            throw new AppError('unavailable', { retryAfterSeconds: 5, cause });
          }
          throw cause;
        },
      )
      .finally(() => unsubscribing.delete(deliveryId));
    unsubscribing.set(deliveryId, done);
    return done;
  }
}
