/** The suppression lists of the sender domains: one function an operation. */
import type { SuppressionList, SuppressionsAdded } from '../../src/client/api-types.ts';
import { call, open, part, portionsOf, type Query } from './call.ts';

const PAGE = 100;

/** Under what the answers are kept. */
export const SUPPRESSIONS = ['suppressions'] as const;

/** One address on its way to the list. */
export interface NewSuppression {
  Email: string;
  Reason?: string;
  Note?: string;
  ExpiresAt?: string;
}

/** Newest first. */
export function listSuppressions(
  filters: Query,
  after: string | undefined,
  signal?: AbortSignal,
): Promise<SuppressionList> {
  return call('GET', '/suppressions', { query: { ...filters, Limit: PAGE, After: after }, signal });
}

/** All of them, a page after the other. */
export function everySuppression(filters: Query, signal: AbortSignal): AsyncGenerator<SuppressionList> {
  return portionsOf((after) => listSuppressions(filters, after, signal));
}

/** At most 1000 at once. */
export function addSuppressions(
  domain: string,
  items: readonly NewSuppression[],
  signal?: AbortSignal,
): Promise<SuppressionsAdded> {
  return call('POST', '/suppressions', { body: { Domain: domain, Items: items }, signal });
}

export function suppress(domain: string, address: string): Promise<SuppressionsAdded> {
  return addSuppressions(domain, [{ Email: address }]);
}

/** For one reason, or for every one. Throws ApiError 404 where it is not on the list. */
export async function unsuppress(
  domain: string,
  address: string,
  { reason, leaving = false }: { reason?: string; leaving?: boolean } = {},
): Promise<void> {
  await open('DELETE', `/suppressions/${part(address)}`, {
    query: { Domain: domain, Reason: reason },
    keepalive: leaving,
  });
}
