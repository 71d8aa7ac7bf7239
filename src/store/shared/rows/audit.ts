/** Entries of the audit log, as rows. */
import type { AuditEntry } from '../../../model/audit.ts';
import { record } from '../record.ts';

export const AUDIT_ENTRY = record<AuditEntry>({
  id: 'plain',
  at: 'plain',
  line: 'plain',
  byPerson: 'flag',
  whoId: 'plain',
  whoName: 'plain',
  operation: 'plain',
  resource: 'plain',
  changed: 'json',
  ip: 'plain',
});
