/**
 * A certificate authority for tests: issues P-256 certificates for names and addresses, valid, expired or for somebody
 * else, within a millisecond and without a tool or a key in the repository. Writes just the DER that a TLS server
 * certificate needs (RFC 5280 §4.1).
 */
import {
  createSign,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomBytes,
} from 'node:crypto';
import { bitString, certificatePem, der, oid, sequence, utcTime } from '../../src/net/der.ts';

export interface TestCertificate {
  /** PEM, as `tls.createServer` takes them. */
  key: string;
  cert: string;
  /** DER of the certificate and of its public key: what DANE hashes. */
  certDer: Uint8Array;
  spkiDer: Uint8Array;
}

export interface TestCa {
  /** PEM of the authority itself. */
  cert: string;
  /** `names` and `addresses` (dotted IPv4) become subject alternative names. Valid 2020–2049 unless said otherwise. */
  issue(wanted: {
    names?: readonly string[];
    addresses?: readonly string[];
    notBefore?: Date;
    notAfter?: Date;
  }): TestCertificate;
}

const VALID_FROM = new Date('2020-01-01T00:00:00Z');
const VALID_TO = new Date('2049-12-31T00:00:00Z');

const RSA_SHA256 = sequence(
  oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b),
  der(0x05, Buffer.alloc(0)),
);
const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** A new authority with a key of its own, for ECDSA unless `keys` are for RSA. */
export function createTestCa(
  name = 'Test authority',
  keys: KeyPairKeyObjectResult = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
): TestCa {
  const issuer = distinguishedName(name);
  const own = certificate({
    issuer,
    subject: issuer,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    validity: [VALID_FROM, VALID_TO],
    extensions: [extension([0x55, 0x1d, 0x13], sequence(der(0x01, Buffer.of(0xff))), true)],
  });
  return {
    cert: certificatePem(own),
    issue({ names = [], addresses = [], notBefore = VALID_FROM, notAfter = VALID_TO }) {
      const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const alternatives = [
        ...names.map((each) => der(0x82, Buffer.from(each, 'latin1'))),
        ...addresses.map((each) => der(0x87, Buffer.from(each.split('.').map(Number)))),
      ];
      const certDer = certificate({
        issuer,
        subject: distinguishedName(names[0] ?? addresses[0] ?? 'nobody'),
        publicKey: leaf.publicKey,
        signer: keys.privateKey,
        validity: [notBefore, notAfter],
        extensions: alternatives.length > 0 ? [extension([0x55, 0x1d, 0x11], sequence(...alternatives))] : [],
      });
      return {
        key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        cert: certificatePem(certDer),
        certDer,
        spkiDer: leaf.publicKey.export({ type: 'spki', format: 'der' }),
      };
    },
  };
}

function certificate(parts: {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signer: KeyObject;
  validity: [Date, Date];
  extensions: Buffer[];
}): Buffer {
  // Positive and never shorter than it looks: the first byte is 01–7f.
  const serial = randomBytes(12);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 1;
  const algorithm = parts.signer.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    algorithm,
    parts.issuer,
    sequence(...parts.validity.map((date) => utcTime(date.getTime()))),
    parts.subject,
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    ...(parts.extensions.length > 0 ? [der(0xa3, sequence(...parts.extensions))] : []),
  );
  const signature = createSign('sha256').update(body).sign(parts.signer);
  return sequence(body, algorithm, bitString(signature));
}

function extension(id: readonly number[], value: Buffer, isCritical = false): Buffer {
  return sequence(oid(...id), ...(isCritical ? [der(0x01, Buffer.of(0xff))] : []), der(0x04, value));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)))));
}
