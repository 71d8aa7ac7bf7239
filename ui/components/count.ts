/** Numbers of things, as the reader's language writes them. Pure. */

/** `1 recipient`, `1,204 recipients`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** `1,204`, and `1,000+` where not all were counted. */
export function countText(count: number, isAll = true): string {
  return `${count.toLocaleString()}${isAll ? '' : '+'}`;
}
