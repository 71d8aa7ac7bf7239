import { describe, expect, it } from 'vitest';
import { silentLoggers } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import { NO_BOUNDS } from '../../model/token.ts';
import { createHashTurns } from './password-hash.ts';
import { createSmtpCredentials } from './smtp-credentials.ts';

/** Rows in memory, and how often they were asked for. */
function memory() {
  const rows = new Map<string, SmtpCredential>();
  const counts = { gets: 0 };
  return {
    rows,
    counts,
    store: {
      async addSmtpCredential(params: { credential: SmtpCredential; maxPerDomain: number }) {
        const { credential } = params;
        if (rows.size >= params.maxPerDomain) return 'full' as const;
        if (rows.has(credential.username)) return 'taken' as const;
        rows.set(credential.username, credential);
        return 'added' as const;
      },
      async getSmtpCredential({ username }: { username: string }) {
        counts.gets += 1;
        return rows.get(username) ?? null;
      },
      async removeSmtpCredential({ id }: { id: string }) {
        for (const [name, row] of rows) if (row.id === id) return rows.delete(name);
        return false;
      },
    },
  };
}

function setUp(random = createSystemRandom()) {
  const kept = memory();
  const clock = createVirtualClock();
  const credentials = createSmtpCredentials(
    { store: kept.store, clock, random, log: silentLoggers.service },
    { costLog2: 4, maxPerDomain: 20 },
  );
  return { ...kept, clock, credentials };
}

const GRANT = { createdBy: 'maker', rateLimit: null, ...NO_BOUNDS };
const WANTED = { name: 'Shop', domain: 'example.com', sandbox: false, notices: true, grant: GRANT };

describe('an SMTP credential', () => {
  it('logs in with its own password and may send from its one domain', async () => {
    const { credentials, rows } = setUp();
    const { credential, password } = await credentials.create(WANTED);
    expect(password).toMatch(/^[A-Za-z0-9_-]{24}$/);
    expect(JSON.stringify([...rows.values()])).not.toContain(password);
    const caller = await credentials.verify(credential.username.toUpperCase(), password, '192.0.2.1');
    expect(caller).toEqual({
      tokenId: credential.id,
      name: 'Shop',
      owner: credential.id,
      domains: ['example.com'],
      scopes: new Set(['email:send']),
      sandbox: false,
      rateLimit: null,
      bounds: NO_BOUNDS,
      notices: true,
    });
  });

  it('has a password that no program takes for an option', async () => {
    const bytes = (count: number) => new Uint8Array(count).fill(0xfb);
    const { credentials } = setUp({ ...createSystemRandom(), bytes });
    const { credential, password } = await credentials.create(WANTED);
    expect(password).toMatch(/^a[A-Za-z0-9_-]{23}$/);
    expect(await credentials.verify(credential.username, password, '192.0.2.1')).not.toBeNull();
  });

  it('does not log in with anything else', async () => {
    const { credentials } = setUp();
    const one = await credentials.create(WANTED);
    const other = await credentials.create(WANTED);
    expect(await credentials.verify(one.credential.username, other.password, 'a')).toBeNull();
    expect(await credentials.verify(one.credential.username, '', 'a')).toBeNull();
    expect(await credentials.verify('nobody', one.password, 'a')).toBeNull();
    expect(await credentials.verify(one.credential.username, 'x'.repeat(100_000), 'a')).toBeNull();
  });

  it('is made in few turns of its maker, for however many domains, so that others can log in meanwhile', async () => {
    const { store, clock } = setUp();
    const turns = createHashTurns();
    const gate = Promise.withResolvers<void>();
    const credentials = createSmtpCredentials(
      {
        ...{ store, clock, random: createSystemRandom(), log: silentLoggers.service },
        hashTurns: {
          lane(options) {
            const inTurn = turns.lane(options);
            return (asker, work) => inTurn(asker, () => gate.promise.then(work));
          },
        },
      },
      { costLog2: 4 },
    );
    const bounds = { ...NO_BOUNDS, rateShares: [{ key: 'line', perSecond: null }] };
    const made = Array.from({ length: 100 }, (_, i) =>
      credentials
        .create({
          ...WANTED,
          domain: `d${i}.example`,
          grant: { ...GRANT, ...bounds, createdBy: `token ${i}` },
        })
        .catch(() => null),
    );
    const other = credentials.verify('nobody', 'x', '192.0.2.1');
    gate.resolve();
    expect(await other).toBeNull();
    expect((await Promise.all(made)).filter((one) => one !== null)).toHaveLength(8);
  });

  it('is believed for five seconds, and ends at once where it is removed', async () => {
    const { credentials, clock, counts } = setUp();
    const { credential, password } = await credentials.create(WANTED);
    const login = () => credentials.verify(credential.username, password, 'a');
    await login();
    await login();
    expect(counts.gets).toBe(1);
    await clock.advance(5_001);
    await login();
    expect(counts.gets).toBe(2);
    expect(await credentials.remove({ id: credential.id })).toBe(true);
    expect(await login()).toBeNull();
    expect(await credentials.remove({ id: credential.id })).toBe(false);
  });

  it('is not guessed: the eleventh failure of an address within a minute begins a pause', async () => {
    const { credentials } = setUp();
    for (let i = 0; i < 10; i += 1)
      expect(await credentials.verify('nobody', `${i}`, '192.0.2.9')).toBeNull();
    await expect(credentials.verify('nobody', 'x', '192.0.2.9')).rejects.toMatchObject({
      problems: [{ name: 'rate-limited' }],
    });
    expect(await credentials.verify('nobody', 'x', '192.0.2.10')).toBeNull();
  });

  it('costs no hash where the address is paused, and keeps nobody out who has logged in before', async () => {
    const { credentials } = setUp();
    const { credential, password } = await credentials.create(WANTED);
    const fresh = await credentials.create(WANTED);
    const login = (ip: string) => credentials.verify(credential.username, password, ip);
    expect(await login('192.0.2.9')).not.toBeNull();
    for (let i = 0; i < 11; i += 1) {
      await credentials.verify('nobody', `${i}`, '192.0.2.9').catch(() => null);
    }
    // More at once than may wait of one address: each is refused for the pause, none for the queue.
    const guesses = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) =>
        credentials.verify(credential.username, `guess ${i}`, '192.0.2.9'),
      ),
    );
    for (const guess of guesses) {
      expect(guess).toMatchObject({ reason: { problems: [{ name: 'rate-limited' }] } });
    }
    // Also who guesses right.
    await expect(
      credentials.verify(fresh.credential.username, fresh.password, '192.0.2.9'),
    ).rejects.toMatchObject({ problems: [{ name: 'rate-limited' }] });
    expect(await login('192.0.2.9')).not.toBeNull();
  });

  it.each([
    ['address', () => '192.0.2.9'],
    ['site of IPv6', (i: number) => `2001:db8:5:${i}::1`],
  ])('does not let one %s take the places of all who wait', async (_, ip) => {
    const { credentials } = setUp();
    const { credential, password } = await credentials.create(WANTED);
    const flood = Array.from({ length: 100 }, (_, i) => credentials.verify('nobody', `${i}`, ip(i)));
    const other = credentials.verify(credential.username, password, '192.0.2.10');
    const refused = (await Promise.allSettled(flood)).filter((each) => each.status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(90);
    expect(await other).not.toBeNull();
  });

  it('has the limits of its maker: where it may come from, how fast, and to the second how long', async () => {
    const { credentials, clock } = setUp();
    const rateShares = [{ key: 'maker', perSecond: 2 }];
    const grant = {
      createdBy: 'm',
      rateLimit: 2,
      ipAllowList: ['192.0.2.0/24'],
      expiresAt: clock.now() + 60_000,
      rateShares,
    };
    const { credential, password } = await credentials.create({ ...WANTED, grant });
    const login = (ip: string) => credentials.verify(credential.username, password, ip);
    const caller = await login('192.0.2.1');
    expect(caller).toMatchObject({ rateLimit: 2, bounds: { rateShares } });
    await expect(login('198.51.100.1')).rejects.toMatchObject({ problems: [{ name: 'ip-not-allowed' }] });
    await clock.advance(59_999);
    expect(await login('192.0.2.1')).not.toBeNull();
    await clock.advance(1);
    expect(await login('192.0.2.1')).toBeNull();
    expect(await credentials.renew(credential.username, caller as NonNullable<typeof caller>)).toBeNull();
  });

  it('waits its turn in a crowd, and the crowd has an end', async () => {
    const { credentials } = setUp();
    const { credential, password } = await credentials.create(WANTED);
    const tries = Array.from({ length: 60 }, (_, i) =>
      credentials.verify(credential.username, i === 59 ? password : `wrong ${i}`, `192.0.2.${i}`),
    );
    expect((await Promise.all(tries)).filter((caller) => caller !== null)).toHaveLength(1);
    const flood = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) => credentials.verify('nobody', 'x', `198.51.100.${i}`)),
    );
    const refused = flood.filter((each) => each.status === 'rejected');
    expect(refused.length).toBeGreaterThan(100);
    expect(refused[0]).toMatchObject({ reason: { problems: [{ name: 'unavailable' }] } });
  });
});

it('no more SMTP credentials are made for a domain than it may have', async () => {
  const { credentials } = setUp();
  for (let n = 0; n < 20; n += 1) await credentials.create(WANTED);
  await expect(credentials.create(WANTED)).rejects.toMatchObject({
    problems: [{ name: 'smtp-credential-limit' }],
    message: expect.stringContaining('remove'),
  });
});
