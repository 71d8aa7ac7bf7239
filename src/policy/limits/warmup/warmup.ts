/**
 * Warm-up of new sources: asked before each message of a source that was declared new; answers yes, or until when to
 * wait. Kept per source and provider of the shaping data. Small sites have no budget here: they judge by behaviour
 * rather than volume, and their shaping row limits them. A source that was not declared new is always allowed.
 *
 * A restart must not give out a day's budget twice, and a synced write per message would be expensive, so budget is
 * *reserved* in small portions, which are stored before they are used. After a crash, the unused part of a portion
 * counts as used.
 *
 *   ask ──► portion left? ──► yes: send
 *             └ no ──► budget and rate allow it? ──► portion is being written; wait for `onReady`
 *                          └ no ──► wait until …, with the reason
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import type { NodeLease } from '../../../model/node.ts';
import type { Store } from '../../../store/store.ts';
import {
  count,
  fallBack,
  mayGo,
  newWarmup,
  rollTo,
  uncount,
  usedInWindow,
  type WarmupState,
} from './budget.ts';
import { budgetOf } from './steps.ts';

export interface Warmup {
  /** Reads the stored state. To be called first. */
  start(): Promise<void>;
  /**
   * Reads again the stored state of what other processes use, or have used until now. Reservations of this process are
   * dropped. Resolves to whether mail has to wait somewhere, or no longer, that did not before.
   */
  reread(isOfOthers: (source: string, provider: string) => boolean): Promise<boolean>;
  /** Stores what is not stored yet; unused reservations are given back. */
  stop(): Promise<void>;
  /** Whether the source was declared new. */
  warms(source: string): boolean;
  /** Whether a message would have to wait now. Changes nothing. */
  isFull(source: string, provider: string, lane: Lane): boolean;
  /** Asks to send one message now. `wait` with `until` null: `onReady` tells when to ask again. */
  take(source: string, provider: string, lane: Lane): WarmupTake;
  /** A message that was allowed did not reach the provider. */
  giveBack(source: string, provider: string): void;
  /** The provider's answer to one that did. `blocked`: refused because of the source's reputation. */
  outcome(source: string, provider: string, kind: 'accepted' | 'deferred' | 'blocked'): void;
  /**
   * Calls the listener when a wait with `until` null may end for this source and provider. Several paths can wait:
   * `who` names one of them, and replaces its earlier listener. Returns the function that ends this.
   */
  onReady(source: string, provider: string, who: string, listener: () => void): () => void;
  /** Every source and provider that is or was warmed up. */
  list(): readonly WarmupView[];
}

export type WarmupTake = { kind: 'go' } | { kind: 'wait'; until: number | null; reason: string };

export interface WarmupView {
  source: string;
  provider: string;
  level: number;
  /** null = warm. */
  budget: number | null;
  /** Within the last 24 hours. */
  used: number;
  /** Counted over the day (UTC). */
  deferredToday: number;
  blockedToday: number;
  lastUsedAt: number | null;
}

interface Entry {
  source: string;
  provider: string;
  /** What was really sent. */
  state: WarmupState;
  /** How many more may be sent according to the stored state. */
  reserved: number;
  writing: Promise<void> | null;
  dirty: boolean;
}

const PORTIONS_A_DAY = 100;
const LARGEST_PORTION = 64;
/** Deferrals and other counters may be stored this late: they only reduce the rate. */
const SAVE_AFTER_MS = 1_000;
const RETRY_MS = 250;

/**
 * `sources`: ids of those that are declared new. `weight`: in a simulation of a sample, the messages that each stands for.
 */
export function createWarmup(
  {
    store,
    node,
    clock,
    log,
  }: { store: Pick<Store, 'listWarmups' | 'saveWarmup'>; node: NodeLease; clock: Clock; log: Logger },
  options: { sources: readonly string[]; weight?: number },
): Warmup {
  const { weight = 1 } = options;
  const warming = new Set(options.sources);
  const entries = new Map<string, Entry>();
  const listeners = new Map<string, Map<string, () => void>>();
  let saveTimer: Timer | null = null;

  return {
    async start() {
      for (const row of await store.listWarmups()) enter(row);
    },

    async reread(isOfOthers) {
      if (warming.size === 0) return false;
      let changed = false;
      for (const { source, provider, writing } of entries.values())
        if (writing !== null && isOfOthers(source, provider)) await writing;
      for (const row of await store.listWarmups()) {
        const { source, provider } = row;
        if (!warming.has(source) || !isOfOthers(source, provider)) continue;
        const before = LANES.map((lane) => isFull(source, provider, lane));
        enter(row);
        changed ||= LANES.some((lane, i) => isFull(source, provider, lane) !== before[i]);
      }
      return changed;
    },

    async stop() {
      saveTimer?.cancel();
      for (const entry of entries.values()) {
        await entry.writing;
        if (!entry.dirty && entry.reserved === 0) continue;
        // What is not given back counts as used, as after a crash.
        await write(entry, 0).catch((cause: unknown) =>
          log.warn({ err: cause, source: entry.source }, 'an unused warm-up portion could not be given back'),
        );
      }
    },

    warms: (source) => warming.has(source),

    isFull,

    take(source, provider, lane) {
      if (!warming.has(source)) return { kind: 'go' };
      const now = clock.now();
      const entry = entryOf(source, provider, now);
      rollTo(entry.state, now);
      const answer = mayGo(entry.state, lane, now);
      if (answer.kind === 'wait') {
        return { kind: 'wait', until: answer.until, reason: reasonOf(entry, answer.why, now) };
      }
      if (budgetOf(entry.state.level) === null) {
        count(entry.state, weight, now);
        entry.dirty = true;
        saveSoon();
        return { kind: 'go' };
      }
      if (entry.reserved === 0) {
        reserve(entry);
        return {
          kind: 'wait',
          until: null,
          reason: `warm-up of ${source} at ${provider}: being recorded`,
        };
      }
      entry.reserved -= 1;
      count(entry.state, weight, now);
      return { kind: 'go' };
    },

    giveBack(source, provider) {
      const entry = entries.get(key(source, provider));
      if (entry === undefined || !warming.has(source)) return;
      uncount(entry.state, weight);
      entry.reserved += 1;
    },

    outcome(source, provider, kind) {
      const entry = entries.get(key(source, provider));
      if (entry === undefined || !warming.has(source) || kind === 'accepted') return;
      if (kind === 'deferred') entry.state.deferred += weight;
      else if (fallBack(entry.state)) {
        log.warn(
          { source, provider, budget: budgetOf(entry.state.level) },
          'the provider named the reputation of a new source; its warm-up goes two steps back',
        );
      }
      entry.dirty = true;
      saveSoon();
    },

    onReady(source, provider, who, listener) {
      const there = listeners.get(key(source, provider)) ?? new Map<string, () => void>();
      listeners.set(key(source, provider), there.set(who, listener));
      return () => {
        if (there.get(who) === listener) there.delete(who);
        if (there.size === 0 && listeners.get(key(source, provider)) === there)
          listeners.delete(key(source, provider));
      };
    },

    list() {
      const now = clock.now();
      return [...entries.values()].map(({ source, provider, state }) => ({
        source,
        provider,
        level: state.level,
        budget: budgetOf(state.level),
        used: usedInWindow(state, now),
        deferredToday: state.deferred,
        blockedToday: state.blocked,
        lastUsedAt: state.lastUsedAt === 0 ? null : state.lastUsedAt,
      }));
    },
  };

  function isFull(source: string, provider: string, lane: Lane): boolean {
    if (!warming.has(source)) return false;
    const now = clock.now();
    const entry = entryOf(source, provider, now);
    rollTo(entry.state, now);
    return mayGo(entry.state, lane, now).kind === 'wait';
  }

  function enter({ source, provider, state }: Pick<Entry, 'source' | 'provider' | 'state'>): Entry {
    const entry: Entry = { source, provider, state, reserved: 0, writing: null, dirty: false };
    entries.set(key(source, provider), entry);
    return entry;
  }

  function entryOf(source: string, provider: string, now: number): Entry {
    return entries.get(key(source, provider)) ?? enter({ source, provider, state: newWarmup(now) });
  }

  /** A portion may be used once it is stored. */
  function reserve(entry: Entry): void {
    if (entry.writing !== null) return;
    const budget = budgetOf(entry.state.level) ?? LARGEST_PORTION;
    const portion = Math.min(LARGEST_PORTION, Math.max(1, Math.floor(budget / PORTIONS_A_DAY / weight)));
    const done = (): void => {
      entry.writing = null;
      for (const tell of listeners.get(key(entry.source, entry.provider))?.values() ?? []) tell();
    };
    entry.writing = write(entry, portion).then(done, (cause: unknown) => {
      log.warn({ err: cause, source: entry.source }, 'a warm-up portion could not be written down');
      entry.dirty = true;
      clock.setTimer(RETRY_MS, done);
    });
  }

  /** Stores the state as if `portion` more had been sent already. */
  async function write(entry: Entry, portion: number): Promise<void> {
    const stored: WarmupState = { ...entry.state, quarters: [...entry.state.quarters] };
    entry.dirty = false;
    // The rest of the last portion is not in `stored`, so it must not be used from now on.
    entry.reserved = 0;
    if (portion > 0) count(stored, portion * weight, clock.now());
    const { source, provider } = entry;
    if (!(await store.saveWarmup({ source, provider, state: stored, epoch: node.epoch }))) {
      throw new Error('this process was considered dead; it continues under a new epoch');
    }
    entry.reserved += portion;
  }

  function saveSoon(): void {
    saveTimer ??= clock.setTimer(SAVE_AFTER_MS, () => {
      saveTimer = null;
      for (const entry of entries.values()) if (entry.dirty) reserve(entry);
    });
  }

  function reasonOf({ source, provider, state }: Entry, why: 'budget' | 'pace', now: number): string {
    const budget = budgetOf(state.level);
    return why === 'budget'
      ? `warm-up of ${source}: ${usedInWindow(state, now)} of ${budget} a day to ${provider} are used`
      : `warm-up of ${source}: ${budget} a day to ${provider}, spread over the day`;
  }
}

function key(source: string, provider: string): string {
  return `${source}\0${provider}`;
}
