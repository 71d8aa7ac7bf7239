/**
 * DANE for SMTP (RFC 7672, RFC 6698, RFC 7671): whether a server's certificate is one of those that its zone names.
 * Takes TLSA records validated by DNSSEC, the chain as the server sent it, and the names of the server; returns yes
 * with the record that matched, or why not. The caller must have checked DNSSEC.
 *
 * DANE-EE (3): the server's own certificate or key is named; names and dates are ignored (RFC 7672 §3.1.1). DANE-TA
 * (2): a certificate above it is named; every signature up to there, the dates and the name must be valid (§3.1.2).
 * Usages 0 and 1 have no meaning for SMTP (§3.1.3); such records, and unknown ones, are "unusable".
 */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { TlsaRecord } from '../net/dns-types.ts';

const USAGE_TA = 2;
const USAGE_EE = 3;
const DIGEST_BYTES = [null, 32, 64] as const;
const DIGEST_NAMES = [null, 'sha256', 'sha512'] as const;
/** Real chains are shorter; certificates beyond this are ignored. */
const MAX_CHAIN = 10;

/** The requirement on a server's certificate. */
export interface DaneRequest {
  /** Usable records, at least one: see `usableTlsa`. */
  records: readonly TlsaRecord[];
  /** Names of which a DANE-TA certificate must have one: the MX host and the recipient domain (RFC 7672 §3.2.2). */
  names: readonly string[];
}

export type DaneVerdict =
  /** `record`: the record that matched, as in a zone file ("3 1 1"). */
  { kind: 'matched'; record: string } | { kind: 'mismatched'; detail: string };

/**
 * Records that a certificate can be compared with. If none of the records is usable, TLS is mandatory but not
 * authenticated (§2.2).
 */
export function usableTlsa(records: readonly TlsaRecord[]): TlsaRecord[] {
  return records.filter(isUsable);
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
  for (const record of request.records) {
    if (record.usage === USAGE_EE && matches(record, leaf)) return matched(record);
  }
  const anchors = request.records.filter((record) => record.usage === USAGE_TA);
  if (anchors.length === 0) return mismatched('the certificate is none of those pinned by TLSA records');
  return checkAnchors(
    request,
    anchors,
    leaf,
    certificates.slice(1).filter((each) => each !== null),
    nowMs,
  );
}

function checkAnchors(
  request: DaneRequest,
  anchors: readonly TlsaRecord[],
  leaf: X509Certificate,
  sent: readonly X509Certificate[],
  nowMs: number,
): DaneVerdict {
  // The server need not send a certificate that is completely in the DNS.
  const pool = [...sent, ...anchors.flatMap((record) => wholeCertificate(record) ?? [])];
  const path: X509Certificate[] = [leaf];
  for (let current = leaf; path.length <= MAX_CHAIN; ) {
    const found = anchors.find((record) => isKeyThatSigned(record, current));
    if (found !== undefined) return checkedPath(request, path, found, nowMs);
    const issuer = pool.find((each) => !path.includes(each) && signed(each, current));
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

/** Whether `issuer` may sign certificates and signed this one. */
function signed(issuer: X509Certificate, subject: X509Certificate): boolean {
  try {
    return issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
  } catch {
    return false;
  }
}

/** `2 1 0`: the DNS has only the authority's key, and its certificate may be unavailable. */
function isKeyThatSigned(record: TlsaRecord, subject: X509Certificate): boolean {
  if (record.selector !== 1 || record.matching !== 0) return false;
  const key = readKey(record.data);
  try {
    return key !== null && subject.verify(key);
  } catch {
    return false;
  }
}

function wholeCertificate(record: TlsaRecord): X509Certificate | null {
  return record.selector === 0 && record.matching === 0 ? readCertificate(record.data) : null;
}

function matches(record: TlsaRecord, certificate: X509Certificate): boolean {
  const bytes = record.selector === 0 ? certificate.raw : spkiOf(certificate);
  if (bytes === null) return false;
  const algorithm = DIGEST_NAMES[record.matching] ?? null;
  const value = algorithm === null ? bytes : createHash(algorithm).update(bytes).digest();
  return value.equals(record.data);
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
