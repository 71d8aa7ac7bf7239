/**
 * Removes unused entries of `map`, `looks` entries at a time, those first that were not looked at for longest: a call costs
 * the same however many there are. Returns what it removed.
 */
export function sweepSome<Key, Value>(
  map: Map<Key, Value>,
  looks: number,
  isUnused: (value: Value, key: Key) => boolean,
): [Key, Value][] {
  const removed: [Key, Value][] = [];
  let left = Math.min(looks, map.size);
  for (const entry of map) {
    if (left <= 0) break;
    left -= 1;
    const [key, value] = entry;
    map.delete(key);
    if (isUnused(value, key)) removed.push(entry);
    else map.set(key, value);
  }
  return removed;
}
