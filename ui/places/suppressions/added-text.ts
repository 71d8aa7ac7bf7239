/** How many addresses are new on the list, and how many were there. */
import type { SuppressionsAdded } from '../../../src/client/api-types.ts';

export function addedText({ Added, Existing }: SuppressionsAdded): string {
  const there =
    Existing === 0
      ? ''
      : `; ${Existing.toLocaleString()} ${Existing === 1 ? 'was' : 'were'} on the list already`;
  return `${Added.toLocaleString()} ${Added === 1 ? 'address' : 'addresses'} added${there}`;
}
