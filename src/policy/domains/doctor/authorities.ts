/**
 * Certificate authorities by the organization name in their certificates, with their names in CAA records (RFC 8659
 * §4.2; each authority publishes its own in its practice statement). Only common ones; others are unknown.
 */
const AUTHORITIES: Readonly<Record<string, readonly string[]>> = {
  "let's encrypt": ['letsencrypt.org'],
  'google trust services': ['pki.goog', 'google.com'],
  'google trust services llc': ['pki.goog', 'google.com'],
  'digicert inc': ['digicert.com', 'symantec.com', 'thawte.com', 'geotrust.com', 'rapidssl.com'],
  'sectigo limited': ['sectigo.com', 'comodoca.com', 'usertrust.com', 'trust-provider.com'],
  zerossl: ['sectigo.com'],
  amazon: ['amazon.com', 'amazontrust.com', 'awstrust.com', 'amazonaws.com'],
  'globalsign nv-sa': ['globalsign.com'],
  'godaddy.com, inc.': ['godaddy.com', 'starfieldtech.com'],
  'ssl corporation': ['ssl.com'],
  'actalis s.p.a.': ['actalis.it'],
};

/** Whether CAA records that name `allowed` permit this organization to issue; null if its CAA names are unknown. */
export function mayIssue(organization: string, allowed: readonly string[]): boolean | null {
  const key = organization.trim().toLowerCase();
  const names = Object.hasOwn(AUTHORITIES, key) ? AUTHORITIES[key] : undefined;
  return names === undefined ? null : allowed.some((name) => names.includes(name.toLowerCase()));
}
