/** Conformance: idempotency keys of created things other than mail: stored together with the thing, or not at all. */
import { describe, expect, it } from 'vitest';
import { KeyTaken } from '../store.ts';
import { idempotency, type Suite, T0, token, webhook } from './fixtures.ts';
import { person } from './people.ts';

/** Tests of the keys that `createWebhook`, `addToken`, `addSuppressions` and similar operations accept. */
export function describeKeyed({ store, reopen }: Suite): void {
  const stored = (operation: string, key = 'order-1') =>
    store.findIdempotent({ owner: 'project-1', operation, key, expiresBefore: T0 - 1 });
  const heldBy = async (made: Promise<unknown>) => {
    const error = await made.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    return error instanceof KeyTaken ? error.held : error;
  };

  describe('keys of creations', () => {
    it('are taken with the thing, with the figures only the store knows', async () => {
      const key = (more: object = {}) =>
        idempotency({ operation: 'w', body: '{"NewWebhookID":"$id"}', ...more });
      const create = (entry = key()) => store.createWebhook(webhook({ idempotency: entry }));
      const made = await create();
      const id = made.kind === 'created' ? made.id : 0;
      await reopen();
      expect(await stored('w')).toMatchObject({ status: 200, body: `{"NewWebhookID":${id}}` });
      expect(await heldBy(create())).toEqual({ kind: 'replay', status: 200, body: `{"NewWebhookID":${id}}` });
      expect(await heldBy(create(key({ fingerprint: new Uint8Array(32) })))).toEqual({ kind: 'key-reused' });
      expect(await store.listWebhooks({ limit: 100 })).toHaveLength(1);
    });

    it('are free where nothing was made', async () => {
      const full = { ...webhook({ idempotency: idempotency({ operation: 'w' }) }), maxPerDomain: 0 };
      expect(await store.createWebhook(full)).toEqual({ kind: 'limit' });
      expect(await stored('w')).toBeNull();
      const entry = idempotency({ operation: 'r' });
      const gone = {
        oldId: token().id,
        oldEndsAt: T0,
        token: token(),
        maxPerDomain: 9,
        now: T0,
        idempotency: entry,
      };
      expect(await store.rotateToken(gone)).toBe('ended');
      expect(await stored('r')).toBeNull();
      const held = { person: person(), idempotency: idempotency({ operation: 'p' }) };
      expect(await store.addPerson({ ...held, maxPeople: 0 })).toBe('limit');
      const address = { ...person(), email: held.person.email };
      await store.addPerson({ person: address, maxPeople: 9 });
      expect(await store.addPerson({ ...held, maxPeople: 9 })).toBe('exists');
      expect(await stored('p')).toBeNull();
    });

    it('are one of many at the same time, also for entries and tokens', async () => {
      const entry = idempotency({ operation: 's', body: '{"Added":"$added","Existing":"$existing"}' });
      const one = {
        address: 'a@example.net',
        reason: 'Manual',
        note: '',
        expiresAt: null,
        source: null,
      } as const;
      const add = () =>
        store.addSuppressions({ domain: 'example.com', entries: [one], now: T0, idempotency: entry });
      const results = await Promise.all([1, 2, 3].map(() => heldBy(add())));
      expect(results.filter((held) => held === null)).toHaveLength(1);
      expect((await stored('s'))?.body).toBe('{"Added":1,"Existing":0}');
      const same = idempotency({ operation: 't' });
      const tokens = await Promise.all(
        [token(), token()].map((each) =>
          heldBy(store.addToken({ maxPerDomain: 1000, token: each, idempotency: same })),
        ),
      );
      expect(tokens.filter((held) => held === null)).toHaveLength(1);
      expect((await store.listTokens({ limit: 9, look: 9 })).tokens).toHaveLength(1);
      const own = idempotency({ operation: 'p' });
      const people = await Promise.all(
        [person(), person()].map((each) =>
          heldBy(store.addPerson({ person: each, maxPeople: 9, idempotency: own })),
        ),
      );
      expect(people.filter((held) => held === null)).toHaveLength(1);
      expect(await store.listPeople({ limit: 9 })).toHaveLength(1);
    });
  });
}
