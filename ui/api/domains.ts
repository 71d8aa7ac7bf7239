/** Sender domains as their place asks for them: one function an operation. */
import type {
  CreateDomainRequest,
  DmarcSummary,
  Domain,
  DomainList,
  HoldsAnswer,
  Me,
} from '../../src/client/api-types.ts';
import { ApiError, call, open, part } from './call.ts';
import { make } from './make.ts';

const PAGE = 50;

/** What can be changed of one; what is left out stays. */
export type DomainSettings = Omit<CreateDomainRequest, 'Domain' | 'Verified' | 'DkimSelector'>;

/** Under what the answers are kept, for whoever changes a domain. */
export const DOMAINS = ['domains'] as const;
export const domainKey = (name: string) => ['domains', 'one', name] as const;

/** By name; `search`: a part of it. */
export function listDomains(
  search: string,
  after: string | undefined,
  signal?: AbortSignal,
): Promise<DomainList> {
  return call('GET', '/domains', { query: { Search: search, Limit: PAGE, After: after }, signal });
}

export function getDomain(name: string, signal?: AbortSignal): Promise<Domain> {
  return call('GET', `/domains/${part(name)}`, { signal });
}

export function addDomain(domain: CreateDomainRequest): Promise<Domain> {
  return make('/domains', domain);
}

/** Looks the records up now. One that was checked a moment ago is answered as it was found then. */
export async function checkDomain(name: string, signal?: AbortSignal): Promise<Domain> {
  try {
    return await call('POST', `/domains/${part(name)}/verify`, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) return getDomain(name, signal);
    throw error;
  }
}

export function changeDomain(name: string, settings: DomainSettings): Promise<Domain> {
  return call('PATCH', `/domains/${part(name)}`, { body: settings });
}

export function rotateKey(name: string): Promise<Domain> {
  return call('POST', `/domains/${part(name)}/dkim/rotate`);
}

export async function removeDomain(name: string): Promise<void> {
  await open('DELETE', `/domains/${part(name)}`);
}

/** What is left of its quota, and what it has on the disk. */
export function getStanding(name: string, signal?: AbortSignal): Promise<Me> {
  return call('GET', '/me', { query: { Domain: name }, signal });
}

/** What receivers report of mail in its name. */
export function getDmarc(name: string, days: number, signal?: AbortSignal): Promise<DmarcSummary> {
  return call('GET', `/domains/${part(name)}/dmarc`, { query: { Days: days }, signal });
}

/** Holds that name it, oldest first; the first hundred. */
export function listHoldsOf(name: string, signal?: AbortSignal): Promise<HoldsAnswer> {
  return call('GET', '/queue/holds', { query: { SenderDomain: name, Limit: 100 }, signal });
}
