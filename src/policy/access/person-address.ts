/** The address of a person who signs in. */
import { parseAddress } from '../../mail/address.ts';

/** The form in which an address is stored and compared; null if it is not an address. */
export function emailOf(given: string): string | null {
  const parsed = parseAddress(given, 1);
  return parsed.ok ? parsed.address.text.toLowerCase() : null;
}
