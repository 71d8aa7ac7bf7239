/**
 * Whether mail of a domain still belongs to this path, has moved to another one, or is isolated for a time.
 */
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { SitePath, Sites } from '../routing/sites.ts';

export interface PathDomains {
  /** Resolves when it is known where mail of its domain goes according to current DNS; never rejects. */
  known(delivery: ClaimedDelivery): Promise<void>;
  isHere(delivery: ClaimedDelivery): boolean;
  /** Whether a host takes mail of the domain; null: not known (`Sites.takes`). */
  takes(recipientDomain: string, host: string): boolean | null;
  /** DNS answers for the domain and for its site contradict each other: for a time the domain has its own path. */
  isolate(recipientDomain: string): void;
}

/** `name`: of this path. */
export function createPathDomains(
  sites: Pick<Sites, 'lookUp' | 'nameOf' | 'takes' | 'isolate'>,
  name: string,
  { egress }: SitePath,
): PathDomains {
  return {
    // The names of relays are looked up when connecting.
    known: ({ recipientDomain, senderDomain }) =>
      egress.direct ? sites.lookUp(recipientDomain, senderDomain) : Promise.resolve(),
    isHere: (delivery) => sites.nameOf(delivery) === name,
    takes: sites.takes,
    isolate: sites.isolate,
  };
}
