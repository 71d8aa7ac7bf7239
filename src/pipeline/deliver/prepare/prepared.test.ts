/** How the settings of a sender domain change a prepared message. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createPersonalTokens } from '../../../mail/personal-token.ts';
import { createReturnPathTokens } from '../../../mail/verp.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { testItem } from '../../queue/test-items.ts';
import { createPreparer, type SenderSettings } from './prepared.ts';

const clock = createVirtualClock();

function prepare(
  chosen: Partial<Awaited<ReturnType<SenderSettings['settingsOf']>>>,
  more: Partial<ClaimedDelivery> = {},
  takesMs = 0,
) {
  const preparer = preparerOf(chosen, async () => {
    await clock.advance(takesMs);
    return Buffer.from('hi');
  });
  return preparer.prepare(testItem({ size: 2, ...more }, { heldBytes: 2 }));
}

function preparerOf(
  chosen: Partial<Awaited<ReturnType<SenderSettings['settingsOf']>>>,
  readContent: () => Promise<Uint8Array>,
) {
  return createPreparer(
    {
      clock,
      store: {
        readContent,
        readTokenSlots: async () => null,
      },
      signing: {
        sign: async () => ({ kind: 'unsigned', reason: 'off' }),
        signOnce: async () => ({ kind: 'unsigned', reason: 'off' }),
      },
      tokens: createReturnPathTokens([{ id: 1, secret: new Uint8Array(16) }]),
      personalTokens: createPersonalTokens([{ id: 1, secret: new Uint8Array(16) }]),
      asksForTls: async () => false,
      senders: {
        settingsOf: async () => ({
          atMostOnce: false,
          requireTls: false,
          returnPathHost: null,
          ...chosen,
        }),
      },
    },
    { bounceDomain: 'bounce.example.org' },
  );
}

describe('a prepared delivery', () => {
  it('has the return path of its sender domain, else the server’s', async () => {
    const mailFrom = async (returnPathHost: string | null) => {
      const result = await prepare({ returnPathHost });
      return result.kind === 'ready' ? result.prepared.mailFrom.replace(/^b-[0-9a-z-]+@/, '') : result;
    };
    expect(await mailFrom(null)).toBe('bounce.example.org');
    expect(await mailFrom('b.example.com')).toBe('b.example.com');
  });

  it('counts its age from when it was ready, however long that took', async () => {
    const prepared = await prepare({}, {}, 60_000);
    expect(prepared).toMatchObject({ prepared: { preparedAtMs: clock.monotonicMs() } });
  });

  it('has the Date that it was rescheduled to, also if its content was read before', async () => {
    let stored = 'Date: Monday';
    const preparer = preparerOf({}, async () => Buffer.from(stored));
    const sent = async (more: Partial<ClaimedDelivery>) => {
      const result = await preparer.prepare(testItem({ size: 2, ...more }, { heldBytes: 2 }));
      return result.kind === 'ready' ? Buffer.from(result.prepared.content).toString() : result;
    };
    expect(await sent({})).toBe('Date: Monday');
    stored = 'Date: Tuesday';
    expect(await sent({ wasScheduled: true })).toBe('Date: Tuesday');
    expect(await sent({})).toBe('Date: Tuesday');
  });

  it('says whether it needs verified TLS', async () => {
    expect(await prepare({ requireTls: true })).toMatchObject({ prepared: { requireTls: true } });
    expect(await prepare({})).toMatchObject({ prepared: { requireTls: false } });
  });

  it('fails where it may have gone before and is to go at most once, unless somebody asked for it again', async () => {
    const failed = { outcome: { kind: 'failed', category: 'outcome_unknown' } };
    expect(await prepare({ atMostOnce: true }, { mayBeDuplicate: true })).toMatchObject(failed);
    expect(await prepare({ atMostOnce: true })).toMatchObject({ kind: 'ready' });
    expect(await prepare({}, { mayBeDuplicate: true })).toMatchObject({ kind: 'ready' });
    const asked = { mayBeDuplicate: true, lastCategory: 'outcome_unknown' };
    expect(await prepare({ atMostOnce: true }, asked)).toMatchObject({ kind: 'ready' });
  });
});
