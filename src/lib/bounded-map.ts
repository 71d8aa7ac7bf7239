/**
 * A map for what is remembered of others, who choose the keys: it never holds more than `max`. Where a further key does not
 * fit, the one that was set the longest ago goes. `set` makes a key the newest, `get` does not: what has to be kept by use
 * (a limit, a count of failures) is set again at each use, and what can be had again (a cache) is set once, which costs
 * less. Nothing is emptied as a whole, so whoever fills it takes the oldest keys from others, never all at one moment.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  private readonly max: number;
  /**
   * Goes through the keys once, oldest first: whatever it has passed is deleted. A new one each time would pass over all
   * places that were left empty since the map was last made tidy, which took 28 µs at 10,000 keys. null: none is needed. One
   * that stands still keeps every table that the map has had since (in V8; 55 octets for each `set`).
   */
  private oldestFirst: MapIterator<Key> | null = null;
  /** Keys that were set since it moved; after `MOST_STANDING` it is given up. */
  private standing = 0;

  /** `max` ≥ 1. */
  constructor(max: number) {
    super();
    this.max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    this.standing += 1;
    if (this.size > this.max) this.shift();
    else if (this.standing > MOST_STANDING) this.oldestFirst = null;
    return this;
  }

  /** Removes the oldest key and gives its value back, for whoever has a further bound; undefined where the map is empty. */
  shift(): Value | undefined {
    // Asked at its end, the iterator would never again find anything.
    if (this.size === 0) return undefined;
    this.standing = 0;
    this.oldestFirst ??= this.keys();
    const key = this.oldestFirst.next().value as Key;
    const value = this.get(key);
    this.delete(key);
    return value;
  }
}

const MOST_STANDING = 1_000;
