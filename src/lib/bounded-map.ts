/**
 * A map for values whose keys come from outside: it never holds more than `max` entries. If a new key does not fit, the
 * entry that was set longest ago is removed. `set` makes a key the newest, `get` does not: set an entry again at each
 * use if it must stay while it is used (a limit, a count of failures); set it once if it can be computed again (a
 * cache), which is cheaper. It is never cleared as a whole, so that nobody can remove all entries of others at one
 * moment.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  private readonly max: number;
  /**
   * Iterates over the keys once, oldest first; every key that it has passed was deleted. A new iterator each time would
   * have to skip all deleted places since the map was last compacted, which took 28 µs at 10,000 keys. null: not needed
   * yet. An iterator that does not move keeps every hash table that the map has had since (in V8; 55 octets for each
   * `set`).
   */
  private oldestFirst: MapIterator<Key> | null = null;
  /** Keys set since the iterator moved; after `MOST_STANDING` it is dropped. */
  private standing = 0;

  /** The key that was set last. */
  private newest: Key | undefined;

  /** `max` ≥ 1. */
  constructor(max: number) {
    super();
    this.max = max;
  }

  override set(key: Key, value: Value): this {
    // Of a key that is the newest already only the value changes.
    if (key !== this.newest) {
      this.delete(key);
      this.newest = key;
    }
    super.set(key, value);
    this.standing += 1;
    if (this.size > this.max) this.shift();
    else if (this.standing > MOST_STANDING) this.oldestFirst = null;
    return this;
  }

  /**
   * Removes the oldest entry and returns its value, for callers with a further limit; undefined if the map is empty.
   */
  shift(): Value | undefined {
    // An iterator that was asked at its end never finds anything again.
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
