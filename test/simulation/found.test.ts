/**
 * What simulated runs have found, each as the smallest world that shows it. A run's own promises are the test: the
 * world needs only to lead there.
 */
import { describe, expect, it } from 'vitest';
import type { Plan } from './plan.ts';
import { PLAIN_EXTRAS } from './plan-extras.ts';
import { runPlan } from './world.ts';

const MINUTE = 60_000;

const QUIET: Plan = {
  seed: 1,
  sites: [
    {
      name: 'site0',
      provider: null,
      hosts: [{ name: 'mx0-site0.site0.net', address: '20.1.0.1' }],
      latencyMs: 5,
      dotMs: 0,
      pipelining: true,
      troubles: [],
    },
  ],
  domains: [{ name: 'd0.site0.test', site: 0 }],
  shaping: [],
  sources: [{ id: 'out1', address: '20.0.0.1' }],
  windowRows: 4096,
  lookAheadMs: 60_000,
  ttlSeconds: 300,
  timeline: [],
  loadUntilMs: 15 * MINUTE,
  tenants: ['sender0.test'],
  extras: PLAIN_EXTRAS,
};

const LETTER = {
  kind: 'send',
  tenant: 'sender0.test',
  lane: 'normal',
  expiresInMs: 60 * MINUTE,
  sendInMs: null,
  octets: 500,
} as const;

const [HOME] = QUIET.sites;

describe('a simulated world', () => {
  it('sees no mail at the new hosts of another domain of its site', async () => {
    if (HOME === undefined) throw new Error('no site');
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      sites: [
        HOME,
        { ...HOME, name: 'site1', hosts: [{ name: 'mx0-site1.site1.net', address: '20.1.1.1' }] },
      ],
      domains: [
        { name: 'd0.site0.test', site: 0 },
        { name: 'd1.site0.test', site: 0 },
      ],
      shaping: [{ id: 'default', limits: { connections: 1 } }],
      timeline: [
        { atMs: 0, action: { ...LETTER, recipients: ['a@d0.site0.test', 'b@d1.site0.test'] } },
        { atMs: 5 * MINUTE, action: { kind: 'move', domain: 'd1.site0.test', toSite: 1 } },
        // Known by then that the first answer is old, not yet what the new one is.
        {
          atMs: 6 * MINUTE,
          action: { ...LETTER, recipients: ['c@d1.site0.test', 'd@d0.site0.test', 'e@d0.site0.test'] },
        },
      ],
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBe(5);
  });

  it('sees nothing go that was held while it waited for a connection', async () => {
    const recipients = Array.from({ length: 6 }, (_, i) => `u${i}@d0.site0.test`);
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      // All connections hang after the first messages; the hold comes while the others stand behind them.
      sites: QUIET.sites.map((site) => ({
        ...site,
        troubles: [{ kind: 'mute-after-dot', fromMs: 0, untilMs: 5 * MINUTE, share: 1, most: 1 }],
      })),
      shaping: [{ id: 'default', limits: { connections: 2, messagesPerConnection: 1 } }],
      timeline: [
        { atMs: 0, action: { ...LETTER, recipients } },
        {
          atMs: MINUTE,
          action: { kind: 'hold', tenant: null, domain: null, lane: null, forMs: 30 * MINUTE },
        },
      ],
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBeGreaterThanOrEqual(recipients.length);
  });

  it('sees a signature over the Date that a message was given while it waited', async () => {
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      extras: { ...PLAIN_EXTRAS, signs: true },
      // It is signed when it is due, and cannot go before it is given another time.
      sites: QUIET.sites.map((site) => ({
        ...site,
        troubles: [{ kind: 'mute', fromMs: 0, untilMs: 3 * MINUTE, share: 1, most: 1 }],
      })),
      timeline: [
        {
          atMs: 0,
          action: { ...LETTER, sendInMs: MINUTE, recipients: ['a@d0.site0.test', 'b@d0.site0.test'] },
        },
        { atMs: 1.1 * MINUTE, action: { kind: 'reschedule', pick: 0, inMs: 4 * MINUTE } },
      ],
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBe(2);
  });

  it('sees TLS again where STARTTLS was refused for some minutes, one connection at a time', async () => {
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      sites: QUIET.sites.map((site) => ({
        ...site,
        tls: true,
        troubles: (['tls-refused', 'tarpits'] as const).map((kind) => ({
          ...{ kind, fromMs: MINUTE / 2, untilMs: 4 * MINUTE, share: 1, most: 1 },
        })),
      })),
      shaping: ['default', 'small'].map((id) => ({ id, limits: { connections: 1 } })),
      timeline: [0, 1, 3, 5].map((minute) => ({
        atMs: minute * MINUTE,
        action: { ...LETTER, recipients: [`u${minute}@d0.site0.test`] },
      })),
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBe(4);
  });

  it('sees no lease kept by a stop during which the store can be written again', async () => {
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      sites: QUIET.sites.map((site) => ({
        ...site,
        troubles: [{ kind: 'mute', fromMs: 0, untilMs: 5 * MINUTE, share: 1, most: 1 }],
      })),
      timeline: [
        { atMs: 0, action: { ...LETTER, recipients: ['a@d0.site0.test', 'b@d0.site0.test'] } },
        { atMs: 0.2 * MINUTE, action: { kind: 'outage', forMs: 0.4 * MINUTE, as: 'full' } },
        { atMs: 0.3 * MINUTE, action: { kind: 'restart', downMs: 1_000, deadlineMs: 0.5 * MINUTE } },
      ],
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBe(2);
  });

  it('sees that mail waits for a connection that is not greeted while the others hang', async () => {
    const { wrong, transactions } = await runPlan({
      ...QUIET,
      sites: QUIET.sites.map((site) => ({
        ...site,
        troubles: [
          { kind: 'mute-after-dot', fromMs: 0, untilMs: 8 * MINUTE, share: 1, most: 1 },
          { kind: 'mute', fromMs: 0.1 * MINUTE, untilMs: 8 * MINUTE, share: 1, most: 1 },
        ],
      })),
      timeline: [0, 0.2].map((minute) => ({
        atMs: minute * MINUTE,
        action: { ...LETTER, recipients: [`u${minute * 5}@d0.site0.test`] },
      })),
    });
    expect(wrong).toEqual([]);
    expect(transactions).toBeGreaterThanOrEqual(2);
  });
});
