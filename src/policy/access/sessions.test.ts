/** Whose turn it is to have a password checked, where one asks very often. The rest: listeners/http/operations. */
import { expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import type { Person } from '../../model/person.ts';
import { createManualClock } from '../../store/sqlite/test-support.ts';
import { createKnownDevices } from './known-devices.ts';
import { createHashTurns, createPasswords, type HashTurns } from './password-hash.ts';
import { createSecondFactors } from './second-factor.ts';
import { createSessions } from './sessions.ts';

const PASSWORD = 'correct horse battery';

/** Turns in which nothing ends before the gate is opened. */
function gatedTurns(gate: Promise<void>): HashTurns {
  const turns = createHashTurns();
  return {
    lane(options) {
      const inTurn = turns.lane(options);
      return (asker, work) => inTurn(asker, () => gate.then(work));
    },
  };
}

async function setUp() {
  const [clock, random] = [createManualClock(), createSystemRandom()];
  const cost = { log2: 4, r: 1, p: 1 };
  const hashed = await createPasswords({ random, hashTurns: createHashTurns() }, cost).hash(PASSWORD, '');
  const person = (id: string): Person => ({
    ...{ id, email: `${id}@example.com`, passwordHash: hashed, role: 'member', domains: ['example.com'] },
    ...{ preset: 'Full', createdAt: 0, lastSignInAt: null, disabledAt: null },
    ...{ secondFactor: null, identity: null },
  });
  const gate = Promise.withResolvers<void>();
  const none = async () => null;
  const log = { info() {}, warn() {}, error() {}, debug() {} };
  const sealer = createSealer([{ id: 'one', secret: new Uint8Array(32) }]);
  const sessions = createSessions({
    ...{ clock, random, log },
    store: {
      ...{
        getPerson: async () => person('ada'),
        getSession: none,
        addSession: async () => true,
        endSession: async () => false,
      },
      ...{ touchSession: async () => {}, proveSession: async () => true },
    },
    passwords: createPasswords({ random, hashTurns: gatedTurns(gate.promise) }, cost),
    secondFactors: createSecondFactors({ sealer, clock, random }),
    devices: createKnownDevices({ key: new Uint8Array(32), clock, random }),
  });
  return { clock, gate, person, sessions };
}

it('one person with many sessions leaves turns to the others', async () => {
  const { clock, gate, person, sessions } = await setUp();
  const prove = (who: string, session: string) =>
    sessions.prove(session, person(who), { password: PASSWORD, code: null, ip: '192.0.2.1' });
  const many = Array.from({ length: 100 }, (_, i) => prove('bob', `bob-${i % 20}`).catch(() => null));
  const ada = prove('ada', 'ada-1');
  gate.resolve();
  expect(await ada).toBe(clock.now() + 600_000);
  expect((await Promise.all(many)).filter((until) => until !== null)).toHaveLength(8);
});

it('one site of IPv6 with many networks leaves turns to others who sign in with a new browser', async () => {
  const { gate, sessions } = await setUp();
  const signIn = (email: string, ip: string) => {
    const browser = { ip, userAgent: '', replaces: null, device: null };
    return sessions.signIn({ email, password: PASSWORD, code: null, ...browser });
  };
  const many = Array.from({ length: 100 }, (_, i) =>
    signIn(`x${i}@example.com`, `2001:db8:5:${i}::1`).catch(() => null),
  );
  const ada = signIn('ada@example.com', '192.0.2.1');
  gate.resolve();
  expect((await ada).person.id).toBe('ada');
  expect((await Promise.all(many)).filter((one) => one !== null)).toHaveLength(8);
});
