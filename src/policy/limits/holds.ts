/**
 * Holds: an operator (or a guard-rail) stops mail by sender domain, recipient domain, site or lane, with a reason. Held
 * mail waits and is not lost; it still expires at its time, and every lane can be held. All conditions of a hold are
 * the same for a whole queue, so no rows are rewritten: the queue asks before it claims, and views show the reason.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { Lane } from '../../model/message.ts';
import { heldReason } from '../../model/wait-reason.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { LimitStore, StoredHold } from '../../store/topics/limits.ts';

export type Hold = StoredHold;

/** The conditions of a hold; null does not restrict. */
export type HoldMatch = Pick<Hold, 'senderDomain' | 'recipientDomain' | 'site' | 'lane'>;

/** Mail that may be held. `sites`: every name of its site; absent = not known yet. */
export interface HoldQuestion {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  sites?: readonly string[];
}

export interface Holds {
  /** Reads the stored holds; once, before use. */
  load(): Promise<void>;
  /** The oldest hold that applies to this mail, or null. From memory. */
  heldBy(question: HoldQuestion): Hold | null;
  /** Whether there are any holds, in force or ended recently. */
  any(): boolean;
  /** All in force, oldest first. */
  list(): readonly Hold[];
  /**
   * Stored before it resolves, with the key that `keyFor` returns. Throws KeyTaken, and StoreUnavailable if the `epoch` in
   * which this node decided it has ended.
   */
  add(
    hold: HoldMatch & Pick<Hold, 'reason' | 'until' | 'createdBy'>,
    options?: { keyFor?: (hold: Hold) => IdempotencyEntry; epoch?: number },
  ): Promise<Hold>;
  /** Ends holds; returns how many were in force. */
  release(ids: readonly string[], epoch?: number): Promise<number>;
  /** Called when a hold was added, released or ended: waiting mail must be checked again. */
  onChange(listener: () => void): void;
}

/** `held: …`, the reason shown for waiting mail. */
export function holdReason(hold: Hold): string {
  return heldReason(hold.reason);
}

/** Every name of a queue's site: as it is, without its kind, and each relay of a list. */
export function siteNames(site: string): readonly string[] {
  // `source>site` is the name of a path.
  const parts = site
    .replace(/^[^>|]*>/, '')
    .split(/\||(?=mx:)/)
    .filter((part) => part !== '');
  return [...new Set([site, ...parts, ...parts.map((part) => part.replace(/^(?:relay|mx):/, ''))])];
}

/** Knows no holds before `load`. */
export function createHolds(deps: {
  store: Pick<LimitStore, 'addHold' | 'listHolds' | 'releaseHolds'>;
  clock: Clock;
  random: Random;
}): Holds {
  const { store, clock, random } = deps;
  let holds: readonly Hold[] = [];
  let changed: () => void = () => {};
  let timer: Timer | null = null;

  return {
    async load() {
      const before = holds;
      const stored = await store.listHolds({ now: clock.now() });
      // A hold that was added or released here meanwhile is in the store at the next time.
      if (holds !== before) return;
      holds = stored;
      watchEnds();
      const known = new Set(before.map(({ id }) => id));
      if (stored.length !== before.length || stored.some(({ id }) => !known.has(id))) changed();
    },
    heldBy(question) {
      if (holds.length === 0) return null;
      const now = clock.now();
      return holds.find((hold) => (hold.until === null || hold.until > now) && isFor(hold, question)) ?? null;
    },
    any: () => holds.length > 0,
    list: () => holds.filter(({ until }) => until === null || until > clock.now()),
    async add(wanted, { keyFor, epoch } = {}) {
      const hold: Hold = { ...wanted, id: uuidv7(clock, random), createdAt: clock.now() };
      const isStored = await store.addHold({ hold, epoch, idempotency: keyFor?.(hold) });
      if (!isStored) throw new StoreUnavailable('Another node looks after holds now');
      holds = [...holds.filter(({ id }) => id !== hold.id), hold];
      watchEnds();
      changed();
      return hold;
    },
    async release(ids, epoch) {
      const count = await store.releaseHolds({ ids, now: clock.now(), epoch });
      holds = holds.filter(({ id }) => !ids.includes(id));
      watchEnds();
      if (count > 0) changed();
      return count;
    },
    onChange(listener) {
      changed = listener;
    },
  };

  /** Announces the end of the next hold that ends by itself. */
  function watchEnds(): void {
    timer?.cancel();
    timer = null;
    const ends = holds.flatMap(({ until }) => (until === null ? [] : [until]));
    if (ends.length === 0) return;
    timer = clock.setTimer(Math.min(...ends) - clock.now(), () => {
      const now = clock.now();
      const ended = holds.filter(({ until }) => until !== null && until <= now);
      holds = holds.filter((hold) => !ended.includes(hold));
      watchEnds();
      // The store decides by the time whether a hold has ended.
      if (ended.length > 0) changed();
    });
  }
}

/** Whether a hold applies to this mail, at any time. */
export function isFor(
  hold: HoldMatch,
  { senderDomain, recipientDomain, lane, sites }: HoldQuestion,
): boolean {
  return (
    (hold.senderDomain === null || hold.senderDomain === senderDomain) &&
    (hold.recipientDomain === null || hold.recipientDomain === recipientDomain) &&
    (hold.lane === null || hold.lane === lane) &&
    (hold.site === null || (sites?.includes(hold.site) ?? false))
  );
}
