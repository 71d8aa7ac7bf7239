/** User names and passwords for SMTP submission, as rows. */
import type { SmtpCredential } from '../../../model/smtp-credential.ts';
import { record } from '../record.ts';

export const CREDENTIAL = record<SmtpCredential>({
  id: 'plain',
  username: 'plain',
  name: 'plain',
  owner: 'plain',
  domain: 'plain',
  sandbox: 'flag',
  notices: 'flag',
  salt: 'plain',
  hash: 'plain',
  costLog2: 'plain',
  ipAllowList: 'json',
  rateLimit: 'plain',
  rateShares: 'json',
  createdBy: 'plain',
  createdAt: 'plain',
  expiresAt: 'plain',
});
