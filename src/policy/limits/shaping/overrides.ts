/**
 * Overrides in memory, written to the store in the background: limits set because of replies or by a person, each with
 * an end. They are loaded at the start; an override is in force from the moment it is noted, even if the store cannot
 * be written.
 */
import type { Clock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { type Logger, maskAddresses } from '../../../lib/log.ts';
import type { Random } from '../../../lib/random.ts';
import { createWriteBehind } from '../../../lib/write-behind.ts';
import type { LimitStore, StoredOverride } from '../../../store/topics/limits.ts';
import type { Override, OverrideNote, OverrideScope, Overrides } from './types.ts';

export interface OverrideBook extends Overrides {
  /** Reads the stored overrides: before use, and again if other processes change them too. */
  load(): Promise<void>;
  /** All in force, newest first. */
  list(): readonly Override[];
  /** Ends one at once. Returns null if none with that id is in force. */
  remove(id: string): Promise<Override | null>;
  /**
   * Called for each that was added or ended before its time. `removed`: somebody ended it, in this process or another.
   */
  onChange(listener: (override: Override, removed: boolean) => void): void;
  /** Stores what is not stored yet. */
  flush(): Promise<boolean>;
}

const MAX_WHY = 512;
const MAX_IN_MEMORY = 20_000;
const SCOPES: readonly string[] = ['path', 'tenant@site', 'domain@provider'] satisfies OverrideScope[];
const NONE: readonly Override[] = [];

interface Deps {
  store: Pick<LimitStore, 'putOverrides' | 'listOverrides' | 'removeOverride'>;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Empty until `load`. */
export function createOverrides({ store, clock, random, log }: Deps): OverrideBook {
  /** By scope and key; each list newest first. */
  const book = new Map<string, readonly Override[]>();
  let count = 0;
  /** The number of keys that have overrides, by scope. */
  const keysWith: Record<OverrideScope, number> = { path: 0, 'tenant@site': 0, 'domain@provider': 0 };
  let changed: (override: Override, removed: boolean) => void = () => {};
  /** Ids that are in the store as far as this process knows. */
  let storedIds = new Set<string>();
  const behind = createWriteBehind<Override>(
    clock,
    async (overrides) => {
      await store.putOverrides({ overrides });
      for (const { id } of overrides) storedIds.add(id);
      if (storedIds.size > 2 * MAX_IN_MEMORY) forgetStoredIds();
    },
    (err) => log.warn({ err }, 'overrides cannot be stored yet; they count all the same'),
  );

  return {
    async load() {
      const stored = [...storedIds];
      const rows = await store.listOverrides({ now: clock.now() });
      for (const row of [...rows].reverse()) {
        const override = readOverride(onTime(row, clock.now()));
        // This process has noted a newer one of the same rule than the stored one.
        if (override === null || isNewerHere(override)) continue;
        enter(override);
        changed(override, false);
      }
      const there = new Set(rows.map(({ id }) => id));
      // If one was stored before this query and is no longer, another process removed it, or it has ended.
      for (const id of stored) {
        if (there.has(id)) continue;
        storedIds.delete(id);
        dropId(id);
      }
      for (const id of there) storedIds.add(id);
    },
    note(noted: OverrideNote) {
      const now = clock.now();
      if (noted.until <= now) return;
      const why = maskAddresses(noted.why).slice(0, MAX_WHY);
      const override: Override = { ...noted, why, id: uuidv7(clock, random), createdAt: now };
      enter(override);
      behind.put(writeKey(override), override);
      changed(override, false);
    },
    of,
    suspended(scope, key) {
      let last: Override | null = null;
      for (const one of of(scope, key))
        if (one.param === 'suspended' && (last === null || one.until > last.until)) last = one;
      return last;
    },
    list() {
      const now = clock.now();
      return [...book.values()]
        .flat()
        .filter(({ until }) => until > now)
        .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    },
    async remove(id) {
      const now = clock.now();
      const found = [...book.values()].flat().find((one) => one.id === id && one.until > now);
      if (found === undefined) return null;
      behind.drop(writeKey(found));
      // If it is being written at this moment, it is removed afterwards.
      await store.removeOverride({ id });
      const place = placeOf(found.scope, found.key);
      const left = (book.get(place) ?? NONE).filter((one) => one.id !== id);
      put(place, left);
      changed(found, true);
      return found;
    },
    any: (scope) => keysWith[scope] > 0,
    onChange(listener) {
      changed = listener;
    },
    flush: () => behind.flush(),
  };

  function of(scope: OverrideScope, key: string): readonly Override[] {
    // Usually there are none, and this is called several times per message.
    if (keysWith[scope] === 0) return NONE;
    const place = placeOf(scope, key);
    const known = book.get(place);
    if (known === undefined) return NONE;
    const now = clock.now();
    if (known.every(({ until, createdAt }) => until > now && createdAt <= now)) return known;
    const inForce = known.map((one) => onTime(one, now)).filter(({ until }) => until > now);
    put(place, inForce);
    return inForce;
  }

  function isNewerHere({ scope, key, param, rule, createdAt }: Override): boolean {
    const known = book.get(placeOf(scope, key)) ?? NONE;
    return known.some((one) => one.param === param && one.rule === rule && one.createdAt >= createdAt);
  }

  /** Ended overrides need no watching. */
  function forgetStoredIds(): void {
    const inForce = [...book.values()].flatMap((list) => list.map(({ id }) => id));
    storedIds = new Set(inForce.filter((id) => storedIds.has(id)));
  }

  function dropId(id: string): void {
    for (const [place, list] of book) {
      const dropped = list.find((one) => one.id === id);
      if (dropped === undefined) continue;
      put(
        place,
        list.filter((one) => one.id !== id),
      );
      changed(dropped, dropped.until > clock.now());
      return;
    }
  }

  /** The newest of a rule replaces its older one. */
  function enter(override: Override): void {
    const place = placeOf(override.scope, override.key);
    const others = (book.get(place) ?? NONE).filter(
      ({ param, rule }) => param !== override.param || rule !== override.rule,
    );
    put(place, [override, ...others]);
    if (count > MAX_IN_MEMORY) forget();
  }

  function put(place: string, list: readonly Override[]): void {
    count += list.length - (book.get(place)?.length ?? 0);
    const before = book.size;
    if (list.length === 0) book.delete(place);
    else book.set(place, list);
    keysWith[place.slice(0, place.indexOf(' ')) as OverrideScope] += book.size - before;
  }

  /** Ended ones are dropped first; if that is not enough, those that end soonest. */
  function forget(): void {
    const now = clock.now();
    for (const [place, list] of book)
      put(
        place,
        list.filter(({ until }) => until > now),
      );
    if (count <= MAX_IN_MEMORY) return;
    const soonest = [...book.values()]
      .flat()
      .sort((a, b) => a.until - b.until)
      .slice(0, Math.ceil(MAX_IN_MEMORY / 10));
    const ids = new Set(soonest.map(({ id }) => id));
    for (const [place, list] of book)
      put(
        place,
        list.filter(({ id }) => !ids.has(id)),
      );
    log.warn(
      { forgotten: ids.size },
      'more overrides than are kept in memory; those that end first are left out',
    );
  }
}

/** One with a time in the future was noted while the clock was wrong; its duration is right. */
function onTime<One extends { createdAt: number; until: number }>(one: One, now: number): One {
  if (one.createdAt <= now) return one;
  return { ...one, createdAt: now, until: now + (one.until - one.createdAt) };
}

function placeOf(scope: OverrideScope, key: string): string {
  return `${scope} ${key}`;
}

function writeKey({ scope, key, param, rule }: Override): string {
  return `${scope} ${key} ${param} ${rule}`;
}

/** null for a row that a newer version wrote, which is ignored here. */
function readOverride(row: StoredOverride): Override | null {
  if (!SCOPES.includes(row.scope)) return null;
  return { ...row, scope: row.scope as OverrideScope, param: row.param as Override['param'] };
}
