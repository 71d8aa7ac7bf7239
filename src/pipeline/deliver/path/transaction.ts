/**
 * One transaction of a path, with one recipient or several of one message: passes it to the connection and gives every
 * recipient its outcome. Recipients beyond the server's limit are sent at once in the next transaction, and the limit
 * is stored for a day. A reply about the path stops the path once; the behaviour of a connection is recorded for its
 * far end. A message that waits behind another one is checked once more when its turn comes; until then it may be
 * withdrawn.
 */

import { isAscii } from '../../../mail/address-text.ts';
import { pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Transaction, TransactionResult } from '../../../smtp/client-types.ts';
import { freeBytes, type ReadyItem } from '../../queue/ready-item.ts';
import type { Outcome, ReplyFacts } from '../outcome/outcome.ts';
import { endedWithReason, transactionOutcome } from '../outcome/transaction-outcome.ts';
import { oneTooMany } from '../prepare/grouping.ts';
import type { Prepared } from '../prepare/prepared.ts';
import type { PathFailures } from './failures.ts';
import type { InFlight } from './in-flight.ts';
import type { Link } from './links.ts';
import type { PathParts } from './parts.ts';

/** What a path sends with. */
export type TransactionParts = PathParts & { inFlight: InFlight; failures: PathFailures };

const LEARNED_MS = 24 * 3_600_000;

/** Sends `prepared` and, in the same transaction, the copies of its message for `sameTransaction`. */
export type Transact = (
  link: Link,
  prepared: Prepared,
  sameTransaction: readonly ReadyItem[],
) => Promise<void>;

export function createTransact(parts: TransactionParts): Transact {
  const { sitePath, queue, failpoints, clock, failures, metrics, connector, warm, finish } = parts;
  const onDataSent = (): void => failpoints.reach('after-data-sent');
  return transact;

  async function transact(
    link: Link,
    prepared: Prepared,
    sameTransaction: readonly ReadyItem[],
  ): Promise<void> {
    const { item, content } = prepared;
    const items = [item, ...sameTransaction];
    const gone: ReadyItem[] = [];
    const { mailFrom, prefix, dsn } = sameTransaction.length > 0 ? (prepared.shared ?? prepared) : prepared;
    // Behind a message sent with DATA it is sent with DATA too.
    const most = parts.inFlight.most(link, prepared);
    const whole = most > 0 && link.session.maySendWhole(most);
    const transaction: Transaction = {
      mailFrom,
      recipients: items.map(({ delivery }) => delivery.address),
      data: [prefix, content],
      size: prefix.length + content.length,
      smtpUtf8: item.delivery.needsSmtpUtf8 || !isAscii(item.delivery.address),
      eightBit: prepared.eightBit,
      dsn,
      onDataSent,
      mayGo,
      begins,
    };
    const result = await (whole ? link.session.sendWhole(transaction) : link.session.transact(transaction));
    if (link.behind?.item === item) link.behind = null;
    if (gone.length > 0) {
      cameBack(items, false);
      requeue(items.filter((one) => !gone.includes(one)));
      return;
    }
    if (result.kind === 'not-sendable' && result.why === 'eight-bit-unsupported') {
      const again = await parts.preparer.inSevenBit(prepared);
      if (again.kind !== 'impossible') {
        cameBack(items, false);
        requeue(sameTransaction);
        if (again.kind === 'ready') parts.ready.addFirst(again.prepared);
        else finish(item, again.outcome);
        return;
      }
    }
    const mayFree = item.content?.mayFree === true && item.content.bytes === content;
    if (item.content !== null) item.content.mayFree = false;
    const { host, address, localAddress, route: by } = link.endpoint;
    const { opening, session } = link;
    const peer = { host, address, localAddress, route: by, opening, inClear: session.inClear };
    noteOnLink(link, result, whole);
    const tooMany = oneTooMany(result, parts.classifier, host);
    if (tooMany.limit !== null) learn(tooMany.limit, host);
    const notReached: ReadyItem[] = [];
    const requeued: ReadyItem[] = [];
    let pathFailed = false;
    let sentAgain = false;
    let hasReason = false;
    items.forEach((one, index) => {
      if (tooMany.refused.has(index)) {
        notReached.push(one);
        requeued.push(one);
        return;
      }
      const outcome = transactionOutcome(result, peer, one.redispatched, parts.classifier, index);
      if (outcome.kind === 'delivered') failpoints.reach('after-remote-250');
      const reached = hasReached(result, outcome, index);
      if (!reached) notReached.push(one);
      parts.senderEffects.onOutcome(sitePath, one.delivery.senderDomain, outcome);
      if (reached) warm.onOutcome(outcome);
      if (outcome.kind !== 'again' || !isUntried(result))
        metrics.attempted(outcome.kind, result.kind === 'not-sendable' ? 0 : result.latencyMs);
      if (connector.replied(link.endpoint, outcome, one.delivery)) {
        parts.links.leaveThose(
          ({ endpoint }) => endpoint.host === host && endpoint.port === link.endpoint.port,
        );
        if (failures.sendAgainAtOnce(one)) {
          sentAgain = true;
          return;
        }
      }
      if (outcome.kind === 'again') {
        one.redispatched += 1;
        one.fresh ||= outcome.fresh;
        requeued.push(one);
      } else if (outcome.kind === 'path') {
        if (pathFailed) requeued.push(one);
        else failures.failed(outcome, { item: one, link, taken: takenWith(link, result) });
        pathFailed = true;
      } else {
        // Any final reply shows that the path works, whatever it says about the message.
        if (result.kind === 'done') answered(link, outcome.kind === 'delivered' ? outcome.reply : null);
        hasReason ||= endedWithReason(result, outcome, index);
        finish(one, outcome);
        if (mayFree && outcome.kind === 'delivered' && link.session.unsent() === 0) freeBytes(content);
      }
    });
    if (notReached.length > 0) cameBack(notReached, !isUntried(result));
    requeue(requeued);
    const explained = requeued.length > 0 || pathFailed || sentAgain || hasReason;
    if (result.kind === 'lost' && !result.untried && !explained) {
      const detail = `connections to ${host} end early: ${result.detail}`;
      failures.lostUnder(item.delivery.messageId, link, detail);
    }

    /** The check also settles what was canceled, held or suppressed meanwhile. */
    function mayGo(): boolean {
      for (const one of items) if (!queue.mayGoOn(one)) gone.push(one);
      return gone.length === 0;
    }

    /** Nothing is ahead of it any more. */
    function begins(): boolean {
      if (!mayGo()) return false;
      for (const one of items) one.underWay = link.sending;
      link.behind = null;
      return true;
    }
  }

  function noteOnLink(link: Link, ended: TransactionResult, whole: boolean): void {
    // Once for the connection: for the message whose reply was awaited.
    if (whole && ended.kind === 'lost' && !ended.untried && ended.reason !== 'local')
      link.farEnd.lostInFlight();
    if (link.session.tls !== null && ended.kind !== 'not-sendable') {
      if (ended.kind === 'done') connector.firstUnderTls(link.endpoint, null);
      else if (endedAtOnce(ended)) connector.firstUnderTls(link.endpoint, `${ended.stage}: ${ended.detail}`);
    }
    if (ended.kind === 'done') {
      link.latencyMs = ended.latencyMs;
      link.endedAtMs = clock.monotonicMs();
      link.farEnd.took(ended.latencyMs);
      if (whole) link.farEnd.answeredWhole();
    } else if (ended.kind === 'lost' && ended.reused && ended.stage === 'mail' && !ended.untried) {
      if (ended.reason !== 'timeout') failures.endedBetween(link);
      else if (ended.pipelined) link.farEnd.droppedBehind();
    }
  }

  /** Messages given to the connection by then, including this one. */
  function takenWith(link: Link, ended: TransactionResult): number {
    return link.session.transactions() + (ended.kind === 'done' ? 0 : 1);
  }

  /** To the front of the waiting messages, in their order; or back to the store if this path ends. */
  function requeue(some: readonly ReadyItem[]): void {
    for (const one of [...some].reverse()) {
      if (parts.life.stopping) queue.giveBack(one, clock.now(), parts.state.blocked()?.reason ?? null);
      else queue.putBack(one);
    }
  }

  /** These were counted as sent and did not reach the far end. `sent`: another part of their transaction did. */
  function cameBack(some: readonly ReadyItem[], sent: boolean): void {
    warm.cameBack(some.length);
    for (const { delivery } of some) parts.senderLimits.cameBack(delivery.senderDomain);
    if (!sent) parts.capacity.gates.messageNotSent();
  }

  /** A final reply to this message came; `taken`: the reply, if it was delivered. */
  function answered(link: Link, taken: ReplyFacts | null): void {
    const { address, port } = link.endpoint;
    parts.capacity.answered(`${address}:${port}`, parts.links.busyCount(), taken !== null);
    if (taken !== null) parts.notes.succeeded(taken);
  }

  function learn(limit: number, host: string): void {
    parts.overrides.note({
      ...{ scope: 'path', key: pathKey(sitePath.source, sitePath.site) },
      param: 'recipientsPerTransaction',
      value: limit,
      until: clock.now() + LEARNED_MS,
      rule: 'too_many_recipients',
      why: `${host} took ${limit} recipients in one transaction and refused the next`,
    });
  }
}

/**
 * The session ended before it had answered any message, without a reply and not by us. An end during the content does
 * not count: the content may have caused it, and no sender may decide about TLS for the host's other mail.
 */
export function endedAtOnce(
  lost: Pick<
    Extract<TransactionResult, { kind: 'lost' }>,
    'stage' | 'reason' | 'reused' | 'untried' | 'afterDot' | 'reply'
  >,
): boolean {
  const { stage, reason, reused, untried, afterDot, reply } = lost;
  if (stage === 'body' || stage === 'dot') return false;
  return !reused && !untried && !afterDot && reply === null && reason !== '421' && reason !== 'local';
}

/** Nothing of it was sent, or nothing that counts. */
function isUntried(result: TransactionResult): boolean {
  return result.kind === 'not-sendable' || (result.kind === 'lost' && result.untried);
}

/** Whether the far end answered for the recipient at `index`, or may have accepted the message. */
function hasReached(result: TransactionResult, outcome: Outcome, index: number): boolean {
  if (result.kind === 'done') return true;
  if (result.kind === 'not-sendable' || outcome.kind === 'again') return false;
  return result.afterDot || result.reply !== null || (result.recipients[index] ?? null) !== null;
}
