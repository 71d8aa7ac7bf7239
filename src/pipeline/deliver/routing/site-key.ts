/**
 * The name of the site of a recipient domain: its provider if all hosts are one provider's, otherwise the set of its MX
 * hosts, otherwise the domain. Domains with the same name share connections and limits, so the name must not depend on
 * the order or letter case of the hosts.
 */
import { createHash } from 'node:crypto';
import type { Grouping } from '../../../policy/limits/shaping/types.ts';

export interface SiteName {
  site: string;
  provider: string | null;
}

const MANY_HOSTS = 10;
/** Second-level labels under which names are registered at the third level, if the last label has two letters. */
const GIVEN_BELOW = new Set(['ac', 'co', 'com', 'edu', 'gov', 'mil', 'ne', 'net', 'or', 'org']);

/** `mxHosts`: valid names, best preference first; empty if the domain has no MX. */
export function siteNameOf(domain: string, mxHosts: readonly string[], grouping: Grouping): SiteName {
  const { provider, oneSite } = grouping;
  if (provider !== null && oneSite) return { site: provider, provider };
  return { site: hostSetName(domain, mxHosts), provider };
}

function hostSetName(domain: string, mxHosts: readonly string[]): string {
  const [best] = mxHosts;
  if (best === undefined) return domain;
  if (mxHosts.length > MANY_HOSTS) return registrableName(best);
  const hosts = [...new Set(mxHosts.map((host) => host.toLowerCase()))].sort();
  const [first = domain] = hosts;
  if (hosts.length === 1) return first;
  // Short enough for a table, and different for every set.
  const digest = createHash('sha256').update(hosts.join('\n')).digest('hex').slice(0, 8);
  return `${first}+${hosts.length - 1}~${digest}`;
}

/** The last two labels, or three for suffixes such as `co.uk`: precise enough to name a cluster of many hosts. */
export function registrableName(host: string): string {
  const labels = host.toLowerCase().split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const keep = top.length === 2 && GIVEN_BELOW.has(second) ? 3 : 2;
  return labels.slice(-keep).join('.');
}
