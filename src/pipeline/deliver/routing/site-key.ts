/**
 * The name of the site of a recipient domain: its provider if all hosts are one provider's, otherwise the set of its MX
 * hosts, otherwise the domain. Domains with the same name share connections and limits, so the name must not depend on
 * the order or letter case of the hosts, and no DNS record may give a domain the name of a site that it does not
 * belong to: its mail could be sent over connections that were opened for somebody else.
 */
import { createHash } from 'node:crypto';
import type { Grouping } from '../../../policy/limits/shaping/types.ts';

export interface SiteName {
  site: string;
  provider: string | null;
}

/** Hexadecimal digits, 96 bits: another set with the name of a given one cannot be found by trying. */
const DIGEST_DIGITS = 24;

/** `mxHosts`: host names (`isHostName`), best preference first; empty if the domain has no MX. */
export function siteNameOf(domain: string, mxHosts: readonly string[], grouping: Grouping): SiteName {
  const { provider, oneSite } = grouping;
  if (provider !== null && oneSite) return { site: provider, provider };
  return { site: hostSetName(domain, mxHosts), provider };
}

function hostSetName(domain: string, mxHosts: readonly string[]): string {
  const hosts = [...new Set(mxHosts.map((host) => host.toLowerCase()))].sort();
  const [first = domain] = hosts;
  if (hosts.length < 2) return withDot(first);
  const digest = createHash('sha256').update(hosts.join('\n')).digest('hex').slice(0, DIGEST_DIGITS);
  return `${first}+${hosts.length - 1}~${digest}`;
}

/** A host may be named as a provider is (`google`, a top-level domain): a name of one label ends with a dot here. */
function withDot(name: string): string {
  return name.includes('.') ? name : `${name}.`;
}
