/** Sender domains and their keys, as rows. */
import type { DkimKey, Domain } from '../../../model/domain.ts';
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
