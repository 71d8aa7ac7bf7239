/**
 * Opens connections for a route: finds the endpoints of every target in the order to try now, and opens one from the
 * route's source with its EHLO name. Observations from openings and replies are passed to their owners: which relays
 * work, DNS answers, which hosts require TLS or IPv4, and whether anything leaves this machine at all.
 */
import { isIPv6 } from 'node:net';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { OpenFailure, OpenResult } from '../../../smtp/client-types.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import { categoryOf, effectsOf, relayRefusal } from '../outcome/effects.ts';
import type { Outcome } from '../outcome/outcome.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import type { Opener, OpenWish } from '../tls/opener.ts';
import type { EndpointAnswer, Endpoints, EndpointWish } from './endpoints.ts';
import type { Port25Watch } from './port-25.ts';
import { type RelayHealth, relayName } from './relay-health.ts';
import { type Egress, familiesOf, localAddressOf } from './routes.ts';

export type SmtpEgress = Extract<Egress, { kind: 'smtp' }>;

/** The message that was answered; its connection may have been opened for another domain. */
type Replied = Pick<ClaimedDelivery, 'messageId' | 'recipientDomain'>;

/** The route of one path, as it is used. */
export interface Connector {
  /** The endpoints; if one target fails, the next of the list is used. Never rejects. */
  endpoints(recipientDomain: string, wish: EndpointWish): Promise<EndpointAnswer>;
  /** Never rejects because of a server. */
  open(endpoint: Endpoint, wish: Omit<OpenWish, 'heloName'>): Promise<OpenResult>;
  /** An endpoint could not be opened. `category`: of the reply that refused us, if there was one. */
  notOpened(endpoint: Endpoint, failure: OpenFailure, category: Category | null): void;
  /**
   * The far end's answer to a message. Returns true if it is a relay that does not accept our mail, and another of the
   * list may: the message is then sent at once, on none of the connections to this relay.
   */
  replied(endpoint: Endpoint, outcome: Outcome, delivery: Replied): boolean;
  /** The first message of a session with TLS was answered, or (`why`) the session ended before that. */
  firstUnderTls(endpoint: Endpoint, why: string | null): void;
  /** Whether the far end gets one message at a time, to test whether it accepts our mail again. */
  halfOpen(endpoint: Endpoint): boolean;
  /** Another node sends from now on, and finds out which relays work: what was observed here is forgotten. */
  leftToOthers(): void;
}

export interface Connectors {
  /** `site`: the site of the path, because several sites without an answer mean something. */
  of(egress: SmtpEgress, site: string): Connector;
}

/** One message is not enough to mark a relay as failed, because the reply may be about this message. */
const MESSAGES_TO_BLAME = 2;

export function createConnectors(deps: {
  endpoints: Endpoints;
  opener: Opener;
  relays: RelayHealth;
  port25: Port25Watch;
}): Connectors {
  const { endpoints, opener, relays, port25 } = deps;
  /** Messages that a relay deferred because of its own state since its last success. */
  const suspects = new Map<string, Set<string>>();

  return {
    of: (egress, site) => ({
      endpoints: (recipientDomain, wish) => endpointsOf(egress, recipientDomain, wish),
      async open(endpoint, wish) {
        const result = await opener.open(endpoint, {
          ...wish,
          heloName: egress.source.heloName ?? undefined,
        });
        return endpoint.route === 'relay' ? relayOpened(endpoint, result) : hostOpened(site, result);
      },
      notOpened(endpoint, { reason }, category) {
        if (reason === 'aborted' || endpoint.route !== 'mx') return;
        // None of the addresses could be used: the next attempt asks the DNS again.
        if (endpoint.isLast) endpoints.forget(endpoint.recipientDomain);
        hostRefused(endpoint, endpoint.recipientDomain, { ...effectsOf(category), dnsAgain: undefined });
      },
      replied(endpoint, outcome, { messageId, recipientDomain }) {
        if (endpoint.route === 'relay') return relayReplied(egress, endpoint, outcome, messageId);
        hostRefused(endpoint, recipientDomain, effectsOf(categoryOf(outcome)));
        return false;
      },
      firstUnderTls: opener.firstUnderTls,
      halfOpen: (endpoint) => endpoint.route === 'relay' && relays.halfOpen(relayName(endpoint)),
      leftToOthers() {
        for (const target of egress.targets) if (target.kind === 'relay') relays.forget(relayName(target));
      },
    }),
  };

  async function endpointsOf(
    egress: SmtpEgress,
    recipientDomain: string,
    wish: EndpointWish,
  ): Promise<EndpointAnswer> {
    const families = familiesOf(egress.source);
    const found: Endpoint[] = [];
    let other: EndpointAnswer | null = null;
    const works = (target: SmtpEgress['targets'][number]) =>
      target.kind === 'mx' || !relays.hasFailed(relayName(target));
    const order = relays.order(egress.targets);
    for (const [i, target] of order.entries()) {
      const isTest = !works(target) && order.slice(i + 1).some(works);
      const answer = await endpoints.find(target, recipientDomain, { ...wish, families, isTest });
      if (answer.kind === 'endpoints')
        found.push(
          ...answer.endpoints.map((endpoint) => ({
            ...endpoint,
            localAddress: localAddressOf(egress.source, endpoint.address),
          })),
        );
      // A permanent DNS answer for the recipient decides; a relay that is not found may be skipped.
      else if (other === null || answer.kind === 'permanent') other = answer;
    }
    if (found.length > 0) return { kind: 'endpoints', endpoints: found };
    return other ?? { kind: 'temporary', detail: 'no route is configured' };
  }

  function hostRefused(
    endpoint: Endpoint,
    recipientDomain: string,
    { dnsAgain, wantTls, ipv4Only }: { [name in 'dnsAgain' | 'wantTls' | 'ipv4Only']?: true | undefined },
  ): void {
    if (dnsAgain) endpoints.forget(recipientDomain);
    if (wantTls) opener.tlsDemanded(endpoint);
    if (ipv4Only && isIPv6(endpoint.address)) endpoints.avoidIpv6(recipientDomain);
  }

  function relayReplied(
    egress: SmtpEgress,
    endpoint: Endpoint,
    outcome: Outcome,
    messageId: string,
  ): boolean {
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
    relays.failed(relay, 'mail', refusal.why);
    return egress.targets.some(
      (target) =>
        target.kind === 'mx' || (relayName(target) !== relay && !relays.passedOver(relayName(target))),
    );
  }

  function relayOpened(endpoint: Endpoint, result: OpenResult): OpenResult {
    if (result.kind === 'open') relays.connected(relayName(endpoint));
    // If our own stop aborted it, or this machine could not open it, it says nothing about the relay.
    else if (result.reason !== 'aborted' && result.reason !== 'local')
      relays.failed(
        relayName(endpoint),
        result.stage,
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
