/**
 * A self-signed certificate for a listener without a configured one: a P-256 key and the DER of a TLS server
 * certificate (RFC 5280 §4.1). It proves no identity; it encrypts the connection until the operator configures a real
 * one. Made in a millisecond, not stored.
 */
import { createSign, generateKeyPairSync } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { bitString, certificatePem, der, oid, sequence, utcTime } from './der.ts';

const YEARS_VALID_MS = 10 * 365 * 86_400_000;
/** UTCTime ends in 2049 (RFC 5280 §4.1.2.5.1). */
const LAST_UTC_TIME = Date.UTC(2049, 11, 31);
const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const ALTERNATIVE_NAMES = oid(0x55, 0x1d, 0x11);
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const MAX_COMMON_NAME = 64;

/** PEM of a new key and its certificate for `names` (host names in ASCII, at least one). Valid for ten years. */
export function makeSelfSigned(
  deps: { clock: Clock; random: Random },
  names: readonly [string, ...string[]],
): { cert: string; key: string } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const serial = deps.random.bytes(12);
  // A positive number without leading zero octets.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 1;
  const name = sequence(
    der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(names[0].slice(0, MAX_COMMON_NAME))))),
  );
  const now = deps.clock.now();
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    ECDSA_SHA256,
    name,
    sequence(utcTime(now - 86_400_000), utcTime(Math.min(now + YEARS_VALID_MS, LAST_UTC_TIME))),
    name,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(BASIC_CONSTRAINTS, der(0x01, Buffer.of(0xff)), der(0x04, sequence())),
        sequence(
          ALTERNATIVE_NAMES,
          der(0x04, sequence(...names.map((each) => der(0x82, Buffer.from(each, 'latin1'))))),
        ),
      ),
    ),
  );
  const signature = createSign('sha256').update(body).sign(keys.privateKey);
  const certificate = sequence(body, ECDSA_SHA256, bitString(signature));
  return {
    cert: certificatePem(certificate),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
