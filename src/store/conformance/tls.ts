/** Conformance: stored MTA-STS policies. */
import { describe, expect, it } from 'vitest';
import type { StoredMtaSts } from '../topics/tls.ts';
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

/** Tests of `putMtaSts`, `getMtaSts`, `staleMtaSts`, `purgeMtaSts`. */
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

    it('are forgotten when they are over, a bounded number at a time', async () => {
      await store.putMtaSts(policy({ domain: 'a.example', expiresAt: T0 }));
      await store.putMtaSts(policy({ domain: 'b.example', expiresAt: T0 }));
      await store.putMtaSts(policy({ domain: 'c.example', expiresAt: T0 + 1 }));
      expect(await store.purgeMtaSts({ now: T0, limit: 1 })).toBe(1);
      expect(await store.purgeMtaSts({ now: T0, limit: 1 })).toBe(1);
      expect(await store.purgeMtaSts({ now: T0, limit: 1 })).toBe(0);
      expect(await store.getMtaSts({ domain: 'c.example' })).not.toBeNull();
    });
  });
}
