/** Conformance: stored facts about TLS of other servers. */
import { describe, expect, it } from 'vitest';
import type { StoredMtaSts, TlsCount } from '../topics/tls.ts';
import { type Suite, T0 } from './fixtures.ts';

const policy = (over: Partial<StoredMtaSts> = {}): StoredMtaSts => ({
  domain: 'example.net',
  policyId: '20260101',
  mode: 'enforce',
  mx: ['mx1.example.net', '*.mail.example.net'],
  maxAgeSeconds: 86_400,
  fetchedAt: T0,
  expiresAt: T0 + 86_400_000,
  renewAt: T0 + 43_200_000,
  renewFailures: 2,
  ...over,
});

const count = (over: Partial<TlsCount> = {}): TlsCount => ({
  day: '2026-05-31',
  domain: 'example.net',
  policy: 'sts',
  mxHost: 'mx1.example.net',
  result: 'success',
  sessions: 1,
  ...over,
});

/** Tests of `putMtaSts`, `getMtaSts`, `staleMtaSts`, `addTlsCounts`, `tlsCounts`, `purgeTls`. */
export function describeTls({ store, reopen }: Suite): void {
  describe('MTA-STS policies', () => {
    it('come back as they were put, also after a restart, and the last one counts', async () => {
      expect(await store.getMtaSts({ domain: 'example.net' })).toBeNull();
      await store.putMtaSts(policy({ mode: 'testing' }));
      await store.putMtaSts(policy());
      await store.putMtaSts(policy({ domain: 'none.example', mode: 'none', mx: [] }));
      await reopen();
      expect(await store.getMtaSts({ domain: 'example.net' })).toEqual(policy());
      expect(await store.getMtaSts({ domain: 'none.example' })).toMatchObject({
        mode: 'none',
        mx: [],
      });
    });

    it('are listed where they are in force and due, the first due first', async () => {
      await store.putMtaSts(policy({ domain: 'b.example', renewAt: T0 + 2 }));
      await store.putMtaSts(policy({ domain: 'a.example', renewAt: T0 + 9 }));
      await store.putMtaSts(policy({ domain: 'new.example', renewAt: T0 + 10 }));
      await store.putMtaSts(policy({ domain: 'none.example', renewAt: T0 + 1, mode: 'none' }));
      await store.putMtaSts(policy({ domain: 'over.example', renewAt: T0, expiresAt: T0 + 9 }));
      const found = await store.staleMtaSts({ now: T0 + 9, limit: 10 });
      expect(found.map(({ domain }) => domain)).toEqual(['b.example', 'a.example']);
      expect(await store.staleMtaSts({ now: T0 + 9, limit: 1 })).toHaveLength(1);
    });
  });

  describe('TLS counters', () => {
    it('add up by day, domain, policy, host and result', async () => {
      await store.addTlsCounts({ counts: [count(), count({ result: 'certificate-expired', sessions: 2 })] });
      await store.addTlsCounts({ counts: [count({ sessions: 4 }), count({ day: '2026-06-01' })] });
      await store.addTlsCounts({ counts: [count({ domain: 'example.org' })] });
      expect(await store.tlsCounts({ fromDay: '2026-05-31', domain: 'example.net', limit: 10 })).toEqual([
        count({ result: 'certificate-expired', sessions: 2 }),
        count({ sessions: 5 }),
        count({ day: '2026-06-01' }),
      ]);
      expect(await store.tlsCounts({ fromDay: '2026-06-01', limit: 10 })).toEqual([
        count({ day: '2026-06-01' }),
      ]);
      expect(await store.tlsCounts({ fromDay: '2026-05-31', limit: 1 })).toHaveLength(1);
    });
  });

  it('forgets policies that are over and counters of old days, a bounded number at a time', async () => {
    await store.putMtaSts(policy({ domain: 'a.example', expiresAt: T0 }));
    await store.putMtaSts(policy({ domain: 'b.example', expiresAt: T0 + 1 }));
    await store.addTlsCounts({
      counts: [count({ day: '2026-05-01' }), count({ day: '2026-05-02' }), count()],
    });
    const step = { now: T0, beforeDay: '2026-05-31', limit: 1 };
    expect(await store.purgeTls(step)).toBe(2);
    expect(await store.purgeTls(step)).toBe(1);
    expect(await store.purgeTls(step)).toBe(0);
    expect(await store.getMtaSts({ domain: 'b.example' })).not.toBeNull();
    expect(await store.tlsCounts({ fromDay: '2026-01-01', limit: 10 })).toEqual([count()]);
  });
}
