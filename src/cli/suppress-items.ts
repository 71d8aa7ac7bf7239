/** Adds addresses to the suppression list, given by hand or read from a file: the request, and its answer as text. */
import type { SuppressionsAdded } from '../listeners/http/operations/suppressions.ts';
import type { Api } from './api-client.ts';
import type { Item } from './suppression-file.ts';

/** As many as the API takes at once, and well below what a body may have: notes can be long. */
const PER_REQUEST = 1000;
const BYTES_PER_REQUEST = 256 * 1024;

/** The rows in portions of one request each, in their order. */
export function* portionsOf<Row extends { readonly item: Item }>(rows: readonly Row[]): Generator<Row[]> {
  let portion: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row.item)) + 1;
    if (portion.length > 0 && (portion.length === PER_REQUEST || bytes + size > BYTES_PER_REQUEST)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(row);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}

/** Puts `items` on the list of a domain. */
export async function sendItems(
  api: Api,
  domain: string,
  items: readonly Item[],
): Promise<SuppressionsAdded> {
  const { body } = await api.call('POST', '/suppressions', { Domain: domain, Items: items });
  return body as SuppressionsAdded;
}

/** How many are new on the list, and how many were there. */
export function addedText({ Added, Existing }: SuppressionsAdded): string {
  const there = Existing === 0 ? '' : ` ${Existing} ${Existing === 1 ? 'was' : 'were'} on the list already.`;
  return `Added ${Added} ${Added === 1 ? 'address' : 'addresses'}.${there}`;
}
