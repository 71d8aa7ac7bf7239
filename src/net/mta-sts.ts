/**
 * MTA-STS (RFC 8461): the TXT record that announces a policy, the policy itself, and whether it names a mail server.
 * Strict in everything that decides; unknown fields are ignored, as the standard requires. Input is hostile: nothing
 * throws, everything is limited.
 */
import { isHostName } from './dns-name.ts';

type MtaStsMode = 'enforce' | 'testing' | 'none';

export interface MtaStsPolicy {
  mode: MtaStsMode;
  /** Host names in lower case, or `*.` and a domain. At least one unless the mode is `none`. */
  mx: readonly string[];
  /** Seconds from fetching it; at most a year. */
  maxAgeSeconds: number;
}

/** RFC 8461 §3.2. */
export const MAX_POLICY_AGE_SECONDS = 31_557_600;
const MAX_MX = 100;
const POLICY_ID = /^[a-z0-9]{1,32}$/i;

/**
 * Id of the policy from the TXT records of `_mta-sts.<domain>` (§3.1); null if there is none, more than one, or an
 * invalid record, which all mean "no policy announced".
 */
export function readMtaStsRecord(records: readonly string[]): string | null {
  const [record, ...others] = records.filter((text) => /^v=STSv1[ \t]*(;|$)/.test(text));
  if (record === undefined || others.length > 0) return null;
  for (const field of record.split(';').slice(1, 50)) {
    const [name, value] = field.trim().split('=', 2);
    if (name === 'id') return value !== undefined && POLICY_ID.test(value) ? value : null;
  }
  return null;
}

/** The policy from the text of `/.well-known/mta-sts.txt` (§3.2); `invalid` says what is wrong with it. */
export function parseMtaStsPolicy(
  text: string,
): { kind: 'policy'; policy: MtaStsPolicy } | { kind: 'invalid'; detail: string } {
  const fields = new Map<string, string>();
  const mx = new Set<string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon < 0) {
      if (line.trim() === '') continue;
      return invalid('a line is not "name: value"');
    }
    const name = line.slice(0, colon).trim();
    const value = line.slice(colon + 1).trim();
    if (name === 'mx') {
      const pattern = value.toLowerCase().replace(/\.$/, '');
      if (!isHostName(pattern.replace(/^\*\./, '')))
        return invalid(`mx "${value.slice(0, 100)}" is not a host name`);
      mx.add(pattern);
      if (mx.size > MAX_MX) return invalid(`more than ${MAX_MX} mx fields`);
    } else if (!fields.has(name)) fields.set(name, value);
  }
  if (fields.get('version') !== 'STSv1') return invalid('the version is not STSv1');
  const mode = fields.get('mode');
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return invalid('the mode is unknown');
  const age = fields.get('max_age') ?? '';
  if (!/^\d{1,10}$/.test(age)) return invalid('max_age is not a number of seconds');
  if (mx.size === 0 && mode !== 'none') return invalid('no mx is named');
  const maxAgeSeconds = Math.min(Number(age), MAX_POLICY_AGE_SECONDS);
  return { kind: 'policy', policy: { mode, mx: [...mx], maxAgeSeconds } };
}

/** Whether the policy names this host (lower case); `*.example.com` stands for one label (§4.1). */
export function isNamedByPolicy(policy: Pick<MtaStsPolicy, 'mx'>, host: string): boolean {
  const dot = host.indexOf('.');
  const parent = dot < 1 ? null : `*${host.slice(dot)}`;
  return policy.mx.some((pattern) => pattern === host || pattern === parent);
}

function invalid(detail: string): { kind: 'invalid'; detail: string } {
  return { kind: 'invalid', detail };
}
