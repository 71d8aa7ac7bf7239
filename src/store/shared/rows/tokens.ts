/** Tokens and the keys that sign them, as rows. */
import type { Token } from '../../../model/token.ts';
import type { StoredSigningKey } from '../../topics/tokens.ts';
import { record } from '../record.ts';

export const TOKEN = record<Token>({
  id: 'plain',
  name: 'plain',
  owner: 'plain',
  domains: 'json',
  scopes: 'json',
  sandbox: 'flag',
  ipAllowList: 'json',
  rateLimit: 'plain',
  rateShares: 'json',
  createdBy: 'plain',
  createdAt: 'plain',
  expiresAt: 'plain',
  lastUsedAt: 'plain',
  lastUsedIp: 'plain',
  revokedAt: 'plain',
});

export const SIGNING_KEY = record<StoredSigningKey>({
  kid: 'plain',
  privateSealed: 'plain',
  publicJwk: 'plain',
  createdAt: 'plain',
});
