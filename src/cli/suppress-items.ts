/** Adds addresses to the suppression list, given by hand or read from a file: the request, and its answer as text. */
import type { SuppressionsAdded } from '../listeners/http/operations/suppressions.ts';
import type { ImportItem } from '../policy/suppressions/import-file.ts';
import type { Api } from './api-client.ts';

/** Puts `items` on the list of a domain. */
export async function sendItems(
  api: Api,
  domain: string,
  items: readonly ImportItem[],
): Promise<SuppressionsAdded> {
  const body = await api.call<SuppressionsAdded>('POST', '/suppressions', { Domain: domain, Items: items });
  return body;
}

/** How many addresses were added, and how many were on the list already. */
export function addedText({ Added, Existing }: SuppressionsAdded): string {
  const there = Existing === 0 ? '' : ` ${Existing} ${Existing === 1 ? 'was' : 'were'} on the list already.`;
  return `Added ${Added} ${Added === 1 ? 'address' : 'addresses'}.${there}`;
}
