/** Conformance: DMARC reports about sender domains. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { DmarcReport } from '../../model/dmarc-report.ts';
import type { Store } from '../store.ts';
import { type Suite, T0 } from './fixtures.ts';

const DOMAIN = 'example.com';

export function report(more: Partial<DmarcReport> = {}): DmarcReport {
  return {
    reporter: 'Receiver',
    signedBy: 'receiver.example',
    reportId: '1',
    beginAt: T0 - 86_400_000,
    endAt: T0,
    receivedAt: T0,
    counts: [
      {
        ...{ source: '192.0.2.1', messages: 3, dkim: true, spf: false, disposition: 'none', from: DOMAIN },
        found: 'spf=softfail d=example.net',
      },
    ],
    ...more,
  };
}

/** Tests of `addDmarcReport`, `listDmarcReports`, `purgeDmarcReports`. */
export function describeDmarcReports({ store }: Suite): void {
  const add = (one: DmarcReport, more: Partial<Parameters<Store['addDmarcReport']>[0]> = {}) =>
    store.addDmarcReport({
      ...{ domain: DOMAIN, report: one, recentSince: T0, maxOfSigner: 9, maxOfAll: 9 },
      ...more,
    });
  const page = (more: Partial<Parameters<Store['listDmarcReports']>[0]> = {}) =>
    store.listDmarcReports({ domain: DOMAIN, since: 0, limit: 100, ...more });
  const list = async (since = 0) => (await page({ since })).map(({ id: _, ...one }) => one);
  const addDomain = (name: string) =>
    store.addDomain({
      name,
      status: 'Pending',
      verifiedBy: null,
      verifyToken: name,
      settings: {},
      keys: [],
      now: T0,
    });

  describe('DMARC reports', () => {
    beforeEach(() => addDomain(DOMAIN));

    it('come back newest first, each once', async () => {
      const first = report();
      const second = report({ reportId: '2', receivedAt: T0 + 5 });
      expect(await add(first)).toBe('added');
      expect(await add(second)).toBe('added');
      expect(await add(report({ receivedAt: T0 + 9 }))).toBe('known');
      expect(await list()).toEqual([second, first]);
      expect(await list(T0 + 1)).toEqual([second]);
    });

    it('are read a page at a time, also those of one moment', async () => {
      for (const reportId of ['1', '2', '3']) await add(report({ reportId }));
      const [newest] = await page({ limit: 1 });
      expect(newest?.reportId).toBe('3');
      expect((await page({ before: newest, limit: 9 })).map(({ reportId }) => reportId)).toEqual(['2', '1']);
    });

    it('of another signer or reporter are others, whatever their id', async () => {
      expect(await add(report())).toBe('added');
      expect(await add(report({ signedBy: '' }))).toBe('added');
      expect(await add(report({ reporter: 'Another' }))).toBe('added');
      expect(await list()).toHaveLength(3);
    });

    it('are limited of one signer and of all, among those of late', async () => {
      const limits = { maxOfSigner: 1, maxOfAll: 2 };
      expect(await add(report({ reportId: 'old', receivedAt: T0 - 1 }), limits)).toBe('added');
      expect(await add(report(), limits)).toBe('added');
      expect(await add(report({ reportId: '2' }), limits)).toBe('full');
      expect(await add(report({ signedBy: '' }), limits)).toBe('added');
      expect(await add(report({ signedBy: 'other.example' }), limits)).toBe('full');
    });

    it('of who has most make room for others', async () => {
      const limits = { maxOfSigner: 2, maxOfAll: 3 };
      for (const signedBy of ['a.example', 'b.example'])
        for (const reportId of ['1', '2']) await add(report({ signedBy, reportId }), limits);
      expect((await list()).map(({ signedBy }) => signedBy)).toEqual(['b.example', 'a.example', 'a.example']);
      expect(await add(report(), limits)).toBe('added');
      const [newest, ...older] = await list();
      expect(newest).toEqual(report());
      expect(older.map(({ signedBy, reportId }) => `${signedBy} ${reportId}`)).toEqual([
        'b.example 1',
        'a.example 1',
      ]);
      expect(await add(report({ signedBy: 'c.example' }), limits)).toBe('full');
    });

    it('are about sender domains, and gone with them', async () => {
      await addDomain('other.example');
      expect(await add(report(), { domain: 'nobody.example' })).toBe('unknown');
      expect(await add(report(), { domain: 'other.example' })).toBe('added');
      expect(await list()).toEqual([]);
      await add(report());
      await store.removeDomain({ name: DOMAIN });
      expect(await list()).toEqual([]);
      await addDomain(DOMAIN);
      expect(await list()).toEqual([]);
    });

    it('are removed by age, a few at a time', async () => {
      for (const [index, at] of [T0, T0 + 1, T0 + 2].entries())
        await add(report({ reportId: String(index), receivedAt: at }));
      expect(await store.purgeDmarcReports({ before: T0 + 2, limit: 1 })).toBe(1);
      expect((await list()).map(({ receivedAt }) => receivedAt)).toEqual([T0 + 2, T0 + 1]);
      expect(await store.purgeDmarcReports({ before: T0 + 2, limit: 9 })).toBe(1);
      expect(await store.purgeDmarcReports({ before: T0 + 2, limit: 9 })).toBe(0);
    });
  });
}
