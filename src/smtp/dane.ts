/**
 * DANE for SMTP (RFC 7672, RFC 6698, RFC 7671): whether a server's certificate is one of those that its zone names.
 * Takes TLSA records validated by DNSSEC, the chain as the server sent it, and the names of the server; returns yes
 * with the record that matched, or why not. The caller must have checked DNSSEC.
 *
 * DANE-EE (3): the server's own certificate or key is named; names and dates are ignored (RFC 7672 §3.1.1). DANE-TA
 * (2): a certificate above it is named; every signature up to there, the dates and the name must be valid (§3.1.2).
 * Usages 0 and 1 have no meaning for SMTP (§3.1.3); such records, and unknown ones, are "unusable".
 *
 * Whoever receives mail chooses these records and certificates, and a signature can be made to take a hundredth of a second
 * to verify: how many records are compared and signatures verified is limited, and so are the keys.
 */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { TlsaRecord } from '../net/dns-types.ts';

const USAGE_TA = 2;
const USAGE_EE = 3;
const DIGEST_BYTES = [null, 32, 64] as const;
const DIGEST_NAMES = [null, 'sha256', 'sha512'] as const;
/** Real chains are shorter; certificates beyond this are ignored. */
const MAX_CHAIN = 10;
/** Usable records that are compared; real hosts have some ten. */
const MAX_RECORDS = 64;
/** Signatures verified for one connection, and keys looked at for it in the DNS and in certificates. */
const MAX_SIGNATURES = 16;
/** Keys that a signature is verified with in a millisecond: an RSA exponent can have as many bits as the key. */
const MAX_RSA_BITS = 8192;
const MAX_RSA_EXPONENT = 2n ** 32n;
const QUICK_CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/** The requirement on a server's certificate. */
export interface DaneRequest {
  /** Usable records, at least one: see `usableTlsa`. */
  records: readonly TlsaRecord[];
  /**
   * Names of which a DANE-TA certificate must have one (RFC 7672 §3.2.2): first the name that has the records, which is also
   * given to the server (SNI, §8.1), and the recipient domain.
   */
  names: readonly string[];
}

type DaneVerdict =
  /** `record`: the record that matched, as in a zone file ("3 1 1"). */
  { kind: 'matched'; record: string } | { kind: 'mismatched'; detail: string };

/**
 * Records that a certificate can be compared with. If none of the records is usable, TLS is mandatory but not
 * authenticated (§2.2).
 */
export function usableTlsa(records: readonly TlsaRecord[]): TlsaRecord[] {
  return records.filter(isUsable).slice(0, MAX_RECORDS);
}

function isUsable({ usage, selector, matching, data }: TlsaRecord): boolean {
  if ((usage !== USAGE_TA && usage !== USAGE_EE) || selector > 1 || matching > 2) return false;
  const digestBytes = DIGEST_BYTES[matching] ?? null;
  if (digestBytes !== null) return data.length === digestBytes;
  return selector === 0 ? readCertificate(data) !== null : readKey(data) !== null;
}

/** `chain`: DER, the server's own certificate first. Never throws, for any bytes. */
export function checkDane(request: DaneRequest, chain: readonly Uint8Array[], nowMs: number): DaneVerdict {
  const certificates = chain.slice(0, MAX_CHAIN).map(readCertificate);
  const [leaf] = certificates;
  if (leaf === undefined || leaf === null) return mismatched('the server showed no readable certificate');
  const matches = createComparison();
  for (const record of request.records) {
    if (record.usage === USAGE_EE && matches(record, leaf)) return matched(record);
  }
  const anchors = request.records.filter((record) => record.usage === USAGE_TA);
  if (anchors.length === 0) return mismatched('the certificate is none of those pinned by TLSA records');
  const sent = certificates.slice(1).filter((each) => each !== null);
  return checkAnchors(request, { anchors, leaf, sent, matches }, nowMs);
}

function checkAnchors(
  request: DaneRequest,
  {
    anchors,
    leaf,
    sent,
    matches,
  }: {
    anchors: readonly TlsaRecord[];
    leaf: X509Certificate;
    sent: readonly X509Certificate[];
    matches: Comparison;
  },
  nowMs: number,
): DaneVerdict {
  // The server need not send a certificate that is completely in the DNS.
  const pool = [...sent, ...anchors.flatMap((record) => wholeCertificate(record) ?? [])]
    .filter(({ ca }) => ca)
    .slice(0, MAX_SIGNATURES)
    .flatMap((certificate) => {
      const key = quickKey(() => certificate.publicKey);
      return key === null ? [] : [{ certificate, key }];
    });
  // `2 1 0`: the DNS has only the authority's key, and its certificate may be unavailable.
  const keys = anchors
    .filter(({ selector, matching }) => selector === 1 && matching === 0)
    .slice(0, MAX_SIGNATURES)
    .flatMap((record) => {
      const key = quickKey(() => readKey(record.data));
      return key === null ? [] : [{ record, key }];
    });
  let signatures = 0;
  const isSignedWith = (subject: X509Certificate, key: KeyObject) =>
    signatures++ < MAX_SIGNATURES && verifies(subject, key);
  const path: X509Certificate[] = [leaf];
  for (let current = leaf; path.length <= MAX_CHAIN; ) {
    const found = keys.find(({ key }) => isSignedWith(current, key));
    if (found !== undefined) return checkedPath(request, path, found.record, nowMs);
    const issuer = pool.find(
      ({ certificate, key }) =>
        !path.includes(certificate) && isIssued(current, certificate) && isSignedWith(current, key),
    )?.certificate;
    if (issuer === undefined) break;
    path.push(issuer);
    const anchor = anchors.find((record) => matches(record, issuer));
    if (anchor !== undefined) return checkedPath(request, path, anchor, nowMs);
    current = issuer;
  }
  return mismatched('no certificate above the server’s own is pinned by TLSA records');
}

/** The pinned authority was reached: the other requirements of a DANE-TA certificate. */
function checkedPath(
  request: DaneRequest,
  path: readonly X509Certificate[],
  record: TlsaRecord,
  nowMs: number,
): DaneVerdict {
  for (const each of path) {
    if (Date.parse(each.validTo) < nowMs)
      return mismatched(`a certificate of the pinned chain has expired (${each.validTo})`);
    if (Date.parse(each.validFrom) > nowMs)
      return mismatched('a certificate of the pinned chain is not valid yet');
  }
  const [leaf] = path;
  const isNamed = request.names.some((name) => leaf?.checkHost(name, { subject: 'default' }) !== undefined);
  if (!isNamed) return mismatched(`the certificate is for none of ${request.names.join(', ')}`);
  return matched(record);
}

/** By the names in both. */
function isIssued(subject: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return subject.checkIssued(issuer);
  } catch {
    return false;
  }
}

function verifies(subject: X509Certificate, key: KeyObject): boolean {
  try {
    return subject.verify(key);
  } catch {
    return false;
  }
}

/** The key that `read` gives; null where there is none, or verifying with it takes long. */
function quickKey(read: () => KeyObject | null): KeyObject | null {
  try {
    const key = read();
    return key !== null && isQuick(key) ? key : null;
  } catch {
    return null;
  }
}

function isQuick({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength, publicExponent, namedCurve } = asymmetricKeyDetails;
  switch (asymmetricKeyType) {
    case 'rsa':
    case 'rsa-pss':
      return (modulusLength ?? 0) <= MAX_RSA_BITS && (publicExponent ?? 0n) <= MAX_RSA_EXPONENT;
    case 'ec':
      return QUICK_CURVES.has(namedCurve ?? '');
    default:
      return asymmetricKeyType === 'ed25519' || asymmetricKeyType === 'ed448';
  }
}

function wholeCertificate(record: TlsaRecord): X509Certificate | null {
  return record.selector === 0 && record.matching === 0 ? readCertificate(record.data) : null;
}

type Comparison = (record: TlsaRecord, certificate: X509Certificate) => boolean;

/** Compares with what is made once of each certificate. */
function createComparison(): Comparison {
  const made = new Map<X509Certificate, Map<string, Buffer | null>>();
  return ({ selector, matching, data }, certificate) => {
    const values = made.get(certificate) ?? new Map<string, Buffer | null>();
    made.set(certificate, values);
    const key = `${selector} ${matching}`;
    const value = values.has(key) ? values.get(key) : associatedOf(certificate, selector, matching);
    values.set(key, value ?? null);
    return value?.equals(data) === true;
  };
}

function associatedOf(certificate: X509Certificate, selector: number, matching: number): Buffer | null {
  const bytes = selector === 0 ? certificate.raw : spkiOf(certificate);
  const algorithm = DIGEST_NAMES[matching] ?? null;
  return bytes === null || algorithm === null ? bytes : createHash(algorithm).update(bytes).digest();
}

function spkiOf(certificate: X509Certificate): Buffer | null {
  try {
    return certificate.publicKey.export({ type: 'spki', format: 'der' });
  } catch {
    return null;
  }
}

function readCertificate(der: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(der);
  } catch {
    return null;
  }
}

function readKey(der: Uint8Array): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}

function matched({ usage, selector, matching }: TlsaRecord): DaneVerdict {
  return { kind: 'matched', record: `${usage} ${selector} ${matching}` };
}

function mismatched(detail: string): DaneVerdict {
  return { kind: 'mismatched', detail };
}
