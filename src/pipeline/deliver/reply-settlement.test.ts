import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fakes/virtual-clock.ts';
import type { Random } from '../../lib/random.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import { createRetrySchedule } from '../queue/retry-schedule.ts';
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
const deps = { clock, random, epoch: 1, retry, relayed: false };
const rules = createSettlementRules(deps);
const classifier = createClassifier();

type Change = Partial<Pick<ClaimedDelivery, 'attempts' | 'lastCategory' | 'firstDeferredAt'>>;

function delivery(change: Change = {}): ClaimedDelivery {
  const now = clock.now();
  return {
    id: 1,
    queueId: 1,
    messageSeq: 1,
    messageId: '019ab0c1-7d3e-7000-8000-000000000000' as MessageId,
    senderDomain: 'example.com',
    from: 'a@example.com',
    lane: 'normal',
    address: 'b@example.net',
    recipientDomain: 'example.net',
    kind: 'To',
    attempts: 0,
    createdAt: now,
    expiresAt: now + 72 * HOUR,
    size: 1000,
    bodyOffset: 100,
    needsSmtpUtf8: false,
    eightBit: false,
    sandbox: null,
    mayBeDuplicate: false,
    firstDeferredAt: null,
    lastDeferredEventAt: null,
    lastReply: null,
    lastCategory: null,
    ...change,
  };
}

function settle(pasted: string, change: Change = {}, stage: Stage = 'rcpt') {
  const reply = readReply(pasted);
  if (reply === null) throw new TypeError(pasted);
  const verdict = classifier.classify({ stage, ...reply, mx: 'mx.example.net', origin: 'remote' });
  const outcome = replyOutcome(verdict, stage, reply, pasted, NO_FACTS);
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

  it('give a temporarily unknown user up after three tries and two hours, not before', () => {
    const again = (attempts: number, hours: number) => ({
      attempts,
      lastCategory: 'recipient_invalid',
      firstDeferredAt: clock.now() - hours * HOUR,
    });
    const reply = '450 4.1.1 User unknown';
    expect(settle(reply, again(4, 1)).settlement.state).toBe('queued');
    expect(settle(reply, again(1, 3)).settlement.state).toBe('queued');
    const { settlement } = settle(reply, again(2, 2));
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
