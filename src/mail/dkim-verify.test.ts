import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { describe, expect, it } from 'vitest';
import { type KeyLookup, verifyDkim } from './dkim-verify.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
const DOMAINS: ReadonlySet<string> = new Set(['example.com', 'example.org']);
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const ed = generateKeyPairSync('ed25519');
const p = (key: typeof rsa.publicKey) => key.export({ format: 'der', type: 'spki' }).toString('base64');
const RECORDS: Record<string, string> = {
  'r._domainkey.example.com': `v=DKIM1; k=rsa; p=${p(rsa.publicKey)}`,
  'bare._domainkey.example.com': `p=${p(rsa.publicKey)}`,
  'e._domainkey.example.com': `v=DKIM1; k=ed25519; p=${ed.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`,
  'gone._domainkey.example.com': 'v=DKIM1; k=rsa; p=',
  'odd._domainkey.example.com': 'v=DKIM1; k=rsa; p=AAAA',
  'sha1._domainkey.example.com': `v=DKIM1; h=sha1; k=rsa; p=${p(weak.publicKey)}`,
};
const verify = (message: Uint8Array, lookUp: KeyLookup, nowMs = NOW_MS) =>
  verifyDkim(message, { domains: DOMAINS, lookUp, nowMs, turn: () => undefined });
const lookUp: KeyLookup = async (name) => {
  const text = RECORDS[name];
  return text === undefined ? { kind: 'none' } : { kind: 'found', texts: [text] };
};
/** A record's key of so many bits, as it would be published. */
const rsaKeyOf = (bits: number) => {
  const n = Buffer.alloc(bits / 8, 0xff).toString('base64url');
  return p(createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' }));
};
/** The judge's way of asking. */
const resolver = async (name: string) => {
  const text = RECORDS[name];
  if (text === undefined) throw Object.assign(new Error('no name'), { code: 'ENOTFOUND' });
  return [[text]];
};

const MESSAGE = [
  'From: "Feedback" <feedback@example.com>',
  'To: fbl@bounces.example.org',
  'SUBJECT:  A \tcomplaint',
  '\tgoes on  ',
  'Subject: second',
  'Date: Sat, 21 Nov 2026 12:00:00 +0000',
  '',
  'line  one ',
  '\tline\ttwo',
  '',
  '',
  '',
].join('\r\n');

async function signed(
  options: {
    selector?: string;
    canonicalization?: string;
    message?: string;
    key?: 'rsa' | 'ed';
    extra?: object;
  } = {},
): Promise<Buffer> {
  const { selector = 'r', canonicalization = 'relaxed/relaxed', message = MESSAGE, key = 'rsa' } = options;
  const by = {
    signingDomain: 'example.com',
    selector,
    privateKey: (key === 'rsa' ? rsa : ed).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
  const result = await dkimSign(message, {
    ...by,
    canonicalization,
    algorithm: key === 'rsa' ? 'rsa-sha256' : 'ed25519-sha256',
    signTime: new Date(NOW_MS),
    signatureData: [by],
    ...options.extra,
  });
  expect(result.errors).toEqual([]);
  return Buffer.from(result.signatures + message, 'latin1');
}

const verdictOf = async (message: Uint8Array, nowMs = NOW_MS) => {
  const [first] = await verify(message, lookUp, nowMs);
  return first === undefined ? 'none' : first.result === 'pass' ? 'pass' : `${first.result}: ${first.detail}`;
};
const judged = async (message: Buffer): Promise<string> => {
  const { results } = await dkimVerify(message, { resolver, curTime: new Date(NOW_MS) });
  return results[0]?.status.result ?? 'none';
};

describe('a DKIM signature', () => {
  for (const canonicalization of ['relaxed/relaxed', 'relaxed/simple', 'simple/relaxed', 'simple/simple']) {
    for (const key of ['rsa', 'ed'] as const) {
      it(`made elsewhere as ${canonicalization} with ${key} verifies, and no longer when altered`, async () => {
        const message = await signed({ canonicalization, key, selector: key === 'rsa' ? 'r' : 'e' });
        expect(await verdictOf(message)).toBe('pass');
        const text = message.toString('latin1');
        expect(await verdictOf(Buffer.from(text.replace('line  one', 'line  two'), 'latin1'))).toBe(
          'fail: the body was changed',
        );
        expect(await verdictOf(Buffer.from(text.replace('feedback@', 'forged@'), 'latin1'))).toBe(
          'fail: the signature does not match',
        );
        expect(await verdictOf(Buffer.from(text.replace('d=example.com', 'd=example.org'), 'latin1'))).toBe(
          'fail: there is no key',
        );
      });
    }
  }

  it('is judged as another verifier judges it, whatever the message and the change to it', async () => {
    const piece = fc.constantFrom('a', ' ', '\t', '\r\n', '.', ' \r\n', '\r\n\r\n', 'word', ';', 'b=x');
    const body = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.constantFrom('relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed'),
        fc.option(fc.record({ at: fc.nat(), to: fc.constantFrom('x', ' ', 'X') })),
        async (text, canonicalization, change) => {
          const whole = await signed({
            canonicalization,
            message: `From: a@example.com\r\nSubject: x\r\n\r\n${text}\r\n`,
          });
          if (change !== null) {
            // Only below the signature: how broken tags are read is each reader's own affair.
            const from = whole.indexOf('\r\nFrom:') + 2;
            whole.write(change.to, from + (change.at % (whole.length - from)), 'latin1');
          }
          const theirs = await judged(whole);
          const ours = await verdictOf(whole);
          // Stricter is allowed, never laxer; an unaltered one passes for both.
          if (ours === 'pass') expect(theirs).toBe('pass');
          if (change === null) expect([ours, theirs]).toEqual(['pass', 'pass']);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each(['second\r ', 'second\n ', 'second \r'])(
    'does not count where the header has %j',
    async (value) => {
      const text = (await signed()).toString('latin1');
      expect(await verdictOf(Buffer.from(text.replace('second', value), 'latin1'))).not.toBe('pass');
    },
  );

  it('counts with a record that holds the key alone', async () => {
    expect(await verdictOf(await signed({ selector: 'bare' }))).toBe('pass');
  });

  it('does not count with a key that is revoked, broken, missing or for other hashes', async () => {
    expect(await verdictOf(await signed({ selector: 'gone' }))).toBe('fail: the key was revoked');
    expect(await verdictOf(await signed({ selector: 'odd' }))).toBe('fail: the key cannot be read');
    expect(await verdictOf(await signed({ selector: 'none' }))).toBe('fail: there is no key');
    expect(await verdictOf(await signed({ selector: 'sha1' }))).toBe('fail: the key allows no SHA-256');
    expect(await verdictOf(await signed({ selector: 'e' }))).toBe('fail: the key is of another kind');
  });

  it('does not count with two keys, one of another version, or one that is too short or too long', async () => {
    const message = await signed();
    const verdictWith = async (...texts: string[]) =>
      (await verify(message, async () => ({ kind: 'found', texts })))[0]?.detail;
    const record = RECORDS['r._domainkey.example.com'] ?? '';
    expect(await verdictWith(record)).toBe('');
    expect(await verdictWith(record, record)).toBe('there is not exactly one key');
    expect(await verdictWith(record.replace('DKIM1', 'DKIM2'))).toBe('the key is of another kind');
    expect(await verdictWith(`k=rsa; p=${p(ed.publicKey)}`)).toBe('the key is of another kind');
    expect(await verdictWith(`k=rsa; p=${rsaKeyOf(512)}`)).toBe('a key of 512 bits');
    expect(await verdictWith(`k=rsa; p=${rsaKeyOf(8200)}`)).toBe('a key of 8200 bits');
  });

  it('does not count in another version, or for an identity outside of its domain', async () => {
    const text = (await signed()).toString('latin1');
    const changed = (from: string, to: string) => verdictOf(Buffer.from(text.replace(from, to), 'latin1'));
    expect(await changed('v=1;', 'v=2;')).toBe('fail: not version 1');
    expect(await changed('a=rsa-sha256;', 'a=rsa-sha256; i=@notexample.com;')).toBe('fail: i= is outside d=');
    expect(await changed('a=rsa-sha256;', 'a=rsa-sha256; i=@a.example.com;')).toBe(
      'fail: the signature does not match',
    );
  });

  it('does not count when it covers part of the body, has expired, or leaves From out', async () => {
    const expired = await signed({ extra: { expires: new Date(NOW_MS + 60_000) } });
    expect(await verdictOf(expired)).toBe('pass');
    expect(await verdictOf(expired, NOW_MS + 120_000)).toBe('fail: it has expired');
    const text = (await signed()).toString('latin1');
    expect(await verdictOf(Buffer.from(text.replace('a=rsa-sha256;', 'a=rsa-sha256; l=1;'), 'latin1'))).toBe(
      'fail: it covers only part of the body',
    );
    expect(await verdictOf(Buffer.from(text.replace('a=rsa-sha256;', 'a=rsa-sha1;'), 'latin1'))).toBe(
      'fail: an algorithm that does not count',
    );
    expect(await verdictOf(Buffer.from(text.replace(/\bh=[^;]*/, 'h=Subject'), 'latin1'))).toBe(
      'fail: From is not signed',
    );
  });

  it('is unknown while keys cannot be looked up, and none where there is none', async () => {
    const message = await signed();
    const [failing] = await verify(message, async () => ({ kind: 'failure' }));
    const [throwing] = await verify(message, () => Promise.reject(new Error('no')));
    expect([failing?.result, throwing?.result]).toEqual(['unknown', 'unknown']);
    expect(await verify(Buffer.from(MESSAGE), lookUp)).toEqual([]);
    expect(await verify(Buffer.from('no header at all'), lookUp)).toEqual([]);
  });

  it('is looked at five times at most', async () => {
    let asked = 0;
    const text = (await signed()).toString('latin1');
    const one = text.slice(0, text.indexOf('\r\nFrom:') + 2);
    await verify(Buffer.from(one.repeat(50) + text, 'latin1'), async () => {
      asked += 1;
      return { kind: 'none' };
    });
    expect(asked).toBe(5);
  });

  it('of another domain is not looked at, wherever it stands', async () => {
    const asked: string[] = [];
    let turns = 0;
    const text = (await signed()).toString('latin1');
    const own = text.slice(0, text.indexOf('\r\nFrom:') + 2);
    const theirs = own.replace('d=example.com', 'd=stranger.example').repeat(20);
    const ask = (message: string) =>
      verifyDkim(Buffer.from(message, 'latin1'), {
        domains: DOMAINS,
        lookUp: async (name) => {
          asked.push(name);
          return lookUp(name);
        },
        nowMs: NOW_MS,
        turn: () => {
          turns += 1;
          return undefined;
        },
      });
    expect(await ask(theirs + MESSAGE)).toEqual([]);
    // One for each field, none for the body.
    expect(turns).toBe(20);
    expect(await ask(theirs + text)).toEqual([{ domain: 'example.com', result: 'pass', detail: '' }]);
    expect(asked).toEqual(['r._domainkey.example.com']);
  });

  it('has its body hashed in turns, once for each form, whatever the number of signatures', async () => {
    const turnsOf = async (message: string) => {
      let turns = 0;
      const turn = () => {
        turns += 1;
        return undefined;
      };
      await verifyDkim(Buffer.from(message), { domains: DOMAINS, lookUp, nowMs: NOW_MS, turn });
      return turns;
    };
    const body = 'a \r\n'.repeat(500_000);
    const sign = (form: string, count: number) =>
      `DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=r; c=${form}; h=from; bh=AAAA; b=AAAA\r\n`.repeat(
        count,
      );
    const one = await turnsOf(`${sign('relaxed/relaxed', 1)}From: a\r\n\r\n${body}`);
    expect(one).toBeGreaterThan(3);
    expect(await turnsOf(`${sign('relaxed/relaxed', 5)}From: a\r\n\r\n${body}`)).toBe(one + 4);
    const both = `${sign('relaxed/relaxed', 2)}${sign('simple/simple', 2)}From: a\r\n\r\n${body}`;
    expect(await turnsOf(both)).toBe(one + 3);
  });
});
