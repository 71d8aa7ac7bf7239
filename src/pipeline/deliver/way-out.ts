/**
 * From a recipient's way to open connections: endpoints of every target in the order to be tried now, and opening one
 * from the way's source under its EHLO name. What openings show is remembered: which relays work, and whether anything
 * leaves this machine at all.
 */
import { isIPv4 } from 'node:net';
import type { OpenResult } from '../../smtp/client-types.ts';
import type { Endpoint, EndpointAnswer, Endpoints, EndpointWish } from './endpoints.ts';
import type { Port25Watch } from './port-25.ts';
import { type RelayHealth, relayName } from './relay-health.ts';
import type { Way } from './routes.ts';
import type { Opener, OpenWish } from './tls-opening.ts';

export type SmtpWay = Extract<Way, { kind: 'smtp' }>;

export interface WayOut {
  /** A list fails over from one target to the next. Never rejects. */
  endpointsOf(way: SmtpWay, recipientDomain: string, wish: EndpointWish): Promise<EndpointAnswer>;
  /** Never rejects for what a server does. `site`: for whom, where several that do not answer mean something. */
  open(
    way: SmtpWay,
    endpoint: Endpoint,
    site: string,
    wish: Omit<OpenWish, 'localAddress' | 'heloName'>,
  ): Promise<OpenResult>;
}

export function createWayOut(deps: {
  endpoints: Endpoints;
  opener: Pick<Opener, 'open'>;
  relays: RelayHealth;
  port25: Port25Watch;
}): WayOut {
  const { endpoints, opener, relays, port25 } = deps;
  return {
    async endpointsOf(way, recipientDomain, wish) {
      // An IPv4 source reaches no IPv6 host.
      const ipv6 = way.source.address === null ? wish.ipv6 : false;
      const found: Endpoint[] = [];
      let other: EndpointAnswer | null = null;
      for (const target of relays.order(way.targets)) {
        const answer = await endpoints.find(target, recipientDomain, { ...wish, ipv6 });
        if (answer.kind === 'endpoints') found.push(...answer.endpoints);
        // A permanent answer of the recipient's DNS decides; a relay that cannot be found may be passed over.
        else if (other === null || answer.kind === 'permanent') other = answer;
      }
      if (found.length > 0) return { kind: 'endpoints', endpoints: found };
      return other ?? { kind: 'temporary', detail: 'no route is configured' };
    },
    async open(way, endpoint, site, wish) {
      const { source } = way;
      // An IPv4 source cannot reach an IPv6 relay; the system chooses there.
      const bind = source.address !== null && isIPv4(source.address) === isIPv4(endpoint.address);
      const result = await opener.open(endpoint, {
        ...wish,
        localAddress: bind ? (source.address ?? undefined) : undefined,
        heloName: source.heloName ?? undefined,
      });
      return endpoint.route === 'relay' ? relayOpened(endpoint, result) : hostOpened(site, result);
    },
  };

  function relayOpened(endpoint: Endpoint, result: OpenResult): OpenResult {
    if (result.kind === 'open') relays.succeeded(relayName(endpoint));
    // Broken off by our own stop, it says nothing about the relay.
    else if (result.reason !== 'aborted')
      relays.failed(relayName(endpoint), `${result.stage}: ${result.reply?.text ?? result.detail}`);
    return result;
  }

  function hostOpened(site: string, result: OpenResult): OpenResult {
    if (result.kind === 'open' || result.stage !== 'connect' || result.reason === 'refused') {
      port25.connected();
      return result;
    }
    if (result.reason !== 'timeout' && result.reason !== 'unreachable') return result;
    port25.unanswered(site);
    const suspicion = port25.suspicion();
    return suspicion === null ? result : { ...result, detail: suspicion };
  }
}
