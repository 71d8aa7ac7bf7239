import { describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createHashTurns, createPasswords } from './password-hash.ts';

describe('turns of hashes', () => {
  it('are two at once, and a lane takes no more than its part of them', async () => {
    const turns = createHashTurns();
    const [people, programs] = [turns.lane({ maxRunning: 1 }), turns.lane({ maxRunning: 2 })];
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        ends.push(resolve);
      });
    const all = [
      people('a', work('person 1')),
      people('b', work('person 2')),
      programs('c', work('program 1')),
      programs('d', work('program 2')),
    ];
    expect(begun).toEqual(['person 1', 'program 1']);
    ends[0]?.();
    await all[0];
    // Nobody of its own lane runs now, so a person is the next.
    expect(begun).toEqual(['person 1', 'program 1', 'person 2']);
    ends[1]?.();
    await all[2];
    expect(begun.at(-1)).toBe('program 2');
    for (const end of ends) end();
    await Promise.all(all);
  });

  it('are few for one asker, and what does not fit is refused', async () => {
    const lane = createHashTurns().lane({ maxRunning: 1 });
    const gate = Promise.withResolvers<void>();
    const mine = Array.from({ length: 8 }, () => lane('me', () => gate.promise));
    await expect(lane('me', async () => 1)).rejects.toMatchObject({
      problems: [
        { name: 'unavailable', message: expect.stringContaining('8 requests of this kind running') },
      ],
    });
    const other = lane('other', async () => 'done');
    const crowd = Array.from({ length: 56 }, (_, n) => lane(`${n}`, async () => n));
    await expect(lane('late', async () => 1)).rejects.toThrow('Too many of these requests are under way');
    gate.resolve();
    await Promise.all([...mine, ...crowd]);
    expect(await other).toBe('done');
    expect(await lane('me', async () => 2)).toBe(2);
  });
});

describe('a password', () => {
  it('is right for its hash alone, in any form of its letters, whatever cost it was made with', async () => {
    const random = createSystemRandom();
    const cheap = createPasswords({ random, hashTurns: createHashTurns() }, { log2: 4, r: 1, p: 1 });
    const other = createPasswords({ random, hashTurns: createHashTurns() }, { log2: 5, r: 2, p: 2 });
    const stored = await cheap.hash('Grüße an alle', 'a');
    expect(stored).toMatch(/^\$scrypt\$ln=4,r=1,p=1\$[\w-]{22}\$[\w-]{43}$/);
    expect(await other.isRight('Gru\u0308ße an alle', stored, 'a', false)).toBe(true);
    expect(await other.isRight('Grüße an all', stored, 'a', false)).toBe(false);
    expect(await other.isRight('', null, 'a', false)).toBe(false);
    await expect(other.isRight('x', '$argon2id$…', 'a', false)).rejects.toThrow('cannot be read');
  });

  it('of somebody who is known waits for no stranger, however many ask', async () => {
    const random = createSystemRandom();
    const passwords = createPasswords({ random, hashTurns: createHashTurns() }, { log2: 4, r: 1, p: 1 });
    const stored = await passwords.hash('correct horse battery', 'ada');
    const guesses = Array.from({ length: 65 }, (_, i) => passwords.isRight('guess', stored, `${i}`, false));
    await expect(passwords.isRight('guess', stored, 'late', false)).rejects.toMatchObject({
      problems: [{ name: 'unavailable' }],
    });
    expect(await passwords.isRight('correct horse battery', stored, 'ada', true)).toBe(true);
    expect((await Promise.all(guesses)).includes(true)).toBe(false);
  });
});
