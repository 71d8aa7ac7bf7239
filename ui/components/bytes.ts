/** Octets as a person reads them: decimal units, one digit where it says something. */
import { decimalText } from './count.ts';

export function bytesText(count: number): string {
  if (count < 1_000) return `${count} bytes`;
  const [value, unit] =
    count < 1_000_000
      ? [count / 1_000, 'kB']
      : count < 1_000_000_000
        ? [count / 1_000_000, 'MB']
        : [count / 1_000_000_000, 'GB'];
  return `${value < 10 ? decimalText(value) : Math.round(value)} ${unit}`;
}
