/**
 * How many recipients wait because of a cause that they have not met themselves: on a path that it closed, or of a
 * sender domain that it paused. A failing path is tried with one message, so almost all mail of an outage waits so.
 */
import { siteNames } from '../../../policy/limits/holds.ts';
import type { CauseView } from '../../../store/topics/causes.ts';
import type { WaitingCount } from '../../../store/topics/queue.ts';
import type { Traffic } from './traffic.ts';
import { waitingByPath } from './waiting-mail.ts';

type Facts = Pick<Traffic, 'paths' | 'pathOf' | 'pausedBy' | 'overrides'>;

/** What a cause saw last may have been up to this much later (store/topics/causes.ts). */
const SEEN_WITHIN_MS = 60_000;

/** The function counts for one cause. `queues`: all mail that waits. */
export function createBehindCauses(queues: readonly WaitingCount[], traffic: Facts) {
  const { byPath } = waitingByPath(queues, traffic);
  const failing = traffic
    .paths()
    .map((path) => ({ ...path.snapshot(), isBlocked: path.blocked }))
    .filter(({ isBlocked, breaker }) => isBlocked || breaker.kind !== 'closed');

  return (cause: CauseView): number => {
    const all = cause.scope === 'path' ? onItsPaths(cause) : cause.senderDomain === '' ? 0 : paused(cause);
    return Math.max(0, all - cause.waiting);
  };

  /** Of several causes at one path, only for what it failed of last. */
  function onItsPaths({ site, lastSeen }: CauseView): number {
    return failing
      .filter((path) => siteNames(path.site).includes(site) || path.domains.includes(site))
      .filter(({ lastFailure }) => lastFailure === null || lastSeen + SEEN_WITHIN_MS >= lastFailure.at)
      .reduce((sum, { key }) => sum + (byPath.get(key) ?? 0), 0);
  }

  function paused({ category, senderDomain, site }: CauseView): number {
    const isItsPause = traffic.overrides
      .list()
      .some(
        ({ param, rule, key }) =>
          param === 'suspended' && rule === category && key.startsWith(`${senderDomain}@`),
      );
    if (!isItsPause) return 0;
    const own = queues.filter((queue) => queue.senderDomain === senderDomain);
    const reasons = new Set(
      own.filter(({ recipientDomain }) => recipientDomain === site).map((queue) => reasonOf(queue)),
    );
    return own.reduce((sum, queue) => {
      const reason = reasonOf(queue);
      return reason !== null && reasons.has(reason) ? sum + queue.waiting : sum;
    }, 0);
  }

  function reasonOf(queue: WaitingCount): string | null {
    return traffic.pausedBy(queue)?.reason ?? null;
  }
}
