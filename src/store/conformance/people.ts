/** Conformance: people who sign in, and their sessions. */
import { describe, expect, it } from 'vitest';
import type { Person, PersonSession, SecondProof } from '../../model/person.ts';
import { HOUR, newId, type Suite, T0 } from './fixtures.ts';

/** A member for example.com. */
export function person(more: Partial<Person> = {}): Person {
  const id = newId();
  return {
    id,
    email: `${id}@example.com`,
    passwordHash: '$scrypt$first',
    role: 'member',
    domains: ['example.com'],
    preset: 'Default',
    createdAt: T0,
    lastSignInAt: null,
    disabledAt: null,
    secondFactor: null,
    identity: null,
    ...more,
  };
}

export function session(personId: string, more: Partial<PersonSession> = {}): PersonSession {
  const id = newId();
  return {
    id,
    secretHash: new TextEncoder().encode(id),
    personId,
    createdAt: T0 + 1,
    lastUsedAt: T0 + 1,
    endsAt: T0 + HOUR,
    userAgent: 'Firefox',
    ip: '192.0.2.1',
    byProvider: false,
    provenAt: T0 + 1,
    ...more,
  };
}

/** Tests of the operations of people and their sessions. */
export function describePeople({ store }: Suite): void {
  const add = (one: Person, maxPeople = 100) => store.addPerson({ person: one, maxPeople });
  const begin = (
    one: PersonSession,
    replaces: Uint8Array | null = null,
    maxPerPerson = 10,
    proof: SecondProof | null = null,
  ) =>
    store.addSession({ session: one, by: { passwordHash: '$scrypt$first', proof }, replaces, maxPerPerson });
  const idsOf = async (personId: string) =>
    (await store.listSessions({ personId, limit: 100 })).map(({ id }) => id);

  describe('people', () => {
    it('come back by id and by address as they were stored, each address once', async () => {
      const one = person({ disabledAt: T0 + 5, preset: null, role: 'viewer', domains: ['*'] });
      expect(await add(one)).toBe('added');
      expect(await add(one)).toBe('added');
      expect(await store.getPerson({ id: one.id })).toEqual(one);
      expect(await store.getPerson({ email: one.email })).toEqual(one);
      expect(await store.getPerson({ email: 'nobody@example.com' })).toBeNull();
      expect(await add(person({ email: one.email }))).toBe('exists');
      expect(await add(person(), 1)).toBe('limit');
    });

    it('are listed newest first, a page at a time', async () => {
      const all = [person(), person(), person()];
      for (const one of all) await add(one);
      const [first, second, third] = all;
      const page = await store.listPeople({ limit: 2 });
      expect(page).toEqual([third, second]);
      expect(await store.listPeople({ limit: 2, beforeId: second?.id ?? '' })).toEqual([first]);
    });

    it('change what is told and lose their sessions but one', async () => {
      const one = person();
      const other = person();
      for (const each of [one, other]) await add(each);
      const [kept, ended, foreign] = [session(one.id), session(one.id), session(other.id)];
      for (const each of [kept, ended, foreign]) expect(await begin(each)).toBe(true);
      const change = { role: 'viewer', preset: null, domains: ['a.example', 'b.example'] } as const;
      const changed = await store.updatePerson({ id: one.id, change, keepSession: kept.id });
      expect(changed).toEqual({ ...one, ...change, lastSignInAt: T0 + 1 });
      expect(await store.getPerson({ id: one.id })).toEqual(changed);
      expect(await idsOf(one.id)).toEqual([kept.id]);
      expect(await idsOf(other.id)).toEqual([foreign.id]);
      const off = { change: { passwordHash: '$scrypt$second', disabledAt: T0 + 9 }, keepSession: null };
      expect(await store.updatePerson({ id: one.id, ...off })).toEqual({ ...changed, ...off.change });
      expect(await idsOf(one.id)).toEqual([]);
      expect(await store.updatePerson({ id: newId(), ...off })).toBeNull();
    });

    it('change only with the password and the session that are told, where both are', async () => {
      const one = person();
      const other = person();
      for (const each of [one, other]) await add(each);
      const [kept, foreign] = [session(one.id), session(other.id)];
      for (const each of [kept, foreign]) await begin(each);
      const change = { passwordHash: '$scrypt$second' };
      const update = async (passwordHash: string | null, keepSession: string, more: object = {}) => {
        const asked = { id: one.id, change: { ...change, ...more }, keepSession, only: { passwordHash } };
        return (await store.updatePerson(asked)) !== null;
      };
      expect(await update('$scrypt$other', kept.id)).toBe(false);
      expect(await update(one.passwordHash, newId())).toBe(false);
      expect(await update(one.passwordHash, foreign.id)).toBe(false);
      expect((await store.getPerson({ id: one.id }))?.passwordHash).toBe(one.passwordHash);
      expect(await idsOf(one.id)).toEqual([kept.id]);
      expect(await update(one.passwordHash, kept.id, { disabledAt: T0 })).toBe(true);
      expect(await update(change.passwordHash, kept.id)).toBe(false);
    });

    it('are not added or changed by somebody whose session has ended', async () => {
      const [one, operator] = [person(), person({ role: 'operator' })];
      for (const each of [one, operator]) await add(each);
      const { id: inSession } = session(operator.id);
      const open = session(operator.id);
      await begin(open);
      const change = { id: one.id, change: { role: 'operator' as const }, keepSession: null };
      expect(await store.updatePerson({ ...change, inSession })).toBeNull();
      expect(await store.addPerson({ person: person(), maxPeople: 100, inSession })).toBe('ended');
      expect((await store.getPerson(one))?.role).toBe('member');
      const still = { inSession: open.id };
      expect(await store.updatePerson({ ...change, ...still })).toMatchObject({ role: 'operator' });
      expect(await store.addPerson({ person: person(), maxPeople: 100, ...still })).toBe('added');
    });

    it('are removed with their sessions', async () => {
      const one = person();
      await add(one);
      const open = session(one.id);
      await begin(open);
      expect(await store.removePerson({ id: one.id })).toBe(true);
      expect(await store.removePerson({ id: one.id })).toBe(false);
      expect(await store.getSession(open)).toBeNull();
      expect(await idsOf(one.id)).toEqual([]);
    });
  });

  describe('sessions', () => {
    it('are found by their secret’s hash and by id, with whom they are of', async () => {
      const one = person();
      await add(one);
      const begun = session(one.id);
      expect(await begin(begun)).toBe(true);
      expect(await begin(begun)).toBe(true);
      const found = { session: begun, person: { ...one, lastSignInAt: T0 + 1 } };
      expect(await store.getSession({ secretHash: begun.secretHash })).toEqual(found);
      expect(await store.getSession({ id: begun.id })).toEqual(found);
      expect(await store.getSession({ secretHash: new Uint8Array(3) })).toBeNull();
    });

    it('begin only for people who may sign in with that very password', async () => {
      const off = person({ disabledAt: T0 });
      const changed = person({ passwordHash: '$scrypt$second' });
      for (const one of [off, changed]) await add(one);
      for (const id of [off.id, changed.id, newId()]) expect(await begin(session(id))).toBe(false);
    });

    it('begin with what the second factor asks for, each proof once', async () => {
      const secondFactor = { secretSealed: 'sealed', lastStep: 7, recoveryHashes: ['a', 'b'] };
      const one = person({ secondFactor });
      const plain = person();
      for (const each of [one, plain]) await add(each);
      const withProof = (proof: SecondProof | null, { id } = one) => begin(session(id), null, 10, proof);
      expect(await withProof({ step: 8 }, plain)).toBe(false);
      for (const proof of [null, { step: 7 }, { recoveryHash: 'c' }])
        expect(await withProof(proof)).toBe(false);
      expect(await withProof({ step: 8 })).toBe(true);
      expect(await withProof({ step: 8 })).toBe(false);
      expect(await withProof({ recoveryHash: 'a' })).toBe(true);
      expect(await withProof({ recoveryHash: 'a' })).toBe(false);
      const left = { secretSealed: 'sealed', lastStep: 8, recoveryHashes: ['b'] };
      expect((await store.getPerson(one))?.secondFactor).toEqual(left);
      const off = { id: one.id, change: { secondFactor: null }, keepSession: null };
      expect((await store.updatePerson(off))?.secondFactor).toBeNull();
      expect(await withProof(null)).toBe(true);
    });

    it('begin for one account of an identity provider, the first that signs in, until it is forgotten', async () => {
      const one = person({ passwordHash: null });
      const off = person({ disabledAt: T0 });
      for (const each of [one, off]) await add(each);
      const by = (issuer: string, subject: string, { id } = one) =>
        store.addSession({
          session: session(id, { byProvider: true }),
          by: { identity: { issuer, subject } },
          replaces: null,
          maxPerPerson: 10,
        });
      expect(await begin(session(one.id))).toBe(false);
      expect(await by('https://login.example', 'ada', off)).toBe(false);
      for (let times = 0; times < 2; times += 1) expect(await by('https://login.example', 'ada')).toBe(true);
      expect(await by('https://login.example', 'eve')).toBe(false);
      expect(await by('https://other.example', 'ada')).toBe(false);
      const known = { issuer: 'https://login.example', subject: 'ada' };
      expect((await store.getPerson(one))?.identity).toEqual(known);
      const [begun] = await store.listSessions({ personId: one.id, limit: 1 });
      expect(begun?.byProvider).toBe(true);
      const forget = { id: one.id, change: { identity: null }, keepSession: null };
      expect((await store.updatePerson(forget))?.identity).toBeNull();
      expect(await by('https://other.example', 'ada')).toBe(true);
    });

    it('note a proof of who uses them, once for each proof, as long as they last', async () => {
      const secondFactor = { secretSealed: 'sealed', lastStep: 7, recoveryHashes: [] };
      const one = person({ secondFactor });
      await add(one);
      const begun = session(one.id);
      await begin(begun, null, 10, { step: 8 });
      const prove = (step: number, passwordHash = '$scrypt$first', personId = one.id) => {
        const by = { passwordHash, proof: { step } };
        return store.proveSession({ id: begun.id, personId, by, provenAt: T0 + step });
      };
      expect(await prove(8)).toBe(false);
      expect(await prove(9, '$scrypt$other')).toBe(false);
      expect(await prove(9, '$scrypt$first', newId())).toBe(false);
      expect((await store.getSession(begun))?.session.provenAt).toBe(T0 + 1);
      expect(await prove(9)).toBe(true);
      expect(await prove(9)).toBe(false);
      const found = await store.getSession(begun);
      expect([found?.session.provenAt, found?.person.secondFactor?.lastStep]).toEqual([T0 + 9, 9]);
      await store.endSession({ id: begun.id, personId: one.id });
      expect(await prove(10)).toBe(false);
      expect((await store.getPerson(one))?.secondFactor?.lastStep).toBe(9);
    });

    it('take the place of the one before, and of the oldest where there are many', async () => {
      const one = person();
      await add(one);
      const [first, second, third] = [session(one.id), session(one.id), session(one.id)];
      await begin(first);
      await begin(second, first.secretHash);
      expect(await idsOf(one.id)).toEqual([second.id]);
      await begin(third, null, 2);
      expect(await idsOf(one.id)).toEqual([third.id, second.id]);
      const fourth = session(one.id);
      await begin(fourth, null, 2);
      expect(await idsOf(one.id)).toEqual([fourth.id, third.id]);
    });

    it('end one by one, by whom they are of', async () => {
      const one = person();
      await add(one);
      const begun = session(one.id);
      await begin(begun);
      expect(await store.endSession({ id: begun.id, personId: newId() })).toBe(false);
      expect(await store.endSession({ id: begun.id, personId: one.id })).toBe(true);
      expect(await store.getSession(begun)).toBeNull();
    });

    it('are removed when nobody used them for long or their time is over', async () => {
      const one = person();
      await add(one);
      const [used, unused, over] = [
        session(one.id),
        session(one.id),
        session(one.id, { endsAt: T0 + 50, lastUsedAt: T0 + 40 }),
      ];
      for (const each of [used, unused, over]) await begin(each);
      await store.touchSession({ id: used.id, usedAt: T0 + 30, ip: '192.0.2.2' });
      const step = { now: T0 + 50, unusedSince: T0 + 20 };
      expect(await store.purgeSessions({ ...step, limit: 1 })).toBe(1);
      expect(await store.purgeSessions({ ...step, limit: 9 })).toBe(1);
      expect(await store.purgeSessions({ ...step, limit: 9 })).toBe(0);
      const left = { ...used, lastUsedAt: T0 + 30, ip: '192.0.2.2' };
      expect(await store.listSessions({ personId: one.id, limit: 9 })).toEqual([left]);
    });
  });
}
