/**
 * Opens a connection for the next message of a path: asks for the endpoints of its domain and tries them in order.
 * Returns a session, or the failure and what it concerns: a domain, one sender's TLS requirement, or the whole path.
 * Keeps no state.
 */
import type { OpenFailure, Session } from '../../../smtp/client-types.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import { toldAs, type Verdict } from '../outcome/classifier/verdict.ts';
import { NO_FACTS, type Outcome } from '../outcome/outcome.ts';
import { tlsText } from '../outcome/transaction-outcome.ts';
import type { EndpointAnswer } from '../routing/endpoints.ts';
import { untriedFirst } from '../routing/tried-hosts.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import { isByTls, type OpenWish } from '../tls/opener.ts';
import type { PathAddresses } from './address-connections.ts';
import type { ConnectionTotal } from './limits.ts';
import type { PathParts } from './parts.ts';

export type PathOutcome = Extract<Outcome, { kind: 'path' }>;

export type Opened =
  /** `shared`: the connections to its address, of which it is one; null for a relay. */
  | { kind: 'open'; endpoint: Endpoint; session: Session; shared: ConnectionTotal | null }
  /** All sites together have as many connections to these addresses as they may. */
  | { kind: 'full'; addresses: readonly string[] }
  /** Applies to every recipient of the domain. */
  | { kind: 'permanent'; answer: Extract<EndpointAnswer, { kind: 'permanent' }> }
  /**
   * The DNS gave no answer for this domain, or its own TLS policy is not met: other domains of the site need not wait.
   */
  | { kind: 'unresolved'; outcome: PathOutcome }
  /** Verified TLS, which only some senders require, is not available. */
  | { kind: 'without-tls'; outcome: PathOutcome }
  /** No connection was possible. `timedOut`: because there was no answer. */
  | { kind: 'failed'; outcome: PathOutcome; timedOut: boolean }
  /** This machine could not open one, which says nothing about the far end. */
  | { kind: 'local'; detail: string }
  /** A stop aborted the opening. */
  | { kind: 'stopped' };

/** What an opening uses; `addresses` takes a connection to an address. */
type OpeningParts = Pick<
  PathParts,
  'clock' | 'metrics' | 'classifier' | 'connector' | 'tried' | 'domains'
> & {
  addresses: Pick<PathAddresses, 'take'>;
};

/** Sessions that reached a connection, for one attempt. */
const MAX_SESSIONS = 2;
/** An address that can get no more of the attempt's time for connecting is left to the next attempt. */
const LEAST_CONNECT_MS = 1_000;

interface Head {
  recipientDomain: string;
  senderDomain: string;
  critical: boolean;
  requireTls: boolean;
  providerRequiresTls: boolean;
}

export async function openForHead(
  parts: OpeningParts,
  head: Head,
  opening: Pick<OpenWish, 'signal' | 'connecting'>,
): Promise<Opened> {
  const startedMs = parts.clock.monotonicMs();
  const opened = await tryEndpoints(parts, head, opening);
  if (!('outcome' in opened)) return opened;
  const { outcome } = opened;
  const facts = { ...outcome.facts, durationMs: parts.clock.monotonicMs() - startedMs };
  return { ...opened, outcome: { ...outcome, facts } };
}

async function tryEndpoints(
  parts: OpeningParts,
  head: Head,
  opening: Pick<OpenWish, 'signal' | 'connecting'>,
): Promise<Opened> {
  const { clock, metrics, tried, connector } = parts;
  const { signal } = opening;
  const { recipientDomain, ...wish } = head;
  const answer = await connector.endpoints(recipientDomain, { ...wish, tried });
  if (answer.kind === 'permanent') return { kind: 'permanent', answer };
  if (answer.kind === 'local') return answer;
  if (answer.kind === 'temporary') {
    const outcome = pathOutcome('dns', answer.category ?? 'dns_failure', answer.detail);
    if (answer.category === 'tls_failed' && head.requireTls) return { kind: 'without-tls', outcome };
    return { kind: 'unresolved', outcome };
  }
  let failure: { endpoint: Endpoint; result: OpenFailure } | null = null;
  // Where the DNS named other hosts when it was asked for the site, these would count for a site that is not theirs.
  const endpoints = answer.endpoints.filter(
    ({ route, host }) => route === 'relay' || parts.domains.takes(recipientDomain, host) !== false,
  );
  tried.offered(endpoints);
  // All were tried without success: start again with the best.
  if (endpoints.every((endpoint) => tried.has(endpoint))) tried.clear();
  const sessions = new Map<string, number>();
  const full: string[] = [];
  let local: string | null = null;
  // Relays keep their order: which of them is passed over is not this path's matter.
  const isDirect = endpoints.every(({ route }) => route === 'mx');
  for (const endpoint of isDirect ? untriedFirst(endpoints, tried) : endpoints) {
    if (signal.aborted) break;
    // After two hosts have answered and refused, the others are not asked; relays were chosen by the operator and are
    // all asked.
    const target = endpoint.route === 'mx' ? '' : `${endpoint.host}:${endpoint.port}`;
    const met = sessions.get(target) ?? 0;
    if (met >= MAX_SESSIONS || endpoint.budget.connectLeftMs < LEAST_CONNECT_MS) continue;
    const shared = endpoint.route === 'relay' ? null : parts.addresses.take(endpoint.address);
    if (shared === null && endpoint.route !== 'relay') {
      full.push(endpoint.address);
      continue;
    }
    const startedAt = clock.monotonicMs();
    const result = await connector.open(endpoint, opening);
    metrics.opened(result.kind, clock.monotonicMs() - startedAt);
    if (result.kind === 'open') {
      tried.clear();
      return { kind: 'open', endpoint, session: result.session, shared };
    }
    shared?.ended();
    if (result.reason === 'local') {
      // Another may still be reached: local ports are counted for each.
      local ??= `no connection to ${whereIs(endpoint)} can be opened: ${result.detail}`;
      continue;
    }
    // A silent one costs seconds or more each time, so it is not met again at the next connection.
    if (result.reason === 'timeout') tried.avoid(endpoint);
    if (result.reason !== 'aborted') tried.failed(endpoint);
    if (result.stage !== 'connect') sessions.set(target, met + 1);
    failure = { endpoint, result };
    connector.notOpened(endpoint, result, verdictOf(parts, endpoint, result)?.category ?? null);
  }
  // A stop aborts openings, which says nothing about the path.
  if (signal.aborted) return { kind: 'stopped' };
  // Where an address of one family cannot be used from here, what the others said counts.
  if (local !== null && failure === null) return { kind: 'local', detail: local };
  if (full.length > 0) return { kind: 'full', addresses: full };
  if (failure === null) {
    const outcome = pathOutcome('dns', 'dns_failure', `no usable address for ${recipientDomain}`);
    return { kind: 'unresolved', outcome };
  }
  return openingFailed(parts, failure.endpoint, failure.result);
}

/** A failure of the path that we detect ourselves. */
export function pathOutcome(stage: PathOutcome['stage'], category: Category, detail: string): PathOutcome {
  return { kind: 'path', category, verdict: null, stage, reply: null, detail, facts: NO_FACTS };
}

function whereIs({ host, address, port }: Endpoint): string {
  return host === address ? `${address}:${port}` : `${host} [${address}]:${port}`;
}

function openingFailed(parts: OpeningParts, endpoint: Endpoint, failed: OpenFailure): Opened {
  const { reply } = failed;
  const where = whereIs(endpoint);
  const isTls = isByTls(failed);
  // A reply to STARTTLS is about TLS, except 421.
  const verdict =
    failed.reason === 'reply' && !(isTls && reply?.code !== 421) ? verdictOf(parts, endpoint, failed) : null;
  const category = verdict === null ? categoryOf(failed, endpoint) : verdict.category;
  const far = endpoint.route === 'relay' ? `the relay ${where}` : where;
  const outcome: PathOutcome = {
    ...pathOutcome(failed.stage, category, `${far} ${failureText(failed)}`.slice(0, 512)),
    verdict,
    reply: reply === null ? null : { code: reply.code, enhanced: reply.enhanced, text: reply.text },
    facts: {
      remoteMta: where,
      sourceAddress: endpoint.localAddress,
      conversation: failed.conversation.text(),
      tls: tlsText(failed.tls),
      durationMs: 0, // openForHead counts it
    },
  };
  if (isTls && endpoint.tls.basis === 'sender') return { kind: 'without-tls', outcome };
  if (isTls && endpoint.tls.onlyFor !== null) return { kind: 'unresolved', outcome };
  return { kind: 'failed', outcome, timedOut: failed.reason === 'timeout' };
}

function verdictOf(
  { classifier }: Pick<OpeningParts, 'classifier'>,
  endpoint: Endpoint,
  { reply, stage }: OpenFailure,
): Verdict | null {
  if (reply === null) return null;
  const { code, enhanced, text } = reply;
  const verdict = classifier.classify({ stage, code, enhanced, text, mx: endpoint.host, origin: 'remote' });
  return { ...verdict, category: toldAs(verdict) };
}

/** The failure, in words that follow the name of the far end. */
function failureText(failed: OpenFailure): string {
  const { stage, reason, reply, tls, asked } = failed;
  const said = reply === null ? failed.detail : `${reply.code} ${reply.text}`;
  const why = asked === undefined ? said : `${said}; ${asked}`;
  switch (stage) {
    case 'connect':
      if (reason === 'refused') return `refused the connection (${said})`;
      return `${reason === 'timeout' ? 'did not answer' : 'cannot be reached'}: ${said}`;
    case 'banner':
      return reply === null ? `before its greeting: ${said}` : `greeted with ${said}`;
    case 'ehlo':
      return `${tls === null ? 'at EHLO' : 'behind the TLS handshake'}: ${why}`;
    case 'starttls':
      return `at STARTTLS: ${why}`;
    case 'tls':
      return `at the TLS handshake: ${why}`;
    case 'auth':
      return `at the login: ${said}`;
  }
}

function categoryOf(failed: OpenFailure, { tls }: Pick<Endpoint, 'tls'>): Category {
  // At a relay its route asks for TLS, unless only a sender does.
  const byTls = tls.basis === 'relay' ? 'relay_tls_failed' : 'tls_failed';
  if (isByTls(failed)) return byTls;
  switch (failed.reason) {
    case 'timeout':
      return 'timeout';
    case 'tls':
    case 'injection':
      return byTls;
    case 'auth':
      return 'relay_login_failed';
    case 'reset':
      return 'conn_lost';
    case 'protocol':
      return 'protocol_error';
    case 'reply':
      return failed.stage === 'auth' ? 'relay_login_failed' : 'service_unavailable';
    case 'refused':
    case 'unreachable':
    case 'local':
    case 'aborted':
      return 'unreachable';
  }
}
