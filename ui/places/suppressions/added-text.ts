/** How many addresses are new on the list, and how many were there. */

import type { SuppressionsAdded } from '../../../src/client/api-types.ts';
import { countOf } from '../../components/count.ts';

export function addedText({ Added, Existing }: SuppressionsAdded): string {
  const there = Existing === 0 ? '' : `; ${countOf(Existing, 'was', 'were')} on the list already`;
  return `${countOf(Added, 'address', 'addresses')} added${there}`;
}
