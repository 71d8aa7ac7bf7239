/** Conformance: who changed what. */
import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../model/audit.ts';
import type { Store } from '../store.ts';
import { newId, type Suite, T0 } from './fixtures.ts';

function entry(more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newId(),
    at: T0,
    line: 'ada',
    byPerson: true,
    whoId: 'person-1',
    whoName: 'ada@example.com',
    operation: 'createToken',
    resource: 'tokens/1',
    changed: [],
    ip: '192.0.2.1',
    ...more,
  };
}

/** Tests of `addAudit`, `listAudit`, `purgeAudit`. */
export function describeAudit({ store }: Suite): void {
  const add = (one: AuditEntry, maxPerLine = 100, recentSince = T0 + 100, maxRecentPerLine = maxPerLine) =>
    store.addAudit({ entry: one, maxPerLine, maxRecentPerLine, recentSince });
  const list = async (more: Partial<Parameters<Store['listAudit']>[0]> = {}) =>
    (await store.listAudit({ limit: 100, look: 100, ...more })).entries;

  describe('entries of who changed what', () => {
    it('come back newest first, a page at a time, each once', async () => {
      const all = [
        entry(),
        entry({ byPerson: false, at: T0 + 1, changed: ['Subdomains=true', 'MX'] }),
        entry({ at: T0 + 2 }),
      ];
      for (const one of all) await add(one);
      await add(all[0] as AuditEntry);
      expect(await list()).toEqual(all.toReversed());
      const first = await store.listAudit({ limit: 2, look: 100 });
      expect(first.nextId).toBe(all[1]?.id);
      const second = await store.listAudit({ limit: 2, look: 100, beforeId: first.nextId ?? '' });
      expect(second).toEqual({ entries: [all[0]], nextId: null });
    });

    it('are found by who, operation and time', async () => {
      const mine = entry({ whoId: 'person-2', whoName: 'bob@example.com', at: T0 + 5 });
      const other = entry({ operation: 'revokeToken', at: T0 + 9 });
      for (const one of [mine, other]) await add(one);
      expect(await list({ who: 'person-2' })).toEqual([mine]);
      expect(await list({ who: 'bob@example.com' })).toEqual([mine]);
      expect(await list({ operation: 'revokeToken' })).toEqual([other]);
      expect(await list({ since: T0 + 6 })).toEqual([other]);
      expect(await list({ until: T0 + 9 })).toEqual([mine]);
    });

    it('are looked at in portions: what a look does not find, the next may', async () => {
      const old = entry({ operation: 'revokeToken' });
      await add(old);
      const others = [entry(), entry(), entry()];
      for (const one of others) await add(one);
      const asked = { operation: 'revokeToken', limit: 9, look: 2 };
      const first = await store.listAudit(asked);
      expect(first).toEqual({ entries: [], nextId: others[1]?.id });
      const second = await store.listAudit({ ...asked, beforeId: first.nextId ?? '' });
      expect(second.entries).toEqual([old]);
    });

    it('of late stay beyond the number that is kept of old ones, up to a larger one', async () => {
      const all = [entry({ at: T0 - 1 }), entry(), entry(), entry(), entry()];
      const [, second, third, fourth, fifth] = all;
      for (const one of all.slice(0, 3)) await add(one, 1, T0, 3);
      // One goes for each that comes, the oldest first.
      expect(await list()).toEqual([third, second]);
      await add(fourth as AuditEntry, 1, T0, 3);
      expect(await list()).toEqual([fourth, third, second]);
      await add(fifth as AuditEntry, 1, T0, 3);
      expect(await list()).toEqual([fifth, fourth, third]);
    });

    it('make room within their own line, and go with age', async () => {
      const other = entry({ line: 'bob', at: T0 - 10 });
      await add(other, 2);
      const mine = [entry(), entry(), entry()];
      for (const one of mine) await add(one, 2);
      expect(await list()).toEqual([mine[2], mine[1], other]);
      expect(await store.purgeAudit({ before: T0, limit: 100 })).toBe(1);
      expect(await store.purgeAudit({ before: T0, limit: 100 })).toBe(0);
      await add(entry({ line: 'bob' }), 1);
      expect(await list()).toHaveLength(3);
      expect(await store.purgeAudit({ before: T0 + 1, limit: 2 })).toBe(2);
    });
  });
}
