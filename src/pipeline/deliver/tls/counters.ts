/** Counts how sessions with recipients’ servers ended regarding TLS, by the words of RFC 8460. Reports are not sent. */
import { Counter, type Registry } from 'prom-client';
import type { TlsFacts } from '../../../smtp/client-tls.ts';

/** RFC 8460 §4.2. */
export type TlsPolicyType = 'tlsa' | 'sts' | 'no-policy-found';

/** Success, or the failures of RFC 8460 §4.3. */
export type TlsResult =
  | 'success'
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid';

/** Counts a session; also one that did not begin, because its policy could not be met. */
export type CountTls = (policy: TlsPolicyType, result: TlsResult) => void;

export function createTlsCounter(registry: Registry): CountTls {
  const sessions = new Counter({
    name: 'postrider_tls_sessions_total',
    help: 'Sessions with recipients’ servers, by the policy that applied and how TLS went (RFC 8460)',
    labelNames: ['policy', 'result'],
    registers: [registry],
  });
  return (policy, result) => sessions.labels(policy, result).inc();
}

/** The RFC 8460 §4.3.2 name of a certificate that was not accepted, or would not have been. */
export function certificateResult(facts: TlsFacts): TlsResult {
  switch (facts.authorizationError) {
    case null:
      return 'success';
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'certificate-expired';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'certificate-host-mismatch';
    case 'DANE_MISMATCH':
      return 'validation-failure';
    default:
      return 'certificate-not-trusted';
  }
}
