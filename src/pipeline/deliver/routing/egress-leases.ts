/**
 * Which node sends if several share a source: one node at a time per source and provider (or site without a provider),
 * so that this node alone keeps every limit in memory. The unit is the provider and not the site, because some limits
 * apply to all sites of a provider. Paths request the leases; they are named here.
 */
import { pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Lease, LeaseListener } from '../../queue/leases.ts';
import type { Membership } from '../../queue/membership.ts';
import { ANY_SOURCE } from './routes.ts';
import type { SitePath } from './sites.ts';

type LeasedPath = Pick<SitePath, 'source' | 'site' | 'provider'>;

/** The leases that paths of shared sources request. */
interface EgressLeases {
  /** null if only this node sends from the source. */
  want(path: LeasedPath, listener: LeaseListener): Lease | null;
  /** Whether another node may send from a source to a provider, by the leases that this node holds now. */
  ofOthers(): (source: string, provider: string) => boolean;
}

const PREFIX = 'send ';

/** Ids of the sources that other nodes also send from. If none is configured, the machine's own address is one. */
export function sharedSources(sources: readonly { id: string; shared: boolean }[]): ReadonlySet<string> {
  return new Set([ANY_SOURCE.id, ...sources.flatMap(({ id, shared }) => (shared ? [id] : []))]);
}

/**
 * For all paths of this node; a source that is not `shared` needs no lease, and one of `foreign`, which are bound to other
 * nodes, gets none.
 */
export function createEgressLeases(
  membership: Pick<Membership, 'want' | 'serves' | 'held'> | undefined,
  sources: readonly { id: string; shared: boolean }[],
  foreign: ReadonlySet<string>,
): EgressLeases {
  const shared = sharedSources(sources);
  return {
    want({ source, site, provider }, listener) {
      if (foreign.has(source))
        return { state: () => (membership?.serves(source) ? 'elsewhere' : 'absent'), end() {} };
      if (membership === undefined || !shared.has(source)) return null;
      return membership.want(`${PREFIX}${pathKey(source, provider ?? site)}`, listener);
    },
    ofOthers() {
      const held = new Set(membership?.held());
      return (source, provider) =>
        foreign.has(source) || (shared.has(source) && !held.has(PREFIX + pathKey(source, provider)));
    },
  };
}
