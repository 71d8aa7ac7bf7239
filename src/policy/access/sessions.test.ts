/** Whose turn it is to have a password checked, where one person asks very often. The rest: listeners/http/operations. */
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

it('one person with many sessions leaves turns to the others', async () => {
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
      ...{ getPerson: none, getSession: none, addSession: async () => false, endSession: async () => false },
      ...{ touchSession: async () => {}, proveSession: async () => true },
    },
    passwords: createPasswords({ random, hashTurns: gatedTurns(gate.promise) }, cost),
    secondFactors: createSecondFactors({ sealer, clock, random }),
    devices: createKnownDevices({ key: new Uint8Array(32), clock, random }),
  });
  const prove = (who: string, session: string) =>
    sessions.prove(session, person(who), { password: PASSWORD, code: null, ip: '192.0.2.1' });
  const many = Array.from({ length: 100 }, (_, i) => prove('bob', `bob-${i % 20}`).catch(() => null));
  const ada = prove('ada', 'ada-1');
  gate.resolve();
  expect(await ada).toBe(clock.now() + 600_000);
  expect((await Promise.all(many)).filter((until) => until !== null)).toHaveLength(8);
});
