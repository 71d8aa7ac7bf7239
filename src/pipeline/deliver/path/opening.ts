/**
 * Opens a connection for the message at the head of a path: asks for the endpoints of its domain and tries them in
 * order. Leaves a session, or what stood in the way and whom that concerns: a domain, one sender's wish for TLS, or the
 * whole path. Nothing is remembered here.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { OpenFailure, Session } from '../../../smtp/client-types.ts';
import type { DeliverMetrics } from '../deliver-metrics.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import type { Classifier } from '../outcome/classifier/classify.ts';
import { toldAs, type Verdict } from '../outcome/classifier/verdict.ts';
import { NO_FACTS, type Outcome } from '../outcome/outcome.ts';
import { tlsText } from '../outcome/transaction-outcome.ts';
import type { Connector } from '../routing/connector.ts';
import type { EndpointAnswer } from '../routing/endpoints.ts';
import { type TriedHosts, untriedFirst } from '../routing/tried-hosts.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import { isByTls, type OpenWish } from '../tls/opener.ts';

export type PathOutcome = Extract<Outcome, { kind: 'path' }>;

export type Opened =
  | { kind: 'open'; endpoint: Endpoint; session: Session }
  /** Holds for every recipient of the domain. */
  | { kind: 'permanent'; answer: Extract<EndpointAnswer, { kind: 'permanent' }> }
  /** DNS gave no answer for this domain, or its own TLS policy is not met: others of the site need not wait for it. */
  | { kind: 'unresolved'; outcome: PathOutcome }
  /** Verified TLS, which only some senders ask for, is not to be had. */
  | { kind: 'without-tls'; outcome: PathOutcome }
  /** Nobody could be connected to. `timedOut`: because nothing was answered. */
  | { kind: 'failed'; outcome: PathOutcome; timedOut: boolean }
  /** The opening was broken off by a stop. */
  | { kind: 'stopped' };

export interface OpeningDeps {
  clock: Clock;
  metrics: Pick<DeliverMetrics, 'opened'>;
  classifier: Pick<Classifier, 'classify'>;
  connector: Pick<Connector, 'endpoints' | 'open' | 'notOpened'>;
  /** Met in vain by earlier attempts. */
  tried: TriedHosts;
}

/** Sessions that got as far as a connection, for one attempt. */
const MAX_SESSIONS = 2;

export async function openForHead(
  deps: OpeningDeps,
  head: { recipientDomain: string; critical: boolean; requireTls: boolean; providerRequiresTls: boolean },
  opening: Pick<OpenWish, 'signal' | 'connecting'>,
): Promise<Opened> {
  const { clock, metrics } = deps;
  const { signal } = opening;
  const { recipientDomain, ...wish } = head;
  const { tried, connector } = deps;
  const answer = await connector.endpoints(recipientDomain, { ...wish, tried });
  if (answer.kind === 'permanent') return { kind: 'permanent', answer };
  if (answer.kind === 'temporary') {
    const outcome = pathOutcome('dns', answer.category ?? 'dns_failure', answer.detail);
    if (answer.category === 'tls_failed' && head.requireTls) return { kind: 'without-tls', outcome };
    return { kind: 'unresolved', outcome };
  }
  let failure: { endpoint: Endpoint; result: OpenFailure } | null = null;
  tried.offered(answer.endpoints);
  // Everybody had a turn and it was in vain: it begins with the best again.
  if (answer.endpoints.every((endpoint) => tried.has(endpoint))) tried.clear();
  const sessions = new Map<string, number>();
  for (const endpoint of untriedFirst(answer.endpoints, tried)) {
    if (signal.aborted) break;
    // Whoever answers and refuses us twice over is not asked host by host; a list of relays is the operator's own.
    const target = endpoint.route === 'mx' ? '' : `${endpoint.host}:${endpoint.port}`;
    const met = sessions.get(target) ?? 0;
    if (met >= MAX_SESSIONS) continue;
    const startedAt = clock.monotonicMs();
    const result = await connector.open(endpoint, opening);
    metrics.opened(result.kind, clock.monotonicMs() - startedAt);
    if (result.kind === 'open') {
      tried.clear();
      return { kind: 'open', endpoint, session: result.session };
    }
    if (result.reason !== 'aborted') tried.failed(endpoint);
    if (result.stage !== 'connect') sessions.set(target, met + 1);
    failure = { endpoint, result };
    connector.notOpened(endpoint, result, verdictOf(deps, endpoint, result)?.category ?? null);
  }
  // Openings are broken off by a stop; that says nothing about the path.
  if (signal.aborted) return { kind: 'stopped' };
  if (failure === null) {
    const outcome = pathOutcome('dns', 'dns_failure', `no usable address for ${recipientDomain}`);
    return { kind: 'unresolved', outcome };
  }
  return openingFailed(deps, failure.endpoint, failure.result);
}

/** A failure of the path that we name ourselves. */
export function pathOutcome(stage: PathOutcome['stage'], category: Category, detail: string): PathOutcome {
  return { kind: 'path', category, verdict: null, stage, reply: null, detail, facts: NO_FACTS };
}

function openingFailed(deps: OpeningDeps, endpoint: Endpoint, failed: OpenFailure): Opened {
  const { reply } = failed;
  const { host, address, port } = endpoint;
  const where = host === address ? `${address}:${port}` : `${host} [${address}]:${port}`;
  const isTls = isByTls(failed);
  // What a server answers to STARTTLS is about TLS, but for a 421.
  const verdict =
    failed.reason === 'reply' && !(isTls && reply?.code !== 421) ? verdictOf(deps, endpoint, failed) : null;
  const category = verdict === null ? categoryOf(failed) : verdict.category;
  const far = endpoint.route === 'relay' ? `the relay ${where}` : where;
  const outcome: PathOutcome = {
    ...pathOutcome(failed.stage, category, `${far} ${failureText(failed)}`.slice(0, 512)),
    verdict,
    reply: reply === null ? null : { code: reply.code, enhanced: reply.enhanced, text: reply.text },
    facts: {
      remoteMta: where,
      conversation: failed.conversation.text(),
      tls: tlsText(failed.tls),
      durationMs: 0,
    },
  };
  if (isTls && endpoint.tls.basis === 'sender') return { kind: 'without-tls', outcome };
  if (isTls && endpoint.tls.onlyFor !== null) return { kind: 'unresolved', outcome };
  return { kind: 'failed', outcome, timedOut: failed.reason === 'timeout' };
}

function verdictOf(
  { classifier }: Pick<OpeningDeps, 'classifier'>,
  endpoint: Endpoint,
  { reply, stage }: OpenFailure,
): Verdict | null {
  if (reply === null) return null;
  const { code, enhanced, text } = reply;
  const verdict = classifier.classify({ stage, code, enhanced, text, mx: endpoint.host, origin: 'remote' });
  return { ...verdict, category: toldAs(verdict) };
}

/** What failed, in words that follow the name of the far end. */
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

function categoryOf(failed: OpenFailure): Category {
  if (isByTls(failed)) return 'tls_failed';
  switch (failed.reason) {
    case 'timeout':
      return 'timeout';
    case 'tls':
    case 'injection':
      return 'tls_failed';
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
    case 'aborted':
      return 'unreachable';
  }
}
