/** The limits that a path has observed, which message is sent next, and which limits a reply changes. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { Lane } from '../../../model/message.ts';
import type { RememberedPath } from '../../../policy/limits/shaping/path-memory.ts';
import type { OpenFailure, Session } from '../../../smtp/client-types.ts';
import { Conversation } from '../../../smtp/conversation.ts';
import { testItem } from '../../queue/test-items.ts';
import { createClassifier } from '../outcome/classifier/classify.ts';
import { type PathFacts, pathEffects } from '../outcome/effects.ts';
import type { Prepared } from '../prepare/prepared.ts';
import type { Connector } from '../routing/connector.ts';
import { createTriedHosts } from '../routing/tried-hosts.ts';
import type { Endpoint } from '../tls/endpoint.ts';
import { relayTlsPlan } from '../tls/plan.ts';
import { createPathHealth } from './health.ts';
import { laneSlots } from './limits.ts';
import { openForHead, pathOutcome } from './opening.ts';
import { createPicker, type Slots } from './picker.ts';

const T0 = 1_790_000_000_000;

describe('what experience says of a path', () => {
  const health = (
    recalled: Partial<RememberedPath> | null,
    closes = false,
    more: { startAt?: number; halfOpen?: boolean } = {},
  ) => {
    let told = 0;
    const clock = createVirtualClock(T0);
    const path = createPathHealth({
      clock,
      state: {
        succeeded: () => closes,
        remember: () => {
          told += 1;
        },
        breaker: () => (more.halfOpen === true ? { kind: 'half-open', failures: 1 } : { kind: 'closed' }),
      },
      recalled: recalled === null ? null : { failures: 0, updatedAt: T0, ...recalled },
      startAt: more.startAt ?? null,
    });
    return { clock, path, told: () => told };
  };

  it('begins with more connections where it worked within a day', () => {
    expect(health({}).path.window.size()).toBe(5);
    expect(health({ updatedAt: T0 - 23 * 3_600_000 }).path.window.size()).toBe(5);
    expect(health({ updatedAt: T0 - 25 * 3_600_000 }).path.window.size()).toBe(2);
    expect(health({ failures: 1 }).path.window.size()).toBe(2);
    expect(health(null).path.window.size()).toBe(2);
  });

  it('begins small again when a success opens it', () => {
    const { path } = health({}, true);
    expect(path.succeeded('h', 5, 10)).toBe(true);
    expect(path.window.size()).toBe(2);
  });

  it('says once an hour that it works', async () => {
    const { clock, path, told } = health(null);
    for (let n = 0; n < 3; n++) path.succeeded('h', 1, 10);
    expect(told()).toBe(1);
    await clock.advance(3_600_000);
    path.succeeded('h', 1, 10);
    expect(told()).toBe(2);
  });

  it('blames a host that loses more messages than it answers, and five at least', () => {
    const { path } = health(null);
    const lost = (...ids: string[]) => ids.map((id) => path.lostUnder('h', id)).at(-1);
    expect(lost('m1', 'm2', 'm3', 'm4')).toBe(false);
    // One that fails again says nothing more.
    expect(lost('m1', 'm1', 'm4')).toBe(false);
    expect(lost('m5')).toBe(true);
    for (let n = 0; n < 6; n++) path.succeeded('h', 1, 10);
    expect(lost('m6')).toBe(false);
    path.tripped();
    expect(lost('m7', 'm8', 'm9', 'm10')).toBe(false);
  });

  it('never adds up what different hosts lose, nor what is long ago', async () => {
    const { clock, path } = health(null);
    for (let n = 0; n < 12; n++) expect(path.lostUnder(`h${n % 3}`, `m${n}`)).toBe(false);
    expect(path.lostUnder('h0', 'm12')).toBe(true);
    await clock.advance(6 * 60_000);
    expect(path.lostUnder('h0', 'm13')).toBe(false);
  });

  it('blames a path that failed before for two messages that were to find out', () => {
    const { path } = health(null, false, { halfOpen: true });
    expect(['m1', 'm1', 'm2'].map((id) => path.lostUnder('h', id))).toEqual([false, false, true]);
  });

  it('excuses five that hang, and as many more as others were answered', () => {
    const { path } = health(null);
    expect([path.excuses(3), path.excuses(9)]).toEqual([3, 5]);
    for (let n = 0; n < 3; n++) path.succeeded('h', 1, 10);
    expect(path.excuses(9)).toBe(8);
  });

  it('leaves a relay a quarter of what it may have, whatever happens', () => {
    const { path } = health(null, true, { startAt: 20 });
    for (let n = 0; n < 400; n++) path.window.failed();
    expect(path.window.size()).toBe(5);
    path.succeeded('h', 1, 20);
    expect(path.window.size()).toBe(5);
  });
});

describe('what goes next', () => {
  const prepared = (id: number, lane: Lane, senderDomain = 'a.example', bytes = 10): Prepared => ({
    item: testItem({ id, lane, senderDomain }),
    preparedAtMs: 0,
    mailFrom: '',
    prefix: new Uint8Array(0),
    content: new Uint8Array(bytes),
    note: null,
    requireTls: false,
    atMostOnce: false,
    asksForTls: false,
    eightBit: false,
    dsn: { envid: '' },
    shared: null,
  });
  const slots = (
    usable: number,
    busy: Partial<Record<Lane, number>> = {},
    more: Partial<Slots> = {},
  ): Slots => ({
    usable,
    busy: { critical: 0, normal: 0, bulk: 0, ...busy },
    criticalOf: () => busy.critical ?? 0,
    allows: () => true,
    othersWait: () => false,
    ...more,
  });

  it('keeps connections for the lanes above', () => {
    expect([1, 2, 3, 4, 10, 20].map((cap) => laneSlots('bulk', cap))).toEqual([1, 1, 2, 3, 8, 15]);
    expect([1, 2, 3, 10].map((cap) => laneSlots('normal', cap))).toEqual([1, 2, 2, 9]);
    const picker = createPicker();
    for (const [id, lane] of [
      [1, 'bulk'],
      [2, 'normal'],
      [3, 'critical'],
    ] as const)
      picker.add(prepared(id, lane));
    const ids = (given: Slots) => picker.candidates(given).map(({ item }) => item.delivery.id);
    expect(ids(slots(10))).toEqual([3, 2, 1]);
    expect(ids(slots(10, { bulk: 8 }))).toEqual([3, 2]);
    expect(ids(slots(10, { bulk: 8, normal: 1 }))).toEqual([3]);
    expect(ids(slots(10, { bulk: 8, normal: 2 }))).toEqual([]);
  });

  it('gives one tenant’s critical mail half of them while others wait, and all when nobody does', () => {
    const picker = createPicker();
    picker.add(prepared(1, 'critical'));
    expect(picker.candidates(slots(10, { critical: 5 }))).toHaveLength(1);
    expect(picker.candidates(slots(10, { critical: 5 }, { othersWait: () => true }))).toHaveLength(0);
    expect(picker.candidates(slots(10, { critical: 4 }, { othersWait: () => true }))).toHaveLength(1);
  });

  it('never puts large bulk mail on the last free connection, but on the only one', () => {
    const picker = createPicker();
    picker.add(prepared(1, 'bulk', 'a.example', 5 * 1024 * 1024));
    expect(picker.candidates(slots(4, { normal: 3 }))).toHaveLength(0);
    expect(picker.candidates(slots(4, { normal: 2 }))).toHaveLength(1);
    expect(picker.candidates(slots(1))).toHaveLength(1);
  });
});

describe('what a reply teaches', () => {
  const classifier = createClassifier();
  const egressMemory = (code: number, text: string, more: Partial<PathFacts> = {}) => {
    const verdict = classifier.classify({
      stage: 'mail',
      code,
      enhanced: null,
      text,
      mx: 'mx.test',
      origin: 'remote',
    });
    const outcome = {
      ...pathOutcome('mail', verdict.category, text),
      verdict,
      reply: { code, enhanced: null, text },
    };
    const context = {
      source: '',
      site: 'a',
      now: T0,
      open: 5,
      taken: 9,
      messagesPerSecond: 100,
      waitMs: 7_200_000,
    };
    return pathEffects(outcome, { ...context, ...more }).map(({ param, value, until }) => [
      param,
      value,
      until - T0,
    ]);
  };
  const MINUTE = 60_000;

  it.each([
    [421, 'too many concurrent connections', [['connections', 4, 60 * MINUTE]]],
    [421, 'Max message per connection reached', [['messagesPerConnection', 8, 1_440 * MINUTE]]],
    [450, 'rate limit exceeded, slow down', [['messagesPerSecond', 50, 30 * MINUTE]]],
    [554, 'blocked using zen.spamhaus.org; see spamhaus.org/query/ip', [['suspended', 'yes', 120 * MINUTE]]],
    [450, 'mailbox busy', []],
  ])('%i %s', (code, text, expected) => {
    expect(egressMemory(code, text)).toEqual(expected);
  });

  it('never suspends a relay, which the operator chose', () => {
    const listed = 'blocked using zen.spamhaus.org; see spamhaus.org/query/ip';
    expect(egressMemory(554, listed, { site: 'relay:127.0.0.1:25' })).toEqual([]);
  });

  it('is never less than one connection, nor from words of our own', () => {
    expect(egressMemory(421, 'too many concurrent connections', { open: 1 })).toEqual([
      ['connections', 1, 60 * MINUTE],
    ]);
    const ours = pathOutcome('connect', 'connection_limited', 'too many connections');
    const context = { source: '', site: 'a', now: T0, open: 5, taken: 0, messagesPerSecond: null, waitMs: 1 };
    expect(pathEffects(ours, context)).toEqual([]);
  });
});

describe('an opening where most addresses are silent', () => {
  const HEAD = {
    recipientDomain: 'many.test',
    senderDomain: 'example.com',
    critical: false,
    requireTls: false,
    providerRequiresTls: false,
  };
  /** Addresses 0 to 5, of which only the fifth answers; each silent one takes the time that it gets. */
  function site(
    reasonOf: (n: number) => OpenFailure['reason'] = () => 'timeout',
    route: Endpoint['route'] = 'mx',
  ) {
    const clock = createVirtualClock(T0);
    const tried = createTriedHosts(clock);
    const met: number[] = [];
    const connector: Pick<Connector, 'endpoints' | 'open' | 'notOpened'> = {
      async endpoints() {
        const budget = { connectLeftMs: 60_000, hurried: false };
        const all = [0, 1, 2, 3, 4, 5].map(
          (n): Endpoint => ({
            ...{ host: 'mx.many.test', address: `192.0.2.${n}`, port: 25, implicitTls: false },
            ...{ tls: relayTlsPlan('off'), auth: null, allowPlaintextAuth: false, route },
            ...{ recipientDomain: 'many.test', isLast: n === 5, budget },
          }),
        );
        return { kind: 'endpoints', endpoints: all };
      },
      async open({ address, budget }) {
        const n = Number(address.split('.').at(-1));
        const reason = reasonOf(n);
        met.push(n);
        if (n === 4 && reason === 'timeout') return { kind: 'open', session: {} as Session };
        const limitMs = Math.min(15_000, budget.connectLeftMs);
        if (reason === 'timeout') {
          await clock.advance(limitMs);
          budget.connectLeftMs -= limitMs;
        }
        const detail = reason === 'timeout' ? `no connection within ${limitMs} ms` : reason;
        const conversation = new Conversation(0);
        return { kind: 'failed', stage: 'connect', reason, detail, reply: null, tls: null, conversation };
      },
      notOpened() {},
    };
    const deps = {
      ...{ clock, tried, connector, metrics: { opened() {} }, classifier: createClassifier() },
      ...{ domains: { takes: () => true }, addresses: { take: () => ({ ended() {} }) } },
    } as unknown as Parameters<typeof openForHead>[0];
    return {
      met,
      open: () => openForHead(deps, HEAD, { signal: new AbortController().signal }),
    };
  }

  it('gives no address less time than an answer takes: the next attempt goes on with it', async () => {
    const { met, open } = site();
    const first = await open();
    expect(first).toMatchObject({
      kind: 'failed',
      outcome: { facts: { durationMs: 60_000 }, detail: expect.stringContaining('within 15000 ms') },
    });
    expect(met.splice(0)).toEqual([0, 1, 2, 3]);
    expect((await open()).kind).toBe('open');
    expect(met).toEqual([4]);
  });

  it('leaves relays in the order in which they are offered', async () => {
    const { met, open } = site(() => 'timeout', 'relay');
    await open();
    met.length = 0;
    await open();
    expect(met[0]).toBe(0);
  });

  it('counts what the others said where this machine cannot use one of them', async () => {
    const { open } = site((n) => (n === 0 ? 'local' : 'refused'));
    expect(await open()).toMatchObject({ kind: 'failed', outcome: { category: 'unreachable' } });
    expect((await site(() => 'local').open()).kind).toBe('local');
  });

  it('does not meet the silent ones again at the next connection', async () => {
    const { met, open } = site();
    await open();
    await open();
    met.length = 0;
    expect((await open()).kind).toBe('open');
    expect(met).toEqual([4]);
  });
});
