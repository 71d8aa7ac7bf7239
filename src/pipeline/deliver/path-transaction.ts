/**
 * One transaction of a path, with one recipient or several of one message: hands it to the connection and gives every
 * recipient what the replies say of it. Recipients that were one too many go on at once in the next transaction, and
 * the number that the server took is kept for a day; what says something about the path stops the path once.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Failpoints } from '../../lib/failpoints.ts';
import type { OverrideNote } from '../../policy/limits/shaping/types.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import type { Classifier } from './classifier/classify.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import type { Endpoint } from './endpoints.ts';
import { isAscii, oneTooMany } from './grouping.ts';
import type { Outcome, ReplyFacts } from './outcome.ts';
import type { PathFailures } from './path-failures.ts';
import type { Link } from './path-links.ts';
import type { Picker } from './path-pick.ts';
import type { PathState } from './path-states.ts';
import type { Prepared, Preparer } from './prepared.ts';
import { transactionOutcome } from './transaction-outcome.ts';

interface Deps {
  queue: Queue;
  state: Pick<PathState, 'closed'>;
  preparer: Pick<Preparer, 'inSevenBit'>;
  clock: Clock;
  classifier: Pick<Classifier, 'classify'>;
  metrics: Pick<DeliverMetrics, 'attempted'>;
  failpoints: Failpoints;
  failures: PathFailures;
  ready: Pick<Picker, 'addFirst'>;
  note(lesson: Pick<OverrideNote, 'param' | 'value' | 'until' | 'rule' | 'why'>): void;
  heard(endpoint: Endpoint, outcome: Outcome, senderDomain: string): void;
  /** True: a relay that does not take our mail; another one is to take this message. */
  refusedBy(endpoint: Endpoint, outcome: Outcome, messageId: string): boolean;
  /** So many recipients were taken back before the far end had a say about them. */
  cameBack(count: number): void;
  /** A final reply came to this message. */
  replied(delivered: ReplyFacts | null): void;
  /** No connection to this far end takes anything new. */
  leave(endpoint: Endpoint): void;
  finish(item: ReadyItem, outcome: Exclude<Outcome, { kind: 'again' }>): void;
  stopping(): boolean;
}

const LEARNED_MS = 24 * 3_600_000;

/** Sends `prepared` and, in the same transaction, the copies of its message for `companions`. */
export async function transact(
  deps: Deps,
  link: Link,
  prepared: Prepared,
  companions: readonly ReadyItem[],
): Promise<void> {
  const { queue, failpoints, clock, failures, metrics } = deps;
  const { item, content } = prepared;
  const items = [item, ...companions];
  const { mailFrom, prefix, dsn } = companions.length > 0 ? (prepared.shared ?? prepared) : prepared;
  const result = await link.session.transact({
    mailFrom,
    recipients: items.map(({ delivery }) => delivery.address),
    data: [prefix, content],
    size: prefix.length + content.length,
    smtpUtf8: item.delivery.needsSmtpUtf8 || !isAscii(item.delivery.address),
    eightBit: prepared.eightBit,
    dsn,
    onDataSent: () => failpoints.reach('after-data-sent'),
  });
  if (result.kind === 'not-sendable' && result.why === 'eight-bit-unsupported') {
    const again = await deps.preparer.inSevenBit(prepared);
    if (again.kind !== 'impossible') {
      deps.cameBack(items.length);
      giveOn(companions);
      if (again.kind === 'ready') deps.ready.addFirst(again.prepared);
      else deps.finish(item, again.outcome);
      return;
    }
  }
  const { host, address, route: by } = link.endpoint;
  const peer = { host, address, route: by, opening: link.opening, inClear: link.session.inClear };
  if (result.kind === 'done') link.latencyMs = result.latencyMs;
  const tooMany = oneTooMany(result, deps.classifier, host);
  if (tooMany.limit !== null) learn(tooMany.limit, host);
  deps.cameBack(tooMany.refused.size);
  const goingOn: ReadyItem[] = [];
  let pathFailed = false;
  let handedOn = false;
  items.forEach((one, index) => {
    if (tooMany.refused.has(index)) {
      goingOn.push(one);
      return;
    }
    const outcome = transactionOutcome(result, peer, one.redispatched, deps.classifier, index);
    if (outcome.kind === 'delivered') failpoints.reach('after-remote-250');
    deps.heard(link.endpoint, outcome, one.delivery.senderDomain);
    metrics.attempted(outcome.kind, result.kind === 'not-sendable' ? 0 : result.latencyMs);
    if (deps.refusedBy(link.endpoint, outcome, one.delivery.messageId)) {
      deps.leave(link.endpoint);
      if (failures.handOn(one)) {
        handedOn = true;
        return;
      }
    }
    if (outcome.kind === 'again') {
      one.redispatched += 1;
      goingOn.push(one);
    } else if (outcome.kind === 'path') {
      if (pathFailed) goingOn.push(one);
      else failures.failed(outcome, { item: one, link });
      pathFailed = true;
    } else {
      // Any final reply says that the path works; what it says about the message does not matter here.
      if (result.kind === 'done') deps.replied(outcome.kind === 'delivered' ? outcome.reply : null);
      deps.finish(one, outcome);
    }
  });
  giveOn(goingOn);
  if (result.kind === 'lost' && !result.untried && goingOn.length === 0 && !pathFailed && !handedOn) {
    failures.lostUnder(item.delivery.messageId, `connections to ${host} end early: ${result.detail}`);
  }

  /** To the head of what waits, in their order; or back to the store where nothing may go. */
  function giveOn(some: readonly ReadyItem[]): void {
    const { closed } = deps.state;
    for (const one of [...some].reverse()) {
      if (deps.stopping() || closed !== null) queue.giveBack(one, clock.now(), closed?.reason ?? null);
      else queue.putBack(one);
    }
  }

  function learn(limit: number, host: string): void {
    deps.note({
      param: 'recipientsPerTransaction',
      value: limit,
      until: clock.now() + LEARNED_MS,
      rule: 'too_many_recipients',
      why: `${host} took ${limit} recipients in one transaction and refused the next`,
    });
  }
}
