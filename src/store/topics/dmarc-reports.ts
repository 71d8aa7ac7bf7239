/** DMARC aggregate reports about sender domains. Part of the Store (`../store.ts` says what all its operations promise). */
import type { DmarcReport } from '../../model/dmarc-report.ts';

export interface DmarcReportStore {
  /**
   * Adds what a report says of one sender domain. `known`: its signer and reporter sent one with this id before;
   * `full`: of this signer `maxOfSigner` were received since `recentSince`, or of all `maxOfAll`; then the last one of who has
   * most is removed for a signer who still has fewer with it. `unknown`: there is no such sender domain.
   */
  addDmarcReport(params: {
    domain: string;
    report: DmarcReport;
    recentSince: number;
    maxOfSigner: number;
    maxOfAll: number;
  }): Promise<'added' | 'known' | 'full' | 'unknown'>;
  /** Those received since `since`, newest first, at most `limit`; `before`: the last one of the page before. */
  listDmarcReports(params: {
    domain: string;
    since: number;
    before?: { receivedAt: number; id: number } | undefined;
    limit: number;
  }): Promise<readonly (DmarcReport & { id: number })[]>;
  /** Removes at most `limit` reports received before `before`, oldest first; returns how many. */
  purgeDmarcReports(params: { before: number; limit: number }): Promise<number>;
}
