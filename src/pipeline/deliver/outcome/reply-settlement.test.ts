import { describe, expect, it } from 'vitest';
import type { Random } from '../../../lib/random.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { createRetrySchedule } from '../../queue/retry-schedule.ts';
import { testDelivery } from '../../queue/test-items.ts';
import { createClassifier } from './classifier/classify.ts';
import { readReply } from './classifier/normalise.ts';
import type { Stage } from './classifier/verdict.ts';
import { NO_FACTS } from './outcome.ts';
import { createSettlementRules } from './settlement.ts';
import { replyOutcome } from './transaction-outcome.ts';

const HOUR = 3_600_000;
const random: Random = { bytes: (count) => new Uint8Array(count), float: () => 0.5 };
const clock = createVirtualClock();
const retry = createRetrySchedule(random, null);
const deps = { clock, random, retry, relayed: false };
const rules = createSettlementRules(deps);
const classifier = createClassifier();

type Change = Partial<
  Pick<
    ClaimedDelivery,
    'attempts' | 'lastCategory' | 'firstDeferredAt' | 'lastReply' | 'sandbox' | 'lane' | 'suppressedFor'
  >
>;

/** What is tried for three days from now. */
function delivery(change: Change = {}): ClaimedDelivery {
  const now = clock.now();
  return testDelivery({ createdAt: now, expiresAt: now + 72 * HOUR, ...change });
}

function settle(pasted: string, change: Change = {}, stage: Stage = 'rcpt') {
  const reply = readReply(pasted);
  if (reply === null) throw new TypeError(pasted);
  const verdict = classifier.classify({ stage, ...reply, mx: 'mx.example.net', origin: 'remote' });
  const outcome = replyOutcome(verdict, { stage, reply, detail: pasted, facts: NO_FACTS });
  return { outcome, settlement: rules.settle(delivery(change), outcome, clock.now() + HOUR) };
}

const BLOCKED = '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org';

describe('a permanent reply about our address', () => {
  it('blocks the path and keeps the mail without charging an attempt', () => {
    const { outcome, settlement } = settle(BLOCKED);
    expect(outcome).toMatchObject({ kind: 'path', category: 'ip_blocklisted' });
    expect(settlement).toMatchObject({ state: 'queued', countAttempt: false, dueAt: clock.now() + HOUR });
    expect(settlement.events[0]?.detail?.bounce).toMatchObject({
      Type: 'Transient',
      Class: 'IpBlocklisted',
      Scope: 'path',
    });
  });

  it('bounces after four hours of it, as something that may change', () => {
    const waited = (hours: number) => ({
      lastCategory: 'ip_blocklisted',
      firstDeferredAt: clock.now() - hours * HOUR,
    });
    expect(settle(BLOCKED, waited(3.9)).settlement.state).toBe('queued');
    const { settlement } = settle(BLOCKED, waited(4));
    expect(settlement.state).toBe('bounced');
    expect(settlement.events[0]?.detail?.bounce).toMatchObject({
      Type: 'Transient',
      Class: 'IpBlocklisted',
      Scope: 'path',
    });
  });

  it('counts that time only while the reason stays the same', () => {
    const before = { lastCategory: 'greylisted', firstDeferredAt: clock.now() - 9 * HOUR };
    expect(settle(BLOCKED, before).settlement.state).toBe('queued');
  });
});

describe('other replies', () => {
  it('bounce an unknown user for good', () => {
    const { settlement } = settle('550 5.1.1 User unknown');
    expect(settlement).toMatchObject({ state: 'bounced', category: 'recipient_invalid' });
    expect(settlement.events[0]?.detail?.bounce).toMatchObject({
      Type: 'Permanent',
      Class: 'RecipientInvalid',
      Scope: 'recipient',
    });
  });

  it('wait five minutes for greylisting, or as long as the reply says', () => {
    expect(settle('450 4.2.0 Greylisted').settlement.dueAt).toBe(clock.now() + 300_000);
    expect(settle('450 4.2.0 Greylisted, try again in 60 seconds').settlement.dueAt).toBe(
      clock.now() + 70_000,
    );
  });

  it('return the row on a rate limit, also where it comes as 550', () => {
    expect(settle('550 5.7.1 Hourly limit exceeded').settlement).toMatchObject({
      state: 'queued',
      countAttempt: false,
    });
  });

  it('give a temporarily unknown user up after three tries and a day, not before', () => {
    const again = (attempts: number, hours: number) => ({
      attempts,
      lastCategory: 'recipient_invalid',
      firstDeferredAt: clock.now() - hours * HOUR,
    });
    const reply = '450 4.1.1 User unknown';
    expect(settle(reply, again(9, 23)).settlement.state).toBe('queued');
    expect(settle(reply, again(1, 25)).settlement.state).toBe('queued');
    const { settlement } = settle(reply, again(2, 24));
    expect(settlement.state).toBe('bounced');
    expect(settlement.events[0]?.detail?.bounce?.Type).toBe('Transient');
  });

  it('look twice at a denied relay before they believe it', () => {
    expect(settle('554 5.7.1 Relay access denied').settlement.state).toBe('queued');
    expect(settle('554 5.7.1 Relay access denied', { lastCategory: 'relay_denied' }).settlement.state).toBe(
      'bounced',
    );
  });
});

describe('what a reply leaves on the suppression list', () => {
  const of = (pasted: string, change: Change = {}, stage: Stage = 'rcpt') => {
    const { suppress } = settle(pasted, change, stage).settlement;
    return suppress === undefined ? null : [suppress.reason, suppress.needs?.days ?? 0];
  };
  /** The same words from a relay. */
  const relayed = (pasted: string) => {
    const reply = readReply(pasted);
    if (reply === null) throw new TypeError(pasted);
    const verdict = classifier.classify({
      stage: 'rcpt',
      ...reply,
      mx: 'relay.example.net',
      origin: 'remote',
    });
    const facts = { ...NO_FACTS, route: 'relay' } as const;
    const outcome = replyOutcome(verdict, { stage: 'rcpt', reply, detail: pasted, facts });
    return rules.settle(delivery(), outcome).suppress?.reason ?? null;
  };

  it('is an entry for a mailbox that does not exist or is closed, and a count for a full one', () => {
    expect(of('550 5.1.1 No such user')).toEqual(['Bounce', 0]);
    expect(of('550 5.2.1 The account is disabled')).toEqual(['Inactive', 0]);
    expect(of('552 5.2.2 Mailbox full')).toEqual(['SoftBounces', 3]);
    expect(of('550 5.4.1 Recipient address rejected: Access denied. AS(201806281)')).toEqual(['Bounce', 2]);
  });

  it('is nothing for what is temporary, about us, about the message, or said before the recipient', () => {
    for (const reply of [
      '450 4.1.1 No such user',
      '452 4.2.2 Mailbox full',
      BLOCKED,
      '550 your IP is blocked',
      '550 5.1.1 mailbox unavailable: your IP 192.0.2.1 is blacklisted',
      '554 5.7.1 Message rejected as spam',
      '550 5.7.26 This mail is unauthenticated',
      '550 5.1.8 Sender address rejected: Domain not found',
    ]) {
      expect(of(reply), reply).toBeNull();
    }
    expect(of('550 5.1.1 No such user', {}, 'mail')).toBeNull();
    expect(of('550 5.1.1 No such user', { sandbox: 'bounce' })).toBeNull();
  });

  it('asks for a second time a day later where a reply probably means so', () => {
    const reply = '550 Requested action not taken: mailbox unavailable';
    const parts = readReply(reply);
    if (parts === null) throw new TypeError(reply);
    const verdict = classifier.classify({ stage: 'rcpt', ...parts, mx: 'mx.example.net', origin: 'remote' });
    expect([verdict.category, verdict.confidence, verdict.suppress]).toEqual([
      'recipient_invalid',
      'medium',
      'no',
    ]);
    const sure = replyOutcome(verdict, { stage: 'rcpt', reply: parts, detail: reply, facts: NO_FACTS });
    expect(rules.settle(delivery(), sure).suppress).toMatchObject({ reason: 'Bounce', needs: { days: 2 } });
    const early = replyOutcome(verdict, { stage: 'mail', reply: parts, detail: reply, facts: NO_FACTS });
    expect(rules.settle(delivery(), early).suppress).toBeUndefined();
  });

  it('is by a relay only what its code says about the address', () => {
    expect(relayed('550 5.1.1 No such user')).toBe('Bounce');
    expect(relayed('550 No such user')).toBeNull();
    expect(relayed('550 5.2.1 The account is disabled')).toBeNull();
    expect(relayed('552 5.2.2 Mailbox full')).toBeNull();
  });

  it('names the rule, the words and the event that tells of it', () => {
    const { settlement } = settle('550 5.1.1 No such user');
    expect(settlement.suppress).toMatchObject({
      expiresAt: null,
      reply: '550 5.1.1 No such user',
      event: { kind: 'suppression_added', detail: { reason: 'Bounce: 550 5.1.1 No such user' } },
    });
    expect(settlement.suppress?.rule).not.toBe('');
  });

  it('counts once when time runs out on a full or closed mailbox, and on nothing else', () => {
    const expired = (lastCategory: string | null, lastReply: string, by = rules, change: Change = {}) =>
      by.expire(delivery({ lastCategory, lastReply, attempts: 3, ...change }), clock.now()).suppress
        ?.reason ?? null;
    expect(expired('mailbox_full', '452 4.2.2 Mailbox full')).toBe('SoftBounces');
    expect(expired('mailbox_inactive', '450 4.2.1 Disabled')).toBe('SoftBounces');
    for (const category of [
      'greylisted',
      'rate_limited',
      'ip_blocklisted',
      'timeout',
      'recipient_policy',
      'held',
    ]) {
      expect(expired(category, '450 4.7.1 not now'), category).toBeNull();
    }
    expect(expired(null, '')).toBeNull();
    expect(expired('mailbox_full', '452 4.2.2 Mailbox full', rules, { sandbox: 'softbounce' })).toBeNull();
    const byRelay = createSettlementRules({ ...deps, relayed: true });
    expect(expired('mailbox_full', '452 4.2.2 Mailbox full', byRelay)).toBeNull();
    expect(expired('recipient_invalid', '450 4.1.1 Unknown', byRelay)).toBe('SoftBounces');
  });
});

describe('a recipient who is on the list by the time of the claim', () => {
  it('is settled without an attempt where the reason stops this mail', () => {
    const at = clock.now();
    const stopped = rules.suppressed(delivery({ suppressedFor: ['Unsubscribe', 'Bounce'] }), at);
    expect(stopped).toMatchObject({ state: 'suppressed', countAttempt: false });
    expect(stopped?.events).toMatchObject([
      { kind: 'suppressed', detail: { reason: expect.stringContaining('Bounce') } },
    ]);
    expect(rules.suppressed(delivery({ suppressedFor: ['Unsubscribe'] }), at)).toBeNull();
    expect(rules.suppressed(delivery({ suppressedFor: ['Unsubscribe'], lane: 'bulk' }), at)).not.toBeNull();
    expect(rules.suppressed(delivery({ suppressedFor: ['Bounce'], sandbox: 'deliver' }), at)).toBeNull();
    expect(rules.suppressed(delivery(), at)).toBeNull();
  });
});
