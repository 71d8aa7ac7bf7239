/**
 * Simulated delivery: simulates a result, captures the copy that would have been sent (signed, without Bcc), and
 * creates every event that a recipient can cause. Nothing leaves the machine. Takes a signed copy; returns a
 * settlement.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { EventKind } from '../../model/event.ts';
import { inboxLabel } from '../../model/inbox.ts';
import type { SandboxResult } from '../../model/message.ts';
import type { SandboxRule } from '../../model/sandbox-rule.ts';
import type { NewCapture } from '../../store/topics/captures.ts';
import type { EventDetail } from '../../store/topics/events.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { Classifier } from './outcome/classifier/classify.ts';
import type { Verdict } from './outcome/classifier/verdict.ts';
import { NO_FACTS, type ReplyFacts } from './outcome/outcome.ts';
import type { SettlementRules } from './outcome/settlement.ts';
import { replyOutcome } from './outcome/transaction-outcome.ts';
import type { Prepared } from './prepare/prepared.ts';

export interface SandboxRoute {
  /** `rule`: a sandbox rule, for a recipient that would otherwise be delivered. */
  simulate(
    delivery: ClaimedDelivery,
    copy: Pick<Prepared, 'mailFrom' | 'prefix' | 'content' | 'note' | 'fill'>,
    rule: SandboxRule | null,
  ): Settlement;
}

const REPLIES = {
  bounce: { code: 550, enhanced: '5.1.1', text: 'Simulated: no such user' },
  softbounce: { code: 552, enhanced: '5.2.2', text: 'Simulated: mailbox full' },
  defer: { code: 451, enhanced: '4.7.1', text: 'Simulated: greylisted, try again in 15 seconds' },
} as const satisfies Record<string, ReplyFacts>;

const SIMULATED_AGENT = 'postrider-sandbox';

interface Deps {
  clock: Clock;
  random: Random;
  rules: SettlementRules;
  classifier: Pick<Classifier, 'classify'>;
}

export function createSandboxRoute({ clock, random, rules, classifier }: Deps): SandboxRoute {
  return {
    simulate(delivery, { mailFrom, prefix, content, note, fill }, rule) {
      const result = rule?.result ?? delivery.sandbox ?? 'deliver';
      if (result === 'bounce' || result === 'softbounce') return refused(delivery, result, rule);
      // Deferred once, delivered at the next attempt, as with greylisting. A rule may ask for more deferrals.
      if (result === 'defer' && delivery.attempts < (rule?.defers ?? 1))
        return refused(delivery, result, rule);
      if (result === 'fail') {
        const detail = 'Simulated: given up, the destination never answered';
        return rules.settle(delivery, { kind: 'failed', category: 'expired', detail, facts: NO_FACTS });
      }
      const settlement = rules.settle(delivery, {
        kind: 'delivered',
        route: 'sandbox',
        reply: null,
        facts: NO_FACTS,
      });
      const capture: NewCapture = {
        id: uuidv7(clock, random),
        at: clock.now(),
        envelopeFrom: mailFrom,
        inbox: inboxLabel(delivery.address),
        prefix,
        content,
        ...(fill === undefined ? {} : { fill }),
      };
      const [delivered] = settlement.events;
      const noted =
        note === null || delivered === undefined
          ? settlement.events
          : [{ ...delivered, detail: { ...delivered.detail, reason: note } }];
      return { ...settlement, events: [...noted, ...after(result)], capture };
    },
  };

  function refused(
    delivery: ClaimedDelivery,
    result: keyof typeof REPLIES,
    rule: SandboxRule | null,
  ): Settlement {
    const reply: ReplyFacts = rule?.reply ?? REPLIES[result];
    const read = classifier.classify({ stage: 'rcpt', ...reply, mx: 'sandbox', origin: 'remote' });
    // A rule's reply text gives the reason; the rule, not the classifier, decides whether it bounces or waits.
    const verdict: Verdict =
      rule === null
        ? read
        : { ...read, scope: 'recipient', action: result === 'defer' ? 'retry' : 'bounce', giveUp: null };
    const detail = `${reply.code} ${reply.enhanced} ${reply.text}`;
    const facts = { ...NO_FACTS, remoteMta: 'sandbox' };
    const outcome = replyOutcome(verdict, { stage: 'rcpt', reply, detail, facts });
    // A rule does not ask for a second attempt to confirm a bounce.
    return rules.settle(
      delivery,
      outcome.kind === 'bounced' && rule !== null ? { ...outcome, confirm: false } : outcome,
    );
  }

  /** Events after a delivery, without a change of state. */
  function after(result: SandboxResult) {
    const client: EventDetail = { ipAddress: '127.0.0.1', userAgent: SIMULATED_AGENT, bot: false };
    switch (result) {
      case 'complain':
        return [fact('complained', { reason: 'Simulated: reported as spam' })];
      case 'open':
        return [fact('opened', client)];
      case 'click':
        return [fact('clicked', { ...client, url: 'https://example.com/simulated' })];
      case 'unsubscribe':
        return [fact('unsubscribed', client)];
      case 'ooto':
        return [fact('auto_reply', { reason: 'Simulated: out of the office' })];
      default:
        return [];
    }
  }

  function fact(kind: EventKind, detail: EventDetail) {
    return { id: uuidv7(clock, random), kind, at: clock.now(), detail };
  }
}
