/** Sender domains and their keys, as rows. */
import { DEFAULT_DOMAIN_SETTINGS, type DkimKey, type Domain, mergeSettings } from '../../../model/domain.ts';
import type { DomainStore } from '../../topics/domains.ts';
import { record } from '../record.ts';

export const DOMAIN = record<Omit<Domain, 'keys'>>({
  id: 'plain',
  name: 'plain',
  status: 'plain',
  verifiedBy: 'plain',
  verifyToken: 'plain',
  settings: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
  verifiedAt: 'plain',
  failingSince: 'plain',
  lastCheckedAt: 'plain',
  lastChecks: 'plain',
  changes: 'plain',
});

export const DOMAIN_KEY = record<DkimKey>({
  selector: 'plain',
  role: 'plain',
  privateSealed: 'plain',
  publicKey: 'plain',
  createdAt: 'plain',
  retiredAt: 'plain',
});

export function newDomainRow(given: Parameters<DomainStore['addDomain']>[0]) {
  return {
    name: given.name,
    status: given.status,
    verified_by: given.verifiedBy,
    verify_token: given.verifyToken,
    settings: JSON.stringify(mergeSettings(DEFAULT_DOMAIN_SETTINGS, given.settings)),
    created_at: given.now,
    updated_at: given.now,
    verified_at: given.status === 'Verified' ? given.now : null,
  };
}

/** Rows of earlier versions lack newer settings. */
export function withKeys(domain: Omit<Domain, 'keys'>, keys: DkimKey[]): Domain {
  return { ...domain, settings: mergeSettings(DEFAULT_DOMAIN_SETTINGS, domain.settings), keys };
}

/** Of the names that were looked at, those that a search finds, and where the next look begins; null: there is no more. */
export function foundAmong(
  looked: readonly { name: string }[],
  { search, limit, look }: { search: string; limit: number; look: number },
): { found: string[]; next: string | null } {
  const names = looked.map(({ name }) => name);
  const found = names.filter((name) => name.includes(search)).slice(0, limit);
  const last = found.length === limit ? found.at(-1) : looked.length === look ? names.at(-1) : undefined;
  return { found, next: last ?? null };
}
