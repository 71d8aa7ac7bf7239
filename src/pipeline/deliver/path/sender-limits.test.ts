/** Limits of one sender domain on a path apply beside those of the path, and to no other sender domain. */
import { describe, expect, it } from 'vitest';
import type { Logger } from '../../../lib/log.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createOverrides } from '../../../policy/limits/shaping/overrides.ts';
import { createSenderPauses } from '../../../policy/limits/shaping/sender-pauses.ts';
import { createShaping } from '../../../policy/limits/shaping/shaping.ts';
import { createThreshold } from '../../../policy/limits/shaping/threshold.ts';
import { verdictOf } from '../outcome/classifier/verdict.ts';
import { NO_FACTS, type Outcome } from '../outcome/outcome.ts';
import { createSenderEffects } from '../outcome/sender-effects.ts';
import { createSenderLimits } from './sender-limits.ts';

const quietLog: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const T0 = 1_790_000_000_000;
const MINUTE = 60_000;
const place = { source: '', site: 'google', provider: 'google' };

function setting() {
  const clock = createVirtualClock(T0);
  const store = {
    putOverrides: async () => undefined,
    listOverrides: async () => [],
    removeOverride: async () => true,
  };
  const overrides = createOverrides({ store, clock, random: createSystemRandom(), log: quietLog });
  const shaping = createShaping(overrides, { maxConnections: null, sourceIds: new Set() });
  const senderLimits = createSenderLimits(
    {
      clock,
      overrides,
      limits: (senderDomain) =>
        shaping.limitsFor({ ...place, route: 'mx', ...(senderDomain === undefined ? {} : { senderDomain }) }),
    },
    'google',
  );
  const note = (param: 'messagesPerSecond' | 'connections', value: number) =>
    overrides.note({
      ...{ scope: 'domain@provider', key: 'a.example@google', param, value },
      ...{ until: T0 + 30 * MINUTE, rule: 'test', why: 'asked for' },
    });
  return { clock, overrides, senderLimits, note };
}

describe('the limits of one sender domain', () => {
  it('let it take one message after the other at its own rate, and others at once', async () => {
    const { clock, senderLimits, note } = setting();
    expect(senderLimits.mayTake('a.example')).toBe(true);
    note('messagesPerSecond', 1 / 6);
    expect(senderLimits.mayTake('a.example')).toBe(true);
    senderLimits.took('a.example');
    expect([senderLimits.mayTake('a.example'), senderLimits.mayTake('b.example')]).toEqual([false, true]);
    expect(senderLimits.waitOf('a.example')).toEqual({
      reason: 'rate limit of a.example at google: 10/min',
      until: clock.now() + 6_000,
    });
    expect(senderLimits.waitOf('b.example')).toBeNull();
    expect(senderLimits.refusedForMs()).toBe(6_000);
    expect(senderLimits.refusedForMs()).toBeNull();
    await clock.advance(6_000);
    expect(senderLimits.mayTake('a.example')).toBe(true);
    senderLimits.took('a.example');
    await clock.advance(30 * MINUTE);
    senderLimits.took('a.example');
    expect(senderLimits.mayTake('a.example')).toBe(true);
  });

  it('bound its connections', () => {
    const { senderLimits, note } = setting();
    expect(senderLimits.connections('a.example')).toBe(Number.POSITIVE_INFINITY);
    note('connections', 1);
    expect([senderLimits.connections('a.example'), senderLimits.connections('b.example')]).toEqual([1, 5]);
  });
});

describe('what replies teach about a sender domain', () => {
  const reply = (
    category: 'auth_failed' | 'spam_content' | 'url_or_domain_blocklisted',
    origin = 550,
  ): Outcome => ({
    kind: 'bounced',
    verdict: verdictOf({
      ...{ category, permanent: true, stage: 'dot', ruleId: 'x', scope: 'sender_domain' },
    }),
    stage: 'dot',
    reply: { code: origin, enhanced: null, text: 'no' },
    detail: 'no',
    facts: NO_FACTS,
  });

  function observed() {
    const { clock, overrides } = setting();
    const checked: string[] = [];
    const held: string[] = [];
    const made = createSenderEffects({
      ...{ clock, overrides, log: quietLog },
      authFailing: (name: string) => void checked.push(name),
      holdBulk: (name: string) => void held.push(name),
    });
    return {
      clock,
      overrides,
      checked,
      held,
      onOutcome: (outcome: Outcome, at: Parameters<typeof made.onOutcome>[0] = place) =>
        made.onOutcome(at, 'a.example', outcome),
    };
  }

  it('takes three failures within ten minutes to pause it, and has its records looked at', async () => {
    const { clock, overrides, checked, onOutcome } = observed();
    onOutcome(reply('auth_failed'));
    onOutcome(reply('auth_failed'));
    await clock.advance(11 * MINUTE);
    onOutcome(reply('auth_failed'));
    expect(overrides.list()).toEqual([]);
    onOutcome(reply('auth_failed'));
    onOutcome(reply('auth_failed'));
    expect(checked).toEqual(['a.example']);
    const pauses = createSenderPauses(overrides);
    expect(pauses.of('a.example', place)?.until).toBe(clock.now() + 60 * MINUTE);
    expect(pauses.of('b.example', place)).toBeNull();
    expect(pauses.of('a.example', { site: 'other', provider: null })).toBeNull();
    await clock.advance(61 * MINUTE);
    expect(pauses.of('a.example', place)).toBeNull();
    expect(pauses.any()).toBe(false);
  });

  it('holds its bulk mail where three receivers say that its links are listed, not where one says it often', () => {
    const { held, onOutcome } = observed();
    const at = (site: string) => ({ source: '', site, provider: null });
    const listed = reply('url_or_domain_blocklisted');
    for (let n = 0; n < 9; n++) onOutcome(listed, at('one.example'));
    for (let n = 0; n < 9; n++) onOutcome(listed, at(`mx${n}.one.example+1~${'0'.repeat(24)}`));
    onOutcome(listed, at('two.example'));
    expect(held).toEqual([]);
    onOutcome(listed, at('three.example'));
    expect(held).toEqual(['a.example']);
  });

  it('slows it where the provider complains of the domain, and never by words of our own', () => {
    const { overrides, onOutcome } = observed();
    for (let n = 0; n < 5; n++) onOutcome(reply('spam_content', 0));
    expect(overrides.list()).toEqual([]);
    onOutcome(reply('spam_content'));
    onOutcome(reply('spam_content'));
    expect(overrides.list()).toMatchObject([
      { scope: 'domain@provider', param: 'messagesPerSecond', value: 1 / 6 },
    ]);
  });
});

it('counts what happens within its span alone', () => {
  const threshold = createThreshold({ times: 2, withinMs: 100 });
  expect([threshold.happened('a', 0), threshold.happened('b', 50), threshold.happened('a', 100)]).toEqual([
    false,
    false,
    false,
  ]);
  expect([threshold.happened('a', 150), threshold.happened('a', 160)]).toEqual([true, false]);
});
