/** The end of an attempt: writes its line of the mail log, and gives its settlement to the queue to be stored. */
import type { Logger } from '../../../lib/log.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { isRelaySite } from '../../../model/route.ts';
import { siteOfPath } from '../../../policy/limits/shaping/types.ts';
import type { Settlement } from '../../../store/topics/queue.ts';
import type { Queue } from '../../queue/queue.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import type { Outcome } from './outcome.ts';
import type { SettlementRules } from './settlement.ts';

/**
 * Logs and stores an outcome; the queue keeps the item until it is stored. `blockedUntil`: until when its path is blocked.
 */
export type Finish = (
  item: ReadyItem,
  outcome: Exclude<Outcome, { kind: 'again' }>,
  blockedUntil?: number,
) => void;

export function createFinish({
  queue,
  rules,
  mailLog,
}: {
  queue: Pick<Queue, 'settle'>;
  rules: Pick<SettlementRules, 'settle'>;
  mailLog: Logger;
}): Finish {
  return (item, outcome, blockedUntil) => {
    const settlement = ofRelay(item, rules.settle(item.delivery, outcome, blockedUntil));
    logOutcome(mailLog, item, outcome, settlement);
    void queue.settle(item, settlement);
  };
}

/** Writes the line of the mail log for what ends in the queue, without an attempt. */
export function createEndLog(
  mailLog: Logger,
): (delivery: ClaimedDelivery, settlement: Settlement) => Settlement {
  return ({ messageId, id, address, attempts }, settlement) => {
    const { state, category, events } = settlement;
    mailLog.info(
      {
        ...{ messageId, deliveryId: id, to: address, attempt: attempts },
        ...(category === undefined ? {} : { category }),
        detail: events[0]?.detail?.reason,
      },
      state,
    );
    return settlement;
  };
}

/** What a relay does to mail is one cause, wherever the mail was going. */
function ofRelay(item: ReadyItem, settlement: Settlement): Settlement {
  const site = siteOfPath(item.site);
  const { cause } = settlement;
  if (cause === undefined || cause.scope !== 'path' || !isRelaySite(site)) return settlement;
  return { ...settlement, cause: { ...cause, site } };
}

function logOutcome(
  mailLog: Logger,
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
      {
        ...common,
        route,
        mx: facts.remoteMta,
        sourceAddress: facts.sourceAddress,
        ms: Math.round(facts.durationMs),
        reply: text,
      },
      'delivered',
    );
    return;
  }
  const category =
    outcome.kind === 'unknown'
      ? 'outcome_unknown'
      : 'category' in outcome
        ? outcome.category
        : outcome.verdict.category;
  // The decision, not the reply: a refusal may need confirmation, and a deferral may be the last one.
  const name = state !== 'queued' ? state : outcome.kind === 'held' ? 'held' : 'deferred';
  mailLog.info(
    {
      ...common,
      category,
      detail: outcome.detail,
      ...(dueAt === undefined ? {} : { nextAt: new Date(dueAt).toISOString() }),
    },
    name,
  );
}
