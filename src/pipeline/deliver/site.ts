/**
 * One site's delivery: takes its work from the queue, prepares it, keeps connections and sends.
 *
 *   queue ──take──► preparing (read, sign) ──► prepared ──► a session with room ──► outcome ──► settled
 *
 * Two stages, so that signing (on the thread pool) runs while sessions are busy. A session takes a second message while
 * one is in flight: its envelope then travels with the first one's last bytes. Connections open one at a time, only
 * while prepared work finds no idle session. A failed opening blocks the site with growing waits and costs no attempt;
 * a message whose connection ends under it is charged unless the fault was plainly the connection's.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Failpoints } from '../../lib/failpoints.ts';
import { type Logger, maskAddresses } from '../../lib/log.ts';
import type { OpenFailure, OpenResult, Session } from '../../smtp/client-types.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import { clampHintMs, type RetrySchedule } from '../queue/retry-schedule.ts';
import type { Category } from './classifier/categories.ts';
import type { Classifier } from './classifier/classify.ts';
import { localVerdict, type Verdict } from './classifier/verdict.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import type { Endpoint, EndpointAnswer, EndpointWish } from './endpoints.ts';
import { NO_FACTS, type Outcome } from './outcome.ts';
import type { Prepared, Preparer } from './prepared.ts';
import type { SettlementRules } from './settlement.ts';
import { mayCarry } from './tls-plan.ts';
import { tlsText, transactionOutcome } from './transaction-outcome.ts';

export interface Site {
  /** There may be work. */
  wake(): void;
  /** Finishes what is in flight until `deadlineMs`, gives everything else back. */
  stop(deadlineMs: number): Promise<void>;
  /** Nothing is in flight, prepared or connected: the site may be forgotten. */
  readonly idle: boolean;
  readonly connections: number;
}

export interface SiteLimits {
  maxConnections: number;
  maxMessagesPerConnection: number;
  maxConnectionAgeMs: number;
  idleConnectionMs: number;
}

export interface SiteDeps {
  name: string;
  queue: Queue;
  preparer: Preparer;
  rules: SettlementRules;
  retry: RetrySchedule;
  clock: Clock;
  log: Logger;
  mailLog: Logger;
  metrics: DeliverMetrics;
  failpoints: Failpoints;
  classifier: Pick<Classifier, 'classify'>;
  /** Endpoints of every target in order; the first permanent answer counts where nothing else is to be tried. */
  endpoints(recipientDomain: string, wish: EndpointWish): Promise<EndpointAnswer>;
  /** `signal` ends the opening early. */
  open(endpoint: Endpoint, signal: AbortSignal): Promise<OpenResult>;
  /** An attempt ended: what it teaches about the way there is remembered elsewhere. */
  heard(endpoint: Endpoint, outcome: Outcome): void;
  /** Likewise for an opening that failed. */
  notOpened(endpoint: Endpoint, result: OpenFailure, category: Category | null): void;
}

interface Link {
  session: Session;
  endpoint: Endpoint;
  opening: string;
  openedAt: number;
  taken: number;
  /** Of its last transaction; Infinity before the first. */
  latencyMs: number;
  idleTimer: Timer | null;
}

/** Waiting for the store to be readable again before the next try. */
const STORE_RETRY_MS = 500;
/** Connections that end under two different messages in a row say something about the path. */
const LOSSES_BEFORE_BLOCK = 2;
/** Nearer far ends: one write and one reply a message beat spreading over idle connections (a fifth less CPU). */
const NEAR_MS = 20;
/** Slower far ends get a connection a message: nothing should wait behind them. */
const QUICK_MS = 1_000;
const FURTHER_CONNECTION_MS = 30_000;
/** A message that meets limits on one connection after another stops asking for yet another. */
const MAX_HANDED_ON = 3;

export function createSite(deps: SiteDeps, limits: SiteLimits): Site {
  const { name, queue, preparer, rules, retry, clock, log, mailLog, metrics, failpoints } = deps;
  const links = new Set<Link>();
  /** Links that take nothing new and close after what is in flight. */
  const leaving = new Set<Link>();
  const abort = new AbortController();
  const ready: Prepared[] = [];
  let preparing = 0;
  let inFlight = 0;
  let opening = false;
  /** A further connection was refused while others work: not asked for again before this (monotonic) time. */
  let noOpenBeforeMs = 0;
  let failures = 0;
  let lossesInRow = 0;
  let stopping = false;
  let drained: (() => void) | null = null;

  return {
    wake: pump,
    stop,
    get idle() {
      return (
        links.size === 0 &&
        leaving.size === 0 &&
        !opening &&
        preparing === 0 &&
        ready.length === 0 &&
        inFlight === 0
      );
    },
    get connections() {
      return links.size;
    },
  };

  function pump(): void {
    if (!stopping) {
      const ahead = 2 * (links.size + 2);
      while (preparing + ready.length < ahead) {
        const item = queue.take(name);
        if (item === null) break;
        void prepare(item);
      }
    }
    dispatch();
    if (drained !== null && inFlight === 0 && preparing === 0 && !opening) drained();
  }

  async function prepare(item: ReadyItem): Promise<void> {
    preparing += 1;
    try {
      const result = await preparer.prepare(item);
      if (result.kind === 'ready') ready.push(result.prepared);
      else finish(item, result.outcome);
    } catch (cause) {
      log.warn(
        { err: cause, deliveryId: item.delivery.id },
        'a message could not be read; it will be tried again',
      );
      queue.giveBack(item, clock.now() + STORE_RETRY_MS, null);
    }
    preparing -= 1;
    pump();
  }

  function dispatch(): void {
    if (stopping) {
      for (const prepared of ready.splice(0)) queue.giveBack(prepared.item, clock.now(), null);
      return;
    }
    // What was being prepared when the site was blocked waits with the rest.
    const blocked = queue.blocked(name);
    if (blocked !== null) {
      for (const prepared of ready.splice(0)) queue.giveBack(prepared.item, blocked.until, blocked.reason);
      return;
    }
    if (ready.length > 0 && !queue.recordable()) return;
    while (ready.length > 0) {
      // Critical mail does not wait behind another message while a connection of its own can be had.
      const mayWait = ready[0]?.item.delivery.lane !== 'critical' || !mayOpen();
      const link =
        (mayWait ? busyLink(NEAR_MS) : null) ?? idleLink() ?? (mayWait ? busyLink(QUICK_MS) : null);
      if (link === null) {
        if (mayOpen()) openLink().catch(openingBroke);
        return;
      }
      send(link);
    }
  }

  function idleLink(): Link | null {
    for (const link of links) {
      if (link.session.state === 'idle' && link.session.hasRoom && carriesHead(link)) return link;
    }
    return null;
  }

  /** A connection with a message under way, room for the next, and a far end that answered within `latencyMs`. */
  function busyLink(latencyMs: number): Link | null {
    for (const link of links) {
      const { session } = link;
      if (session.state === 'busy' && session.hasRoom && link.latencyMs < latencyMs && carriesHead(link))
        return link;
    }
    return null;
  }

  /** Whether the message at the head may go over this connection, as far as TLS is concerned. */
  function carriesHead(link: Link): boolean {
    const [head] = ready;
    if (head === undefined) return false;
    const { recipientDomain } = head.item.delivery;
    return mayCarry(link.endpoint, { ...head, recipientDomain });
  }

  function mayOpen(): boolean {
    return !opening && links.size < limits.maxConnections && clock.monotonicMs() >= noOpenBeforeMs;
  }

  // ── sending ─────────────────────────────────────────────────────────────────────────────────────────────

  function send(link: Link): void {
    const prepared = ready.shift();
    if (prepared === undefined) return;
    link.idleTimer?.cancel();
    link.idleTimer = null;
    link.taken += 1;
    inFlight += 1;
    transact(link, prepared)
      .catch((cause: unknown) => attemptBroke(prepared.item, cause))
      .then(() => {
        inFlight -= 1;
        rest(link);
        pump();
      });
    if (
      link.taken >= limits.maxMessagesPerConnection ||
      clock.monotonicMs() - link.openedAt > limits.maxConnectionAgeMs
    ) {
      leave(link);
    }
  }

  /** A bug, not an outcome: the message may or may not be with the far end, and is tried again as such. */
  function attemptBroke(item: ReadyItem, cause: unknown): void {
    log.error(
      { err: cause, deliveryId: item.delivery.id },
      'an attempt broke; it counts as of unknown outcome',
    );
    const detail = 'an internal error ended the attempt';
    void queue.settle(item, rules.settle(item.delivery, { kind: 'unknown', detail, facts: NO_FACTS }));
  }

  /** A bug while opening: the site rests like after any failed opening, so that it is not met in a loop. */
  function openingBroke(cause: unknown): void {
    opening = false;
    log.error({ err: cause, site: name }, 'a connection could not be opened for an internal error');
    pathFailed(pathOutcome('connect', 'unreachable', 'an internal error ended the opening'));
    pump();
  }

  function leave(link: Link): void {
    links.delete(link);
    leaving.add(link);
    link.session.quit();
  }

  async function transact(link: Link, prepared: Prepared): Promise<void> {
    const { item, content, prefix } = prepared;
    const { delivery } = item;
    const smtpUtf8 = delivery.needsSmtpUtf8 || !isAscii(delivery.address);
    const result = await link.session.transact({
      mailFrom: prepared.mailFrom,
      recipients: [delivery.address],
      data: [prefix, content],
      size: prefix.length + content.length,
      smtpUtf8,
      eightBit: prepared.eightBit,
      dsn: prepared.dsn,
      onDataSent: () => failpoints.reach('after-data-sent'),
    });
    if (result.kind === 'not-sendable' && result.why === 'eight-bit-unsupported') {
      const again = await preparer.inSevenBit(prepared);
      if (again.kind === 'ready') {
        ready.unshift(again.prepared);
        return;
      }
      if (again.kind === 'outcome') return finish(item, again.outcome);
    }
    const peer = {
      host: link.endpoint.host,
      address: link.endpoint.address,
      route: link.endpoint.route,
      opening: link.opening,
    };
    if (result.kind === 'done') link.latencyMs = result.latencyMs;
    const outcome = transactionOutcome(result, peer, item.redispatched, deps.classifier);
    if (outcome.kind === 'delivered') failpoints.reach('after-remote-250');
    deps.heard(link.endpoint, outcome);
    if (outcome.kind === 'delivered' || (result.kind === 'done' && outcome.kind !== 'path')) {
      failures = 0;
      lossesInRow = 0;
    }
    metrics.attempted(outcome.kind, result.kind === 'not-sendable' ? 0 : result.latencyMs);
    if (outcome.kind === 'again') {
      item.redispatched += 1;
      if (stopping) queue.giveBack(item, clock.now(), null);
      else queue.putBack(item);
      return;
    }
    // Fewer connections is all that it asks for, and the others work.
    if (outcome.kind === 'path' && outcome.category === 'connection_limited' && links.size > 1) {
      if (item.redispatched < MAX_HANDED_ON && !stopping) {
        noOpenBeforeMs = clock.monotonicMs() + FURTHER_CONNECTION_MS;
        links.delete(link);
        link.session.quit();
        item.redispatched += 1;
        queue.putBack(item);
        return;
      }
    }
    if (outcome.kind === 'path') return pathFailed(outcome, item);
    finish(item, outcome);
    if (result.kind === 'lost' && !result.untried) {
      lossesInRow += 1;
      if (lossesInRow >= LOSSES_BEFORE_BLOCK && queue.blocked(name) === null)
        block(`connections to ${peer.host} end early: ${result.detail}`);
    }
  }

  /** Stores an outcome. The window keeps the item until then. */
  function finish(
    item: ReadyItem,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    blockedUntil?: number,
  ): void {
    const settlement = rules.settle(item.delivery, outcome, blockedUntil);
    logOutcome(item, outcome, settlement);
    void queue.settle(item, settlement);
  }

  function logOutcome(
    item: ReadyItem,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    { state, dueAt }: Settlement,
  ): void {
    const { messageId, id, address } = item.delivery;
    const common = { messageId, deliveryId: id, to: address, attempt: item.delivery.attempts + 1 };
    if (outcome.kind === 'delivered') {
      const { facts, reply, route } = outcome;
      const text = reply === null ? '' : `${reply.code} ${reply.text}`.slice(0, 200);
      mailLog.info(
        { ...common, route, mx: facts.remoteMta, ms: Math.round(facts.durationMs), reply: text },
        'delivered',
      );
      return;
    }
    const category =
      'category' in outcome ? outcome.category : 'verdict' in outcome ? outcome.verdict.category : '';
    // What was decided, not what was heard: a refusal may be looked at twice, and a deferral may be the last one.
    const name = state !== 'queued' ? state : outcome.kind === 'held' ? 'held' : 'deferred';
    mailLog.info(
      { ...common, category, detail: outcome.detail, ...(dueAt === undefined ? {} : { nextAt: dueAt }) },
      name,
    );
  }

  // ── connections ─────────────────────────────────────────────────────────────────────────────────────────

  async function openLink(): Promise<void> {
    const [head] = ready;
    if (head === undefined) return;
    opening = true;
    const answer = await deps.endpoints(head.item.delivery.recipientDomain, {
      critical: head.item.delivery.lane === 'critical',
      requireTls: head.requireTls,
    });
    if (answer.kind === 'permanent') {
      opening = false;
      refuseAll(answer);
      return pump();
    }
    if (answer.kind === 'temporary') {
      opening = false;
      if (answer.category === 'tls_failed' && head.requireTls) {
        withoutTls(pathOutcome('dns', 'tls_failed', answer.detail));
        return pump();
      }
      pathFailed(pathOutcome('dns', answer.category ?? 'dns_failure', answer.detail));
      return pump();
    }
    let failure: { endpoint: Endpoint; result: OpenFailure } | null = null;
    for (const endpoint of answer.endpoints) {
      if (stopping) break;
      const startedAt = clock.monotonicMs();
      const result = await deps.open(endpoint, abort.signal);
      metrics.opened(result.kind, clock.monotonicMs() - startedAt);
      if (result.kind === 'open') {
        opening = false;
        add(endpoint, result.session);
        return pump();
      }
      failure = { endpoint, result };
      deps.notOpened(endpoint, result, verdictOf(endpoint, result)?.category ?? null);
    }
    opening = false;
    // Openings are broken off by a stop; that says nothing about the path.
    if (failure !== null && !stopping) openingFailed(failure.endpoint, failure.result);
    else if (!stopping) pathFailed(pathOutcome('dns', 'dns_failure', `no usable address for ${name}`));
    pump();
  }

  function add(endpoint: Endpoint, session: Session): void {
    const link: Link = {
      session,
      endpoint,
      opening: session.conversation.text(),
      openedAt: clock.monotonicMs(),
      taken: 0,
      latencyMs: Number.POSITIVE_INFINITY,
      idleTimer: null,
    };
    links.add(link);
    rest(link);
    session.onClosed(() => {
      link.idleTimer?.cancel();
      links.delete(link);
      leaving.delete(link);
      if (links.size === 0) noOpenBeforeMs = 0;
      pump();
    });
    if (stopping) session.quit();
  }

  /** An idle connection is closed after a while; the far end's patience is not ours to use up. */
  function rest(link: Link): void {
    if (!links.has(link) || link.session.state !== 'idle') return;
    link.idleTimer?.cancel();
    link.idleTimer = clock.setTimer(limits.idleConnectionMs, () => {
      leave(link);
    });
  }

  function openingFailed(endpoint: Endpoint, failed: OpenFailure): void {
    const where = `${endpoint.host} [${endpoint.address}]:${endpoint.port}`;
    const said = failed.reply === null ? failed.detail : `${failed.reply.code} ${failed.reply.text}`;
    const verdict = verdictOf(endpoint, failed);
    const outcome = pathOutcome(
      failed.stage,
      verdict !== null && failed.reason === 'reply' ? verdict.category : categoryOf(failed),
      `${where} at ${failed.stage}: ${said}`.slice(0, 512),
    );
    const isTls = failed.stage === 'starttls' || failed.stage === 'tls';
    const tell = isTls && endpoint.tls.basis === 'sender' ? withoutTls : pathFailed;
    tell({
      ...outcome,
      verdict: failed.reason === 'reply' ? verdict : null,
      reply:
        failed.reply === null
          ? null
          : { code: failed.reply.code, enhanced: failed.reply.enhanced, text: failed.reply.text },
      facts: {
        remoteMta: where,
        conversation: failed.conversation.text(),
        tls: tlsText(failed.tls),
        durationMs: 0,
      },
    });
  }

  function verdictOf(endpoint: Endpoint, { reply, stage }: OpenFailure): Verdict | null {
    if (reply === null) return null;
    const { code, enhanced, text } = reply;
    return deps.classifier.classify({ stage, code, enhanced, text, mx: endpoint.host, origin: 'remote' });
  }

  /** Verified TLS is what a sender asks for, and it is not to be had: that concerns their mail, not the site. */
  function withoutTls(outcome: Extract<Outcome, { kind: 'path' }>): void {
    const waiting = ready.splice(0);
    for (const prepared of waiting) {
      if (!prepared.requireTls) ready.push(prepared);
      else
        finish(prepared.item, {
          ...outcome,
          kind: 'deferred',
          verdict: localVerdict('tls_failed', 'retry', 'path'),
        });
    }
  }

  function pathOutcome(
    stage: Extract<Outcome, { kind: 'path' }>['stage'],
    category: Category,
    detail: string,
  ): Extract<Outcome, { kind: 'path' }> {
    return { kind: 'path', category, verdict: null, stage, reply: null, detail, facts: NO_FACTS };
  }

  /** The attempted row hears of it; what waits behind it only carries the reason. */
  function pathFailed(outcome: Extract<Outcome, { kind: 'path' }>, item?: ReadyItem): void {
    // Other connections still work: this one more is refused, the site is not down.
    if (item === undefined && links.size > 0) {
      noOpenBeforeMs = clock.monotonicMs() + FURTHER_CONNECTION_MS;
      log.debug({ site: name, detail: outcome.detail }, 'a further connection failed; the open ones go on');
      return;
    }
    // Connections that end together are one failure of the path, not as many as there were connections.
    const blocked = queue.blocked(name);
    const until = blocked?.until ?? clock.now() + pathWaitMs(outcome.verdict);
    const attempted = item ?? ready.shift()?.item;
    if (attempted !== undefined) finish(attempted, outcome, until);
    if (blocked === null) block(outcome.detail, until);
  }

  /** How long a reply about the path keeps it blocked: what it asks for, what its category says, never less than usual. */
  function pathWaitMs(verdict: Verdict | null): number {
    const usual = retry.breakerWaitMs(failures + 1);
    if (verdict === null) return usual;
    if (verdict.hintMs !== null) return retry.fixedWaitMs(clampHintMs(verdict.hintMs), failures + 1);
    return verdict.waitMs === null ? usual : Math.max(usual, retry.fixedWaitMs(verdict.waitMs, failures + 1));
  }

  function block(reason: string, until = clock.now() + retry.breakerWaitMs(failures + 1)): void {
    failures += 1;
    lossesInRow = 0;
    metrics.blocked();
    log.info({ site: name, failures, until: new Date(until).toISOString(), reason }, 'site blocked');
    // Everybody's mail for this site shows it, and a reply may name somebody's recipient.
    const waitReason = `path: ${maskAddresses(reason)}`.slice(0, 512);
    for (const prepared of ready.splice(0)) queue.giveBack(prepared.item, until, waitReason);
    queue.block(name, until, waitReason);
  }

  /** A permanent DNS answer holds for every recipient of the domain. */
  function refuseAll(answer: Extract<EndpointAnswer, { kind: 'permanent' }>): void {
    for (const prepared of ready.splice(0)) {
      finish(prepared.item, {
        kind: 'bounced',
        verdict: localVerdict(answer.category, 'bounce', 'domain'),
        stage: 'dns',
        reply: { code: 0, enhanced: answer.enhanced, text: answer.detail },
        detail: answer.detail,
        facts: NO_FACTS,
        twice: answer.twice,
      });
    }
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping = true;
    abort.abort();
    const finished = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const timer = clock.setTimer(deadlineMs, () => {
      for (const link of [...links, ...leaving]) link.session.destroy();
    });
    pump();
    await finished;
    timer.cancel();
    for (const link of links) link.session.quit();
  }
}

function categoryOf(failed: OpenFailure): Category {
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

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 126) return false;
  return true;
}
