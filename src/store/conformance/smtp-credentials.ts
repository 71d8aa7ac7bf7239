/** Conformance: user names and passwords for SMTP submission. */
import { describe, expect, it } from 'vitest';
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import { newId, type Suite, T0 } from './fixtures.ts';

/** A new credential. */
export function credential(more: Partial<SmtpCredential> = {}): SmtpCredential {
  const id = newId();
  return {
    id,
    username: `user-${id}`,
    name: 'Shop',
    owner: 'project-1',
    domain: 'example.com',
    sandbox: false,
    notices: true,
    salt: new Uint8Array([1, 2]),
    hash: new Uint8Array([3, 4]),
    costLog2: 14,
    ipAllowList: [],
    rateLimit: null,
    rateShares: [],
    createdBy: null,
    createdAt: T0,
    expiresAt: null,
    ...more,
  };
}

/** Tests of `addSmtpCredential`, `getSmtpCredential`, `listSmtpCredentials`, `removeSmtpCredential`. */
export function describeSmtpCredentials({ store }: Suite): void {
  describe('SMTP credentials', () => {
    it('come back by their user name as they were stored', async () => {
      const one = credential({ sandbox: true, notices: false });
      expect(await store.addSmtpCredential({ maxPerDomain: 1000, credential: one })).toBe('added');
      expect(await store.getSmtpCredential({ username: one.username })).toEqual(one);
      expect(await store.getSmtpCredential({ username: 'nobody' })).toBeNull();
    });

    it('are limited in number for each domain, and those that have expired make room', async () => {
      const add = (one: SmtpCredential) => store.addSmtpCredential({ credential: one, maxPerDomain: 1 });
      const one = credential({ expiresAt: T0 + 1 });
      expect([await add(one), await add(one)]).toEqual(['added', 'added']);
      expect(await add(credential())).toBe('full');
      expect(await add(credential({ domain: 'example.org' }))).toBe('added');
      expect(await add(credential({ createdAt: T0 + 1 }))).toBe('added');
      expect(await store.getSmtpCredential({ username: one.username })).toBeNull();
    });

    it('are removed long after they expired', async () => {
      const [endless, late, early, first] = [null, T0 + 2, T0 + 1, T0].map((expiresAt) =>
        credential({ expiresAt }),
      );
      for (const one of [endless, late, early, first])
        if (one !== undefined) await store.addSmtpCredential({ credential: one, maxPerDomain: 9 });
      const purge = () => store.purgeSmtpCredentials({ before: T0 + 2, limit: 1 });
      expect([await purge(), await purge(), await purge()]).toEqual([1, 1, 0]);
      const left = await store.listSmtpCredentials({ limit: 9 });
      expect(left.map(({ id }) => id)).toEqual([late?.id, endless?.id]);
    });

    it('have a user name each', async () => {
      const one = credential();
      await store.addSmtpCredential({ maxPerDomain: 1000, credential: one });
      const second = credential({ username: one.username, domain: 'example.org' });
      expect(await store.addSmtpCredential({ maxPerDomain: 1000, credential: second })).toBe('taken');
      expect(await store.getSmtpCredential({ username: one.username })).toEqual(one);
    });

    it('are listed and removed within the given domains, oldest first', async () => {
      const late = credential({ createdAt: T0 + 2 });
      const early = credential({ createdAt: T0 + 1 });
      const foreign = credential({ domain: 'example.org' });
      for (const one of [late, early, foreign])
        await store.addSmtpCredential({ maxPerDomain: 1000, credential: one });
      const ids = async (domains?: string[]) =>
        (await store.listSmtpCredentials({ ...(domains === undefined ? {} : { domains }), limit: 100 })).map(
          ({ id }) => id,
        );
      expect(await ids()).toEqual([foreign.id, early.id, late.id]);
      expect(await ids(['example.com'])).toEqual([early.id, late.id]);
      expect(await ids([])).toEqual([]);
      expect(await store.removeSmtpCredential({ id: foreign.id, domains: ['example.com'] })).toBe(false);
      expect(await store.removeSmtpCredential({ id: late.id, domains: ['example.com'] })).toBe(true);
      expect(await store.removeSmtpCredential({ id: late.id })).toBe(false);
      expect(await ids()).toEqual([foreign.id, early.id]);
    });
  });
}
