/** Octets as a person reads them: decimal units, one digit where it says something. */
export function bytesText(count: number): string {
  if (count < 1_000) return `${count} bytes`;
  const [value, unit] =
    count < 1_000_000
      ? [count / 1_000, 'kB']
      : count < 1_000_000_000
        ? [count / 1_000_000, 'MB']
        : [count / 1_000_000_000, 'GB'];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
