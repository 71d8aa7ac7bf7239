/**
 * From a recipient's way to open connections: endpoints of every target in the order to be tried now, and opening one
 * from the way's source under its EHLO name. What openings show is remembered: which relays work, and whether anything
 * leaves this machine at all.
 */
import { isIPv4 } from 'node:net';
import type { OpenResult } from '../../../smtp/client-types.ts';
import type { Outcome } from '../outcome/outcome.ts';
import { relayRefusal } from '../outcome/relay-refusal.ts';
import type { Opener, OpenWish } from '../tls/opener.ts';
import type { Endpoint, EndpointAnswer, Endpoints, EndpointWish } from './endpoints.ts';
import type { Port25Watch } from './port-25.ts';
import { type RelayHealth, relayName } from './relay-health.ts';
import type { Egress } from './routes.ts';

export type SmtpEgress = Extract<Egress, { kind: 'smtp' }>;

export interface Connector {
  /** A list fails over from one target to the next. Never rejects. */
  endpointsOf(egress: SmtpEgress, recipientDomain: string, wish: EndpointWish): Promise<EndpointAnswer>;
  /** Never rejects for what a server does. `site`: for whom, where several that do not answer mean something. */
  open(
    egress: SmtpEgress,
    endpoint: Endpoint,
    site: string,
    wish: Omit<OpenWish, 'localAddress' | 'heloName'>,
  ): Promise<OpenResult>;
  /**
   * What the far end made of a message. True where it is a relay that does not take our mail, and another one of the list
   * may: the message goes on at once, and over none of the connections to this one.
   */
  replied(egress: SmtpEgress, endpoint: Endpoint, outcome: Outcome, messageId: string): boolean;
  /** Whether the far end gets one message at a time, to show that it takes our mail again. */
  halfOpen(endpoint: Endpoint): boolean;
}

/** One message does not make a relay fail that may have meant it alone. */
const MESSAGES_TO_BLAME = 2;

export function createConnector(deps: {
  endpoints: Endpoints;
  opener: Pick<Opener, 'open'>;
  relays: RelayHealth;
  port25: Port25Watch;
}): Connector {
  const { endpoints, opener, relays, port25 } = deps;
  /** Messages that a relay has put off for its service's sake since its last success. */
  const suspects = new Map<string, Set<string>>();
  return {
    async endpointsOf(egress, recipientDomain, wish) {
      // An IPv4 source reaches no IPv6 host.
      const ipv6 = egress.source.address === null ? wish.ipv6 : false;
      const found: Endpoint[] = [];
      let other: EndpointAnswer | null = null;
      for (const target of relays.order(egress.targets)) {
        const answer = await endpoints.find(target, recipientDomain, { ...wish, ipv6 });
        if (answer.kind === 'endpoints') found.push(...answer.endpoints);
        // A permanent answer of the recipient's DNS decides; a relay that cannot be found may be passed over.
        else if (other === null || answer.kind === 'permanent') other = answer;
      }
      if (found.length > 0) return { kind: 'endpoints', endpoints: found };
      return other ?? { kind: 'temporary', detail: 'no route is configured' };
    },
    async open(egress, endpoint, site, wish) {
      const { source } = egress;
      // An IPv4 source cannot reach an IPv6 relay; the system chooses there.
      const bind = source.address !== null && isIPv4(source.address) === isIPv4(endpoint.address);
      const result = await opener.open(endpoint, {
        ...wish,
        localAddress: bind ? (source.address ?? undefined) : undefined,
        heloName: source.heloName ?? undefined,
      });
      return endpoint.route === 'relay' ? relayOpened(endpoint, result) : hostOpened(site, result);
    },
    replied(egress, endpoint, outcome, messageId) {
      if (endpoint.route !== 'relay') return false;
      const relay = relayName(endpoint);
      if (outcome.kind === 'delivered') {
        relays.delivered(relay);
        if (suspects.size > 0) suspects.delete(relay);
        return false;
      }
      const refusal = relayRefusal(outcome);
      if (refusal === null) return false;
      if (refusal.believed === 'several' && !relays.halfOpen(relay)) {
        const met = suspects.get(relay) ?? new Set<string>();
        suspects.set(relay, met.add(messageId));
        if (met.size < MESSAGES_TO_BLAME) return false;
      }
      suspects.delete(relay);
      relays.failed(relay, refusal.why, true);
      return egress.targets.some(
        (target) =>
          target.kind === 'mx' || (relayName(target) !== relay && !relays.passedOver(relayName(target))),
      );
    },
    halfOpen: (endpoint) => endpoint.route === 'relay' && relays.halfOpen(relayName(endpoint)),
  };

  function relayOpened(endpoint: Endpoint, result: OpenResult): OpenResult {
    if (result.kind === 'open') relays.connected(relayName(endpoint));
    // Broken off by our own stop, it says nothing about the relay.
    else if (result.reason !== 'aborted')
      relays.failed(
        relayName(endpoint),
        `${result.stage}: ${result.reply === null ? result.detail : `${result.reply.code} ${result.reply.text}`}`,
      );
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
