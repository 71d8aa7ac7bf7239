/** Numbers of things, as the reader's language writes them. Pure. */

/** `1 recipient`, `1,204 recipients`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** `2.1`: one digit behind the point, also where it is 0. */
export function decimalText(value: number): string {
  return value.toLocaleString(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** `1,204`, and `1,000+` where not all were counted. */
export function countText(count: number, isAll = true): string {
  return `${count.toLocaleString()}${isAll ? '' : '+'}`;
}
