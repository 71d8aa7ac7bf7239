/** DMARC reports, as rows. */
import type { DmarcReport } from '../../../model/dmarc-report.ts';
import { record } from '../record.ts';

const MEMBERS = {
  reporter: 'plain',
  signedBy: 'plain',
  reportId: 'plain',
  beginAt: 'plain',
  endAt: 'plain',
  receivedAt: 'plain',
  counts: 'json',
} as const;

export const DMARC_REPORT = record<DmarcReport>(MEMBERS);

export const STORED_DMARC_REPORT = record<DmarcReport & { id: number }>({ id: 'plain', ...MEMBERS });
