/** Who changed what. Part of the Store (`../store.ts` says what all its operations promise). */
import type { AuditEntry } from '../../model/audit.ts';

export interface AuditStore {
  /**
   * If a line has more than `maxPerLine` entries, its oldest is removed if it is from before `recentSince`, or if
   * there are more than `maxRecentPerLine`.
   */
  addAudit(params: {
    entry: AuditEntry;
    maxPerLine: number;
    maxRecentPerLine: number;
    recentSince: number;
  }): Promise<void>;
  /**
   * At most `limit` entries below `beforeId`, newest first. `who`: an id or a name. At most `look` entries are
   * examined; `nextId` is `beforeId` of the next call, null = there are no more.
   */
  listAudit(params: {
    who?: string;
    operation?: string;
    since?: number;
    until?: number;
    beforeId?: string;
    limit: number;
    look: number;
  }): Promise<{ entries: readonly AuditEntry[]; nextId: string | null }>;
  /** Removes at most `limit` entries from before `before`, oldest first; returns how many. */
  purgeAudit(params: { before: number; limit: number }): Promise<number>;
}
