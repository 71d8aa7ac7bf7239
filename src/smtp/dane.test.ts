import { createHash, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTestCa, type TestCertificate } from '../../test/fakes/test-certificates.ts';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import type { TlsaRecord } from '../net/dns-types.ts';
import { checkDane, usableTlsa } from './dane.ts';

const NOW = Date.parse('2026-05-31T00:00:00Z');
const ca = createTestCa();
const caDer = new X509Certificate(ca.cert).raw;
const caKey = new X509Certificate(ca.cert).publicKey.export({ type: 'spki', format: 'der' });
const leaf = ca.issue({ names: ['mx.example.net'] });
const expired = ca.issue({ names: ['mx.example.net'], notAfter: new Date('2025-01-01T00:00:00Z') });
const names = ['mx.example.net', 'example.net'];

const digest = (algorithm: 'sha256' | 'sha512', bytes: Uint8Array) =>
  createHash(algorithm).update(bytes).digest();
const tlsa = (usage: number, selector: number, matching: number, data: Uint8Array): TlsaRecord => ({
  usage,
  selector,
  matching,
  data,
});
const check = (
  record: TlsaRecord,
  shown: TestCertificate,
  chain: readonly Uint8Array[] = [],
  asked = names,
) => checkDane({ records: [record], names: asked }, [shown.certDer, ...chain], NOW);

/** The value of a record for some bytes, by matching type. */
function associated(matching: number, bytes: Uint8Array): Uint8Array {
  return matching === 0 ? bytes : digest(matching === 1 ? 'sha256' : 'sha512', bytes);
}

describe('DANE-EE', () => {
  for (const selector of [0, 1]) {
    for (const matching of [0, 1, 2]) {
      it(`3 ${selector} ${matching} matches the server's own and nothing else`, () => {
        const bytes = selector === 0 ? leaf.certDer : leaf.spkiDer;
        const record = tlsa(3, selector, matching, associated(matching, bytes));
        expect(check(record, leaf)).toEqual({ kind: 'matched', record: `3 ${selector} ${matching}` });
        expect(check(record, ca.issue({ names: ['mx.example.net'] })).kind).toBe('mismatched');
      });
    }
  }

  it('asks neither for the name nor for the dates', () => {
    expect(
      check(tlsa(3, 1, 1, digest('sha256', expired.spkiDer)), expired, [], ['another.example']).kind,
    ).toBe('matched');
  });

  it('does not take an authority for the server’s own certificate', () => {
    expect(check(tlsa(3, 0, 1, digest('sha256', caDer)), leaf, [caDer]).kind).toBe('mismatched');
  });
});

describe('DANE-TA', () => {
  for (const selector of [0, 1]) {
    for (const matching of [0, 1, 2]) {
      it(`2 ${selector} ${matching} matches the authority that the server sends`, () => {
        const record = tlsa(2, selector, matching, associated(matching, selector === 0 ? caDer : caKey));
        expect(check(record, leaf, [caDer])).toMatchObject({ kind: 'matched' });
      });
    }
  }

  it('needs no authority on the wire where all of it stands in DNS, and cannot do without where only a digest does', () => {
    expect(check(tlsa(2, 0, 0, caDer), leaf).kind).toBe('matched');
    expect(check(tlsa(2, 1, 0, caKey), leaf).kind).toBe('matched');
    expect(check(tlsa(2, 0, 1, digest('sha256', caDer)), leaf).kind).toBe('mismatched');
  });

  it('asks for the name: the host’s or the recipient domain’s', () => {
    const record = tlsa(2, 0, 1, digest('sha256', caDer));
    expect(check(record, ca.issue({ names: ['example.net'] }), [caDer]).kind).toBe('matched');
    const other = check(record, ca.issue({ names: ['mx.example.org'] }), [caDer]);
    expect(other).toMatchObject({ kind: 'mismatched', detail: expect.stringContaining('mx.example.net') });
  });

  it('asks for the dates', () => {
    const record = tlsa(2, 0, 1, digest('sha256', caDer));
    expect(check(record, expired, [caDer])).toMatchObject({ detail: expect.stringContaining('expired') });
  });

  it('believes no authority that did not sign', () => {
    const stranger = createTestCa();
    const strangerDer = new X509Certificate(stranger.cert).raw;
    expect(check(tlsa(2, 0, 1, digest('sha256', strangerDer)), leaf, [strangerDer]).kind).toBe('mismatched');
    expect(check(tlsa(2, 0, 1, digest('sha256', strangerDer)), leaf, [caDer, strangerDer]).kind).toBe(
      'mismatched',
    );
    // The name of the right authority with another key.
    expect(check(tlsa(2, 0, 0, strangerDer), leaf).kind).toBe('mismatched');
  });

  it('does not take a server’s certificate for an authority', () => {
    const signedByLeaf = leaf.certDer;
    expect(check(tlsa(2, 0, 1, digest('sha256', signedByLeaf)), leaf, [signedByLeaf]).kind).toBe(
      'mismatched',
    );
  });
});

it('matches where one of several records does', () => {
  const records = [tlsa(3, 1, 1, digest('sha256', caDer)), tlsa(3, 1, 1, digest('sha256', leaf.spkiDer))];
  expect(checkDane({ records, names }, [leaf.certDer], NOW).kind).toBe('matched');
});

it('tells which records can be used', () => {
  const sha256 = digest('sha256', leaf.spkiDer);
  const good = [
    tlsa(3, 1, 1, sha256),
    tlsa(2, 0, 2, digest('sha512', caDer)),
    tlsa(2, 0, 0, caDer),
    tlsa(3, 1, 0, caKey),
  ];
  const bad = [
    tlsa(0, 1, 1, sha256),
    tlsa(1, 1, 1, sha256),
    tlsa(255, 1, 1, sha256),
    tlsa(3, 2, 1, sha256),
    tlsa(3, 1, 3, sha256),
    tlsa(3, 1, 1, sha256.subarray(1)),
    tlsa(3, 1, 2, sha256),
    tlsa(3, 0, 0, Uint8Array.of(1, 2, 3)),
    tlsa(3, 1, 0, new Uint8Array()),
  ];
  expect(usableTlsa([...bad, ...good])).toEqual(good);
});

it('spends little time on keys that were made to take long', () => {
  const bits = 3072;
  const rsaCa = createTestCa('RSA authority', generateKeyPairSync('rsa', { modulusLength: bits }));
  const shown = rsaCa.issue({ names: ['mx.example.net'] });
  // An exponent as long as the modulus: each verification takes as long as two hundred of an ordinary key.
  const number = (first: number) => {
    const bytes = Buffer.alloc(bits / 8, 0xa5);
    bytes[0] = first;
    return bytes.toString('base64url');
  };
  const slow = Array.from({ length: 74 }, (_, i) => {
    const key = createPublicKey({ key: { kty: 'RSA', n: number(0x81 + i), e: number(0x7f) }, format: 'jwk' });
    return tlsa(2, 1, 0, key.export({ type: 'spki', format: 'der' }));
  });
  const request = { records: usableTlsa(slow), names };
  expect(request.records.length).toBeGreaterThan(0);
  expect(cpuMsOf(() => void checkDane(request, [shown.certDer], NOW))).toBeLessThan(200);
  // Another record does not suffer from it.
  const good = tlsa(2, 0, 1, digest('sha256', new X509Certificate(rsaCa.cert).raw));
  const chain = [shown.certDer, new X509Certificate(rsaCa.cert).raw];
  expect(checkDane({ records: [...request.records, good], names }, chain, NOW).kind).toBe('matched');
});

it('compares and verifies only so much', () => {
  const others = Array.from({ length: 200 }, () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
    return tlsa(2, 1, 0, publicKey.export({ type: 'spki', format: 'der' }));
  });
  const records = usableTlsa([...others, tlsa(2, 1, 0, caKey)]);
  expect(records).toHaveLength(64);
  const chain = [leaf.certDer, caDer];
  expect(
    checkDane({ records: [...records.slice(0, 10), tlsa(2, 1, 0, caKey)], names }, chain, NOW).kind,
  ).toBe('matched');
  expect(
    checkDane({ records: [...records.slice(0, 40), tlsa(2, 1, 0, caKey)], names }, chain, NOW).kind,
  ).toBe('mismatched');
});

it('survives any bytes in place of certificates', () => {
  const record = tlsa(2, 0, 1, digest('sha256', caDer));
  for (const chain of [
    [],
    [new Uint8Array()],
    [Uint8Array.of(0x30, 0x82, 255, 255)],
    [leaf.certDer, caDer.subarray(5)],
  ]) {
    expect(checkDane({ records: [record], names }, chain, NOW).kind).toBe('mismatched');
  }
  const many = Array.from({ length: 500 }, () => caDer);
  expect(checkDane({ records: [record], names }, [leaf.certDer, ...many], NOW).kind).toBe('matched');
});
