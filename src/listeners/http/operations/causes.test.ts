import { afterAll, beforeAll, expect, it } from 'vitest';
import { commit, message, recipient } from '../../../store/conformance/fixtures.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { openWorld, type World } from '../test-world.ts';

const MEMBERS = 3_000;
const SUPPRESSED = 500;
const CAUSE = {
  category: 'auth_failed',
  scope: 'sender_domain',
  site: 'example.net',
  senderDomain: 'example.com',
  shape: '550 5.7.26',
  reply: '550 5.7.26 The DMARC check of example.com failed',
} as const;

const clock = createManualClock();
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

it('resends a cause in portions: each goes on behind the one before, and counts those it left out once', async () => {
  const { store, epoch } = world;
  const now = clock.now();
  const recipients = Array.from({ length: MEMBERS }, (_, i) =>
    recipient({ address: `r${i}@example.net`, state: 'sending', events: [] }),
  );
  const whole = message({ recipients, createdAt: now, expiresAt: now + 1e7 });
  const [{ deliveries } = { deliveries: [] }] = await commit(store, [whole], epoch);
  await store.settle({
    now,
    settlements: deliveries.map(({ id: deliveryId }) => ({
      ...{ deliveryId, epoch, state: 'bounced', countAttempt: true, events: [], cause: CAUSE },
    })),
  });
  // Those that are met first.
  const stopped = recipients.slice(0, SUPPRESSED).map(({ address }) => ({
    ...({ address, reason: 'Manual', note: '', expiresAt: null, source: null } as const),
  }));
  await store.addSuppressions({ domain: 'example.com', entries: stopped, now });
  const [cause] = await store.listCauses({ limit: 1, countUpTo: 10 });

  const sums = { Queued: 0, Suppressed: 0, calls: 0 };
  for (let after: string | null = ''; after !== null; ) {
    const path = `/causes/${cause?.id}/resend${after === '' ? '' : `?After=${after}`}`;
    const reply = await world.call('POST', path, { token: world.tokens.admin });
    expect(reply.status).toBe(200);
    const answer = reply.json() as {
      Queued: number;
      LeftOut: { Suppressed: number };
      More: boolean;
      NextCursor: string | null;
    };
    sums.Queued += answer.Queued;
    sums.Suppressed += answer.LeftOut.Suppressed;
    sums.calls += 1;
    expect(answer.More).toBe(answer.NextCursor !== null);
    after = answer.NextCursor;
  }
  expect(sums).toEqual({ Queued: MEMBERS - SUPPRESSED, Suppressed: SUPPRESSED, calls: 2 });
});
