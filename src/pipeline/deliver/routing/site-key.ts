/**
 * The name of the site that a recipient domain belongs to: its provider where all hosts are
 * one provider's, else the set of its MX hosts, else the domain. Domains of one name share connections and limits, so
 * the name must not depend on the order or letter case in which DNS gave the hosts. Pure.
 */
import { createHash } from 'node:crypto';
import type { Grouping } from '../../../policy/limits/shaping/types.ts';

export interface SiteName {
  site: string;
  provider: string | null;
}

const MANY_HOSTS = 10;
/** Second-level labels under which names are given out at the third level, where the last label has two letters. */
const GIVEN_BELOW = new Set(['ac', 'co', 'com', 'edu', 'gov', 'mil', 'ne', 'net', 'or', 'org']);

/** `mxHosts`: valid names, best preference first; empty where the domain stands for itself. */
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

/** The last two labels, or three below suffixes such as `co.uk`: near enough to name a cluster of many hosts. */
export function registrableName(host: string): string {
  const labels = host.toLowerCase().split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const keep = top.length === 2 && GIVEN_BELOW.has(second) ? 3 : 2;
  return labels.slice(-keep).join('.');
}
