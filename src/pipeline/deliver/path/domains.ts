/** Where the mail of one path's domains belongs, as its path asks: still here, elsewhere by now, or apart for a time. */
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { Site, Sites } from '../routing/sites.ts';

export interface PathDomains {
  /** Resolves when it is known where the domain's mail goes by what DNS says now; never rejects. */
  known(recipientDomain: string): Promise<void>;
  isHere(delivery: ClaimedDelivery): boolean;
  /** What DNS says of the domain and of its site do not fit together: for a time it goes by a path of its own. */
  isolate(recipientDomain: string): void;
}

/** `name`: of the path at `place`. */
export function createPathDomains(
  sites: Pick<Sites, 'lookUp' | 'nameOf' | 'isolate'>,
  name: string,
  { egress }: Extract<Site, { kind: 'path' }>,
): PathDomains {
  return {
    // The names of relays are looked up on their way.
    known: (domain) => (egress.direct ? sites.lookUp(domain) : Promise.resolve()),
    isHere: (delivery) => sites.nameOf(delivery) === name,
    isolate: sites.isolate,
  };
}
