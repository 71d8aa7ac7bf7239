/** Changes of one person that two operators make at the same moment. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createHashTurns, createPasswords } from './password-hash.ts';
import { createPeople } from './people.ts';

const random = createSystemRandom();
let store: Store;
beforeEach(async () => {
  store = await openTestStore(systemClock);
});
afterEach(async () => {
  await store.close();
});

describe('a change of a person', () => {
  it.each([
    ['disabling', { disabled: true }],
    ['other domains', { domains: ['c.test'] }],
    ['the role as it was', { role: 'member' as const }],
    ['another preset', { preset: 'Full' as const }],
  ])('gives no right back that was taken meanwhile: %s', async (_, wish) => {
    const deps = { clock: systemClock, random, sessions: { forget() {}, forgive() {} } };
    const passwords = createPasswords({ random, hashTurns: createHashTurns() });
    const people = createPeople({ ...deps, passwords, store });
    const { id } = await people.add({
      ...{
        email: 'ada@a.test',
        password: null,
        role: 'member',
        domains: ['a.test', 'b.test'],
        preset: 'Full',
      },
    });
    const other = createPeople({
      ...{ ...deps, passwords },
      store: {
        ...{ addPerson: store.addPerson, getSession: store.getSession, removePerson: store.removePerson },
        getPerson: store.getPerson,
        async updatePerson(params) {
          await people.change(id, { role: 'viewer', domains: ['a.test'] });
          return store.updatePerson(params);
        },
      },
    });
    const domains = 'domains' in wish ? wish.domains : ['a.test'];
    expect(await other.change(id, wish)).toMatchObject({ role: 'viewer', domains });
  });
});
