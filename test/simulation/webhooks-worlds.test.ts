/**
 * Simulated worlds of webhooks (webhooks-world.ts), and bugs made on purpose that they must notice. Many more:
 * `npm run simulate -- --webhooks --runs 500`.
 */
import { describe, expect, it } from 'vitest';
import type { Webhook } from '../../src/model/webhook.ts';
import type { Store } from '../../src/store/store.ts';
import { runWebhooksSeed } from './webhooks-world.ts';

const RUNS_A_TEST = 10;
const RUNS = 30;
const MOST_SEEDS = 40;

describe('webhooks, simulated', () => {
  it('are the same again with the same seed', async () => {
    expect(await runWebhooksSeed(8)).toEqual(await runWebhooksSeed(8));
  });

  for (let seed = 1; seed <= RUNS; seed += RUNS_A_TEST) {
    it(`keep their promises in the worlds ${seed} to ${seed + RUNS_A_TEST - 1}`, async () => {
      const broken: string[] = [];
      let calls = 0;
      for (let i = seed; i < seed + RUNS_A_TEST; i++) {
        const result = await runWebhooksSeed(i);
        calls += result.calls;
        if (result.wrong.length === 0) continue;
        broken.push(`again with: npm run simulate -- --webhooks --runs 1 --seed ${i}`, ...result.wrong);
      }
      expect(broken).toEqual([]);
      expect(calls).toBeGreaterThan(RUNS_A_TEST);
    });
  }
});

const BUGS: readonly { name: string; notices: RegExp; change(store: Store): Store }[] = [
  {
    name: 'a failure that counts as a success',
    notices: /is called successful, and the receiver has not answered so/,
    change: (store) => ({
      ...store,
      settleCalls: ({ settlements }) =>
        store.settleCalls({ settlements: settlements.map((one) => ({ ...one, state: 'succeeded' })) }),
    }),
  },
  {
    name: 'a result that is not stored',
    notices: /was called again|have not ended|wait for no reason/,
    change: (store) => ({
      ...store,
      settleCalls: ({ settlements }) =>
        store.settleCalls({ settlements: settlements.filter(({ tryNumber }) => tryNumber % 2 === 0) }),
    }),
  },
  {
    name: 'a call that is given up too early',
    notices: /was given up after \d tries/,
    change: (store) => ({
      ...store,
      settleCalls: ({ settlements }) =>
        store.settleCalls({
          settlements: settlements.map((one) => (one.tryNumber === 2 ? { ...one, state: 'failed' } : one)),
        }),
    }),
  },
  {
    name: 'webhooks that are off and are called',
    notices: /is called although it is (off|deleted)/,
    change: (store) => ({
      ...store,
      async getWebhook(params) {
        const webhook = await store.getWebhook(params);
        return webhook === null ? null : { ...webhook, status: 'Enabled' };
      },
    }),
  },
  {
    name: 'webhooks that are called at a URL that they had',
    notices: /is called at .* instead of/,
    change(store) {
      const urls = new Map<number, string>();
      const before = (webhook: Webhook): Webhook => {
        const url = urls.get(webhook.id) ?? webhook.url;
        urls.set(webhook.id, url);
        return { ...webhook, url };
      };
      return {
        ...store,
        claimCalls: async (params) =>
          (await store.claimCalls(params)).map((call) => ({ ...call, webhook: before(call.webhook) })),
      };
    },
  },
  {
    name: 'webhooks that go on signing with their first secret',
    notices: /is called without a signature by its secret/,
    change: (store) => ({ ...store, rotateWebhookSecret: async () => true }),
  },
  {
    name: 'webhooks that keep the kinds they had',
    notices: /was changed, and is not as asked/,
    change: (store) => ({
      ...store,
      updateWebhook: ({ events: _, ...others }) => store.updateWebhook(others),
    }),
  },
  {
    name: 'calls that were to be made later and are not',
    notices: /has no call/,
    change: (store) => ({ ...store, prepareCalls: async () => false }),
  },
  {
    name: 'due calls that are not seen',
    notices: /wait for no reason|have not ended/,
    change: (store) => ({
      ...store,
      claimCalls: (params) =>
        store.claimCalls({ ...params, excludeWebhooks: [...params.excludeWebhooks, 1] }),
    }),
  },
];

describe('the promises of webhooks notice', () => {
  it.each(BUGS.map((bug) => [bug.name, bug] as const))('%s', async (_, { notices, change }) => {
    let noticed: readonly string[] = [];
    for (let seed = 1; seed <= MOST_SEEDS && noticed.length === 0; seed++) {
      const { wrong } = await runWebhooksSeed(seed, change);
      noticed = wrong.filter((what) => notices.test(what));
    }
    expect(noticed).not.toEqual([]);
  });
});
