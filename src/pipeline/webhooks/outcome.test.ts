import { describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { Webhook } from '../../model/webhook.ts';
import type { ClaimedCall } from '../../store/topics/webhooks.ts';
import { settleTry, type TryResult } from './outcome.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 21);
const WEBHOOK: Webhook = {
  id: 7,
  domain: 'example.com',
  events: ['all'],
  url: 'https://example.net/hook',
  description: '',
  status: 'Enabled',
  disabledReason: null,
  createdAt: 0,
  updatedAt: 0,
  lastResponseCode: 0,
  lastResponseBody: '',
  lastResponseAt: null,
  lastResponseTry: 0,
  lastError: '',
  lastLatencyMs: null,
  failingSince: null,
  failedTries: 0,
  blockedTries: 0,
  secretSealed: new Uint8Array(),
  previousSecretSealed: null,
  previousSecretUntil: null,
  createdBy: null,
};

/** What one more try means for a call of the webhook. */
function settled(
  webhook: Partial<Webhook>,
  result: Partial<TryResult>,
  { mayDisable = true, isSuspect = false } = {},
) {
  const call: ClaimedCall = {
    id: 1,
    epoch: 1,
    webhook: { ...WEBHOOK, ...webhook },
    tries: 0,
    event: {
      seq: 1,
      id: '',
      kind: 'delivered',
      at: 0,
      domain: 'example.com',
      detail: null,
      message: null,
      recipient: null,
      deliveryId: null,
      route: null,
    },
  };
  const failed: TryResult = {
    ...{ kind: 'answered', status: 500, body: '', error: '', latencyMs: 1, retryAfterMs: null },
    endedAt: NOW,
    ...result,
  };
  return settleTry(
    { clock: createVirtualClock(NOW), random: createSystemRandom(), suspectsClock: () => isSuspect },
    { call, result: failed, delaysMs: [10_000, 20_000], mayDisable },
  );
}

describe('a failed try', () => {
  const fiveDays = { failingSince: NOW - 5 * 24 * HOUR, failedTries: 9 };
  const blocked = { failingSince: NOW - HOUR, blockedTries: 9 };

  it('answered with 410 is the last one, and switches the webhook off', () => {
    const { state, dueAt, disable } = settled({}, { status: 410 });
    expect({ state, dueAt, reason: disable?.reason }).toEqual({
      state: 'failed',
      dueAt: undefined,
      reason: 'Gone',
    });
  });

  it('is followed by another one', () => {
    const { state, dueAt = 0, disable } = settled({}, {});
    expect([state, disable]).toEqual(['pending', undefined]);
    expect(Math.abs(dueAt - NOW - 10_000)).toBeLessThanOrEqual(2_000);
  });

  it('switches off what has failed for five days, and at least ten times', () => {
    expect(settled(fiveDays, {}).disable?.reason).toBe('Failures');
    // Just after the clock went forward, it is not known how long the webhook has failed.
    expect(settled(fiveDays, {}, { isSuspect: true }).disable).toBeUndefined();
    expect(settled({}, { status: 410 }, { isSuspect: true }).disable?.reason).toBe('Gone');
    expect(settled({ ...fiveDays, failedTries: 8 }, {}).disable).toBeUndefined();
    expect(settled({ ...fiveDays, failingSince: NOW - 5 * 24 * HOUR + 1 }, {}).disable).toBeUndefined();
  });

  it('switches off what was blocked ten times in a row, for at least an hour', () => {
    expect(settled(blocked, { kind: 'blocked', status: 0 }).disable?.reason).toBe('Blocked');
    expect(settled({ ...blocked, blockedTries: 8 }, { kind: 'blocked', status: 0 }).disable).toBeUndefined();
    const lately = { ...blocked, failingSince: NOW - HOUR + 1 };
    expect(settled(lately, { kind: 'blocked', status: 0 }).disable).toBeUndefined();
  });

  it('that reached the receiver ends a row of blocked ones', () => {
    expect(settled(blocked, {}).disable).toBeUndefined();
  });

  it('does not switch off what is off, or what this process has switched off already', () => {
    expect(settled({ ...fiveDays, status: 'Disabled' }, {}).disable).toBeUndefined();
    expect(settled(fiveDays, {}, { mayDisable: false }).disable).toBeUndefined();
  });
});
