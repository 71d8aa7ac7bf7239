/** Who changed what. Part of the Store (`../store.ts` says what all its operations promise). */
import type { AuditEntry } from '../../model/audit.ts';

export interface AuditStore {
  /** Of more than `maxPerLine` of a line the oldest one goes, if it is from before `recentSince` or there are more than `maxRecentPerLine`. */
  addAudit(params: {
    entry: AuditEntry;
    maxPerLine: number;
    maxRecentPerLine: number;
    recentSince: number;
  }): Promise<void>;
  /**
   * At most `limit` below `beforeId`, the newest first. `who`: an id or a name. `look` of all entries are looked at; `nextId` is
   * `beforeId` of the next look, null = that was all.
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
  /** Removes at most `limit` entries from before `before`, the oldest first; how many. */
  purgeAudit(params: { before: number; limit: number }): Promise<number>;
}
