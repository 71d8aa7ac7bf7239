/** Conformance: tokens, whose row decides, and the keys that sign them. */
import { describe, expect, it } from 'vitest';
import type { Token } from '../../model/token.ts';
import type { Store } from '../store.ts';
import { createWebhook, HOUR, only, type Suite, T0, token, webhook } from './fixtures.ts';
import { person, session } from './people.ts';
import { credential } from './smtp-credentials.ts';

/** Tests of `addToken`, `getToken`, `listTokens`, `revokeToken`, `endMadeWith`, `purgeTokens` and the keys that sign. */
export function describeTokens({ store }: Suite): void {
  const listed = async (more: { domains?: string[] }) =>
    (await store.listTokens({ limit: 100, look: 100, ...more })).tokens;

  describe('tokens', () => {
    it('come back as they were stored', async () => {
      const plain = token();
      const full = token({
        domains: ['*'],
        scopes: ['admin'],
        sandbox: true,
        ipAllowList: ['192.0.2.0/24'],
        rateLimit: 0.5,
        rateShares: [{ key: 'maker', perSecond: 2 }],
        createdBy: 'maker',
        expiresAt: null,
      });
      for (const one of [plain, token({ id: 'maker' }), full])
        await store.addToken({ maxPerDomain: 1000, token: one });
      expect(await store.getToken({ id: plain.id })).toEqual(plain);
      expect(await store.getToken({ id: full.id })).toEqual(full);
      expect(await store.getToken({ id: 'nobody' })).toBeNull();
    });

    it('are listed oldest first, for a caller whose domains cover theirs', async () => {
      const a = token({ createdAt: T0 + 2 });
      const both = token({ domains: ['example.com', 'example.org'], createdAt: T0 + 1 });
      const any = token({ domains: ['*'], createdAt: T0 });
      for (const one of [a, both, any]) await store.addToken({ maxPerDomain: 1000, token: one });
      const ids = async (domains?: string[]) =>
        (await listed(domains === undefined ? {} : { domains })).map((one) => one.id);
      expect(await ids()).toEqual([any.id, both.id, a.id]);
      const pages: string[][] = [];
      for (let beforeId: string | null = '~'; beforeId !== null; ) {
        const asked = { domains: ['example.com'], beforeId, limit: 10, look: 1 };
        const page: Awaited<ReturnType<Store['listTokens']>> = await store.listTokens(asked);
        pages.push(page.tokens.map((one) => one.id));
        beforeId = page.nextId;
      }
      // One query each, and one that finds that nothing is left.
      expect(pages).toEqual([[], [], [a.id], []]);
      expect((await store.listTokens({ limit: 2, look: 10 })).nextId).toBe(both.id);
      expect(await ids(['example.com'])).toEqual([a.id]);
      expect(await ids(['example.org', 'example.com'])).toEqual([both.id, a.id]);
      expect(await ids(['example.net'])).toEqual([]);
      expect(await ids([])).toEqual([]);
    });

    it('are revoked once and keep that time', async () => {
      const one = token();
      await store.addToken({ maxPerDomain: 1000, token: one });
      expect(await store.revokeToken({ id: one.id, now: T0 + 5 })).toBe(true);
      expect(await store.revokeToken({ id: one.id, now: T0 + 9 })).toBe(true);
      expect((await store.getToken({ id: one.id }))?.revokedAt).toBe(T0 + 5);
      expect(await store.revokeToken({ id: 'nobody', now: T0 })).toBe(false);
    });

    it('make nothing any more once they are revoked', async () => {
      const maker = token({ revokedAt: T0 });
      const old = token();
      const { id: createdBy } = maker;
      expect([
        await store.addToken({ maxPerDomain: 1000, token: maker }),
        await store.addToken({ maxPerDomain: 1000, token: old }),
      ]).toEqual(['added', 'added']);
      const late = token({ createdBy });
      expect(await store.addToken({ maxPerDomain: 1000, token: late })).toBe('ended');
      const rotation = { oldId: old.id, oldEndsAt: T0 + HOUR, now: T0, token: late, maxPerDomain: 1000 };
      expect(await store.rotateToken(rotation)).toBe('ended');
      expect(
        await store.addSmtpCredential({ maxPerDomain: 1000, credential: credential({ createdBy }) }),
      ).toBe('ended');
      expect(await store.createWebhook(webhook({ createdBy }))).toEqual({ kind: 'ended' });
      expect((await listed({})).map(({ id }) => id).sort()).toEqual([maker.id, old.id].sort());
      expect((await store.getToken({ id: old.id }))?.expiresAt).toBe(old.expiresAt);
    });

    it('are not made by nobody, by whom is disabled or by whom is removed', async () => {
      const [off, removed, active] = [person({ disabledAt: T0 }), person(), person()];
      for (const one of [off, removed, active]) await store.addPerson({ person: one, maxPeople: 100 });
      await store.removePerson({ id: removed.id });
      for (const createdBy of [off.id, removed.id, 'nobody']) {
        expect(await store.addToken({ maxPerDomain: 1000, token: token({ createdBy }) })).toBe('ended');
        expect(
          await store.addSmtpCredential({ maxPerDomain: 1000, credential: credential({ createdBy }) }),
        ).toBe('ended');
        expect(await store.createWebhook(webhook({ createdBy }))).toEqual({ kind: 'ended' });
      }
      expect(await store.addToken({ maxPerDomain: 1000, token: token({ createdBy: active.id }) })).toBe(
        'added',
      );
      expect((await store.createWebhook(webhook({ createdBy: active.id }))).kind).toBe('created');
    });

    it('are not made by a person whose session has ended, as it does when the rights change', async () => {
      const maker = person();
      await store.addPerson({ person: maker, maxPeople: 100 });
      const begun = session(maker.id);
      const by = { passwordHash: maker.passwordHash ?? '', proof: null };
      await store.addSession({ session: begun, by, replaces: null, maxPerPerson: 10 });
      const old = token();
      await store.addToken({ maxPerDomain: 1000, token: old });
      const { id: inSession } = begun;
      const made = async () => {
        const createdBy = maker.id;
        const rotation = { oldId: old.id, oldEndsAt: T0 + HOUR, now: T0, maxPerDomain: 1000 };
        return [
          await store.addToken({ maxPerDomain: 1000, token: token({ createdBy }), inSession }),
          await store.rotateToken({ ...rotation, token: token({ createdBy }), inSession }),
          await store.addSmtpCredential({
            maxPerDomain: 1000,
            credential: credential({ createdBy }),
            inSession,
          }),
          (await store.createWebhook({ ...webhook({ createdBy }), inSession })).kind,
        ];
      };
      expect(await made()).toEqual(['added', 'rotated', 'added', 'created']);
      await store.updatePerson({ id: maker.id, change: { preset: 'Send' }, keepSession: null });
      expect(await made()).toEqual(['ended', 'ended', 'ended', 'ended']);
    });

    it('take along what was made with them, a portion at a time', async () => {
      const maker = token();
      const children = [token(), token(), token({ revokedAt: T0 })].map((one) => ({
        ...one,
        createdBy: maker.id,
      }));
      const grandchild = token({ createdBy: children[0]?.id ?? '' });
      const other = token();
      for (const one of [maker, ...children, grandchild, other])
        await store.addToken({ maxPerDomain: 1000, token: one });
      const taken = credential({
        createdBy: maker.id,
        ipAllowList: ['192.0.2.1'],
        rateLimit: 1,
        expiresAt: T0 + 1,
      });
      const kept = credential({ createdBy: other.id });
      for (const one of [taken, kept]) await store.addSmtpCredential({ maxPerDomain: 1000, credential: one });
      expect(await store.getSmtpCredential({ username: taken.username })).toEqual(taken);
      for (const createdBy of [maker.id, maker.id, maker.id, other.id])
        await createWebhook(store, { createdBy });

      const portions = [];
      for (let afterId: string | null = ''; afterId !== null; ) {
        const portion: Awaited<ReturnType<typeof store.endMadeWith>> = await store.endMadeWith({
          id: maker.id,
          now: T0 + 6,
          afterId,
          limit: 2,
        });
        portions.push(portion);
        afterId = portion.next;
      }
      expect(portions.map(({ tokens }) => tokens.length)).toEqual([2, 1]);
      expect(portions.flatMap(({ tokens }) => tokens).sort()).toEqual(children.map(({ id }) => id).sort());
      expect(portions.flatMap(({ revoked }) => revoked)).toHaveLength(2);
      expect(portions.map(({ credentials }) => credentials)).toEqual([1, 0]);
      expect(portions.map(({ webhooks }) => webhooks)).toEqual([2, 1]);
      const at = async ({ id }: { id: string }) => (await store.getToken({ id }))?.revokedAt;
      expect(await Promise.all([maker, ...children, grandchild, other].map(at))).toEqual([
        null,
        T0 + 6,
        T0 + 6,
        T0,
        null,
        null,
      ]);
      expect(await store.getSmtpCredential({ username: taken.username })).toBeNull();
      expect(await store.getSmtpCredential({ username: kept.username })).toEqual(kept);
      expect((await store.listWebhooks({ limit: 100 })).map((one) => one.createdBy)).toEqual([other.id]);
    });

    it('remember their last use', async () => {
      const one = token();
      await store.addToken({ maxPerDomain: 1000, token: one });
      await store.touchToken({ id: one.id, usedAt: T0 + 3, ip: '192.0.2.7' });
      await store.touchToken({ id: 'nobody', usedAt: T0 + 3, ip: '192.0.2.7' });
      const used = await store.getToken({ id: one.id });
      expect(used).toMatchObject({ lastUsedAt: T0 + 3, lastUsedIp: '192.0.2.7' });
    });
  });

  describe('rotating a token', () => {
    const rotate = (oldId: string, oldEndsAt: number, fresh = token()) =>
      store.rotateToken({ oldId, oldEndsAt, token: fresh, now: T0 + 1, maxPerDomain: 1000 });

    it('stores the new one and lets the old one end later', async () => {
      const [old, endless, fresh] = [token(), token({ expiresAt: null }), token()];
      await store.addToken({ maxPerDomain: 1000, token: old });
      await store.addToken({ maxPerDomain: 1000, token: endless });
      expect(await rotate(old.id, T0 + 5, fresh)).toBe('rotated');
      expect(await store.getToken({ id: fresh.id })).toEqual(fresh);
      const replaced = { ...old, expiresAt: T0 + 5, replacedBy: fresh.id };
      expect(await store.getToken({ id: old.id })).toEqual(replaced);
      expect(await rotate(old.id, T0 + 4)).toBe('ended');
      expect(await store.getToken({ id: old.id })).toEqual(replaced);
      expect(await rotate(endless.id, T0 + 6)).toBe('rotated');
      expect((await store.getToken({ id: endless.id }))?.expiresAt).toBe(T0 + 6);
    });

    it('revokes the old one where there is no overlap, and never prolongs it', async () => {
      const [ends, soon] = [token(), token({ expiresAt: T0 + 2 })];
      for (const one of [ends, soon]) await store.addToken({ maxPerDomain: 1000, token: one });
      await rotate(ends.id, T0 + 1);
      expect((await store.getToken({ id: ends.id }))?.revokedAt).toBe(T0 + 1);
      await rotate(soon.id, T0 + HOUR);
      expect((await store.getToken({ id: soon.id }))?.expiresAt).toBe(T0 + 2);
    });

    it('does nothing for one that is gone, revoked or over', async () => {
      const over = token({ expiresAt: T0 + 1 });
      const revoked = token({ revokedAt: T0 });
      for (const one of [over, revoked]) await store.addToken({ maxPerDomain: 1000, token: one });
      for (const id of [over.id, revoked.id, token().id]) expect(await rotate(id, T0 + HOUR)).toBe('ended');
      expect(await listed({})).toEqual([revoked, over]);
    });
  });

  describe('tokens of a domain', () => {
    const add = (made: Token) => store.addToken({ token: made, maxPerDomain: 2 });
    const rotate = (oldId: string) =>
      store.rotateToken({ oldId, oldEndsAt: T0 + HOUR, token: token(), now: T0, maxPerDomain: 2 });

    it('are limited in number, each domain and tokens of all domains for themselves', async () => {
      const [one, two] = [token({ expiresAt: null }), token()];
      expect([await add(one), await add(two)]).toEqual(['added', 'added']);
      expect([await add(token()), await rotate(one.id)]).toEqual(['full', 'full']);
      expect((await store.getToken({ id: one.id }))?.expiresAt).toBeNull();
      expect(await add(one)).toBe('added');
      expect(await add(token({ domains: ['example.org', 'example.com'] }))).toBe('added');
      const ofAll = { domains: ['*'], scopes: ['admin' as const] };
      for (let n = 0; n < 3; n += 1) expect(await add(token(ofAll))).toBe('added');
      await store.revokeToken({ id: two.id, now: T0 });
      expect(await add(token())).toBe('added');
      expect(await store.getToken({ id: two.id })).toBeNull();
    });

    it('make no room as long as something is there that they made', async () => {
      const [maker, child] = [token(), token()];
      await add(maker);
      await add({ ...child, createdBy: maker.id });
      await store.revokeToken({ id: maker.id, now: T0 });
      expect(await add(token())).toBe('full');
      await store.revokeToken({ id: child.id, now: T0 });
      expect(await add(token())).toBe('added');
      expect((await listed({})).map(({ id }) => id)).toContain(maker.id);
      expect(await store.getToken({ id: child.id })).toBeNull();
    });

    it('are removed long after they ended, unless something that they made is there', async () => {
      const makers = Array.from({ length: 3 }, () => token({ revokedAt: null }));
      const [ofToken, ofCredential, ofWebhook] = makers as [Token, Token, Token];
      const child = token({ createdBy: ofToken.id, expiresAt: null });
      const login = credential({ createdBy: ofCredential.id });
      const expired = token({ expiresAt: T0 + 1 });
      const revoked = token({ expiresAt: null });
      const lately = token({ expiresAt: T0 + HOUR });
      const all = [...makers, child, expired, revoked, lately];
      for (const one of all) await store.addToken({ token: one, maxPerDomain: 1000 });
      await store.addSmtpCredential({ credential: login, maxPerDomain: 1000 });
      await store.createWebhook(webhook({ createdBy: ofWebhook.id }));
      for (const { id } of [...makers, revoked]) await store.revokeToken({ id, now: T0 + 1 });
      const purge = async () => {
        let removed = 0;
        for (let from: { beforeId?: string } | null = {}; from !== null; ) {
          const page: { beforeId?: string } = from;
          const step = await store.purgeTokens({ before: T0 + HOUR, ...page, look: 2 });
          removed += step.removed;
          from = step.nextId === null ? null : { beforeId: step.nextId };
        }
        return removed;
      };
      expect([await purge(), await purge()]).toEqual([2, 0]);
      const left = (await listed({})).map(({ id }) => id).sort();
      expect(left).toEqual([...makers, child, lately].map(({ id }) => id).sort());
      await store.removeSmtpCredential({ id: login.id });
      expect(await purge()).toBe(1);
      expect(await store.getToken({ id: ofCredential.id })).toBeNull();
    });
  });

  describe('signing keys', () => {
    it('are kept in the order they were made, each kid once', async () => {
      expect(await store.signingKeys()).toEqual([]);
      const key = (kid: string, createdAt: number) => ({
        kid,
        privateSealed: new Uint8Array([1, 2]),
        publicJwk: '{}',
        createdAt,
      });
      await store.addSigningKey(key('two', T0 + 1));
      await store.addSigningKey(key('one', T0));
      const keys = await store.signingKeys();
      expect(keys).toEqual([key('one', T0), key('two', T0 + 1)]);
      expect(only(keys.slice(1)).kid).toBe('two');
    });
  });
}
