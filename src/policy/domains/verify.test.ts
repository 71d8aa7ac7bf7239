import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DnsAnswer } from '../../net/dns-types.ts';
import type { DomainCheck } from './doctor/check.ts';
import { type DomainVerification, verifyDomain } from './verify.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const OWN = '_postrider-verify.mail.example.com';
const DKIM1 = 'pr1._domainkey.mail.example.com';
const DKIM2 = 'pr2._domainkey.mail.example.com';
const publicKeyOf = (bits: number): string =>
  generateKeyPairSync('rsa', { modulusLength: bits })
    .publicKey.export({ type: 'spki', format: 'der' })
    .toString('base64');
const KEY1 = publicKeyOf(2048);
const KEY2 = publicKeyOf(2048);
const GOOD: Zone = {
  [OWN]: [`postrider-verify=${TOKEN}`],
  [DKIM1]: [`v=DKIM1; k=rsa; p=${KEY1}`],
  [DKIM2]: [`v=DKIM1; k=rsa; p=${KEY2}`],
};
const TIMEOUT = { kind: 'failure', reason: 'timeout', detail: 'x' } as const;

type Zone = Record<string, readonly string[] | DnsAnswer<string>>;

/** The texts of `zone`; other names do not exist. */
async function check(zone: Zone, key1 = KEY1): Promise<DomainVerification & { asked: string[] }> {
  const asked: string[] = [];
  const result = await verifyDomain({
    resolver: {
      async txt(name) {
        asked.push(name);
        const entry = zone[name];
        if (entry === undefined) return { kind: 'no-name', ttlSeconds: 60, secure: false };
        return 'kind' in entry ? entry : { kind: 'found', records: entry, ttlSeconds: 60, secure: false };
      },
    },
    domain: 'mail.example.com',
    verifyToken: TOKEN,
    keys: [
      { selector: 'pr1', role: 'active', publicKey: key1 },
      { selector: 'pr2', role: 'standby', publicKey: KEY2 },
    ],
  });
  return { ...result, asked };
}

function of(result: DomainVerification, id: string): DomainCheck {
  const found = result.checks.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no check ${id}`);
  return found;
}

function verdict(result: DomainVerification): string {
  const checks = result.checks.map((each) => each.severity).join(' ');
  return `${result.verified ? 'verified' : 'not verified'}${result.temporary ? ', temporary' : ''}: ${checks}`;
}

describe('verifyDomain', () => {
  it('verifies a domain with all records and asks for nothing else', async () => {
    const result = await check(GOOD);
    expect(verdict(result)).toBe('verified: ok ok ok');
    expect(result.asked.sort()).toEqual([OWN, DKIM1, DKIM2].sort());
    expect(of(result, 'dkim1')).toEqual({
      id: 'dkim1',
      severity: 'ok',
      record: {
        type: 'TXT',
        name: DKIM1,
        expected: `v=DKIM1; k=rsa; p=${KEY1}`,
        found: [`v=DKIM1; k=rsa; p=${KEY1}`],
      },
      message: 'The DKIM record is in place.',
      fix: '',
    });
  });

  it('takes the active key as proof of ownership', async () => {
    const result = await check({ ...GOOD, [OWN]: [] });
    expect(verdict(result)).toBe('verified: ok ok ok');
    expect(of(result, 'own').message).toContain('proven by the DKIM record');
    expect(verdict(await check({ ...GOOD, [OWN]: TIMEOUT }))).toBe('verified: ok ok ok');
  });

  it('does not verify by ownership alone, nor by the standby key', async () => {
    expect(
      verdict(await check({ ...GOOD, [DKIM1]: { kind: 'no-data', ttlSeconds: 1, secure: false } })),
    ).toBe('not verified: ok fail ok');
    expect(verdict(await check({ [DKIM2]: GOOD[DKIM2] ?? [] }))).toBe('not verified: warn fail ok');
  });

  it('verifies while the standby key is missing, with a warning', async () => {
    expect(verdict(await check({ ...GOOD, [DKIM2]: [] }))).toBe('verified: ok ok warn');
    expect(verdict(await check({ ...GOOD, [DKIM2]: TIMEOUT }))).toBe('verified: ok ok unknown');
  });

  it('says what is missing and to publish it', async () => {
    const result = await check({});
    expect(verdict(result)).toBe('not verified: warn fail warn');
    expect(of(result, 'own').message).toBe(`Ownership record not found at ${OWN}.`);
    expect(of(result, 'own').fix).toMatch(/^Publish it exactly as shown\./);
    expect(of(result, 'dkim1').message).toBe(`The DKIM record is missing at ${DKIM1}.`);
    expect(result.asked.length).toBeLessThanOrEqual(9);
  });

  it.each(['mail.example.com', 'example.com'])(
    'notices that the panel appended the zone %s',
    async (zone) => {
      const result = await check({
        [`${OWN}.${zone}`]: GOOD[OWN] ?? [],
        [`${DKIM1}.${zone}`]: GOOD[DKIM1] ?? [],
      });
      expect(verdict(result)).toBe('not verified: warn fail warn');
      expect(of(result, 'own').message).toBe(
        `Found it on ${OWN}.${zone} — your DNS panel appended the zone.`,
      );
      const relative = zone === 'example.com' ? '_postrider-verify.mail' : '_postrider-verify';
      expect(of(result, 'own').fix).toBe(`Enter only the part before it as the name: ${relative}`);
      expect(of(result, 'dkim1').message).toContain(`Found it on ${DKIM1}.${zone}`);
    },
  );

  it('does not take a wildcard for an appended zone', async () => {
    const zone = new Proxy<Zone>({}, { get: () => ['v=spf1 -all'] });
    const result = await check(zone);
    expect(of(result, 'own').message).toBe(`The text at ${OWN} is not the ownership record.`);
    expect(of(result, 'dkim1').message).toBe(`The text at ${DKIM1} is not a DKIM key record.`);
  });

  it('finds the ownership record among others, with blanks or quotes around it, but no other token', async () => {
    for (const text of [
      ` postrider-verify=${TOKEN} `,
      `"postrider-verify=${TOKEN}"`,
      `postrider-verify=${TOKEN.toUpperCase()}`,
    ]) {
      expect(of(await check({ [OWN]: ['v=spf1 -all', text] }), 'own').severity).toBe('ok');
    }
    for (const text of [`postrider-verify=${TOKEN}0`, `postrider-verify=${TOKEN.slice(1)}`, TOKEN, '']) {
      expect(of(await check({ [OWN]: [text] }), 'own').severity).toBe('warn');
    }
  });

  it.each([
    [`v=DKIM1; k=rsa; p=${KEY1.slice(0, 237)}`, /is cut off: found 237 of 392 characters/],
    [`v=DKIM1; p=${KEY2}`, /differs from ours \(found 392 of 392 characters\)/],
    ['v=DKIM1; p=AAAA', /differs from ours \(maybe truncated at 255: found 4 of 392 characters\)/],
    [`v=DKIM1; p=${KEY1.toLowerCase()}`, /changed capital and small letters/],
    ['v=DKIM1; p=', /is revoked: its p= is empty/],
    ['hello', /is not a DKIM key record/],
    [`v=DKIM1\\; p=${KEY1}`, /quotes or backslashes/],
    [`v=DKIM1; h=sha1; p=${KEY1}`, /its h= tag shuts our signatures out/],
  ])('says what is wrong with the key record %#', async (text, message) => {
    const result = await check({ ...GOOD, [DKIM1]: [text] });
    expect(verdict(result)).toBe('not verified: ok fail ok');
    expect(of(result, 'dkim1').message).toMatch(message);
    expect(of(result, 'dkim1').fix).not.toBe('');
  });

  it('refuses several records at a selector and knows a key that was split over them', async () => {
    const text = `v=DKIM1; k=rsa; p=${KEY1}`;
    for (const [texts, message] of [
      [[text, 'x'], /There are 2 TXT records/],
      [[text.slice(0, 255), text.slice(255)], /split into several records/],
      [[text.slice(255), text.slice(0, 255)], /split into several records/],
      [['a', 'b', 'c'], /There are 3 TXT records/],
    ] as const) {
      const result = await check({ ...GOOD, [DKIM1]: texts });
      expect(result.verified).toBe(false);
      expect(of(result, 'dkim1').message).toMatch(message);
    }
  });

  it('warns of the test flag and of weak keys, and refuses keys under 1024 bits', async () => {
    const testing = await check({ ...GOOD, [DKIM1]: [`v=DKIM1; t=y; p=${KEY1}`] });
    expect(verdict(testing)).toBe('verified: ok warn ok');
    expect(of(testing, 'dkim1').message).toContain('t=y');
    const weak = publicKeyOf(1024);
    expect(verdict(await check({ ...GOOD, [DKIM1]: [`p=${weak}`] }, weak))).toBe('verified: ok warn ok');
    const tiny = publicKeyOf(768);
    expect(verdict(await check({ ...GOOD, [DKIM1]: [`p=${tiny}`] }, tiny))).toBe('not verified: ok fail ok');
  });

  it.each(['timeout', 'servfail', 'refused', 'malformed', 'network'] as const)(
    'calls a look-up that ended in %s temporary, never a wrong record',
    async (reason) => {
      const failure = { kind: 'failure', reason, detail: 'secret detail' } as const;
      const result = await check({ [OWN]: failure, [DKIM1]: failure, [DKIM2]: failure });
      expect(verdict(result)).toBe('not verified, temporary: unknown unknown unknown');
      for (const each of result.checks) {
        expect(each.message).toContain('failed for now');
        expect(each.fix).toContain('Check again');
      }
      expect(result.asked).toHaveLength(3);
    },
  );

  it('is not temporary where the active key is missing for certain', async () => {
    expect(verdict(await check({ [OWN]: TIMEOUT }))).toBe('not verified: unknown fail warn');
  });

  it('shows at most ten texts of 512 characters without controls, and survives any answer', async () => {
    const result = await check({
      [OWN]: [
        '\x1b[31mred\u202e\r\n\0',
        'y'.repeat(5_000_000),
        ...Array.from({ length: 5000 }, (_, i) => `${i}`),
      ],
      [DKIM1]: Array.from({ length: 500 }, () => `p=${'A;='.repeat(20_000)}`),
    });
    expect(of(result, 'own').record.found).toHaveLength(10);
    expect(of(result, 'own').record.found[0]).toBe('[31mred');
    expect(of(result, 'own').record.found[1]).toHaveLength(512);
    expect(JSON.stringify(result.checks).length).toBeLessThan(30_000);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 4 }),
        async (texts) => {
          const { checks, verified } = await check({ [OWN]: texts, [DKIM1]: texts, [DKIM2]: texts });
          expect(verified).toBe(false);
          for (const text of checks.flatMap((each) => [...each.record.found, each.message])) {
            expect(text).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
          }
        },
      ),
    );
  });
});
