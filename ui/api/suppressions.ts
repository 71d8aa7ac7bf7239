/** The suppression list of a sender domain, as one address is put on it and taken off. */
import type { SuppressionsAdded } from '../../src/client/api-types.ts';
import { call, open } from './call.ts';

export function suppress(domain: string, address: string): Promise<SuppressionsAdded> {
  return call('POST', '/suppressions', { body: { Domain: domain, Items: [{ Email: address }] } });
}

/** For every reason. Throws ApiError 404 where it is not on the list. */
export async function unsuppress(domain: string, address: string): Promise<void> {
  await open('DELETE', `/suppressions/${encodeURIComponent(address)}`, { query: { Domain: domain } });
}
