/** Retention over a real store: by age and each domain's own wish, by size, and picked up again after a stop. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createSystemRandom } from '../../lib/random.ts';
import type { DomainSettingsPatch } from '../../model/domain.ts';
import type { MessageId } from '../../model/message.ts';
import { event, message, messagesOf, recipient, token } from '../../store/conformance/fixtures.ts';
import { credential } from '../../store/conformance/smtp-credentials.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createRetention, type RetentionOptions } from './retention.ts';

const DAY = 86_400_000;
const T0 = 1_790_000_000_000;
const random = createSystemRandom();
const OPTIONS: RetentionOptions = {
  contentMs: 7 * DAY,
  eventsMs: 60 * DAY,
  callsMs: 7 * DAY,
  capturesMs: 7 * DAY,
  optOutMs: 730 * DAY,
  contentBytes: null,
};

let store: Store;
let now: number;

beforeEach(async () => {
  store = await openTestStore(systemClock);
  now = T0;
});
afterEach(async () => {
  await store.close();
});

const purge = (more: Partial<RetentionOptions> = {}, mayGoOn = () => true) =>
  createRetention({ store, clock: { ...systemClock, now: () => now } }, { ...OPTIONS, ...more }).purge(
    mayGoOn,
  );

/** Messages of `bytes` octets each, with one recipient in that state; their seqs. */
async function accept(count: number, more: { domain?: string; bytes?: number; waits?: boolean } = {}) {
  const { domain = 'example.com', bytes = 100, waits = false } = more;
  const id = () => uuidv7({ ...systemClock, now: () => now }, random);
  const result = await store.commitAccepted({
    epoch: 1,
    idempotency: null,
    messages: Array.from({ length: count }, () =>
      message({
        id: id() as MessageId,
        domain,
        content: new Uint8Array(bytes),
        createdAt: now,
        expiresAt: now + DAY,
        recipients: [
          recipient({
            state: waits ? 'queued' : 'suppressed',
            dueAt: now,
            events: [event('accepted', now, { id: id() })],
          }),
        ],
      }),
    ),
  });
  if (result.kind !== 'committed') throw new Error('not committed');
  return result.messages.map((message) => message.seq);
}

async function addDomain(name: string, settings: DomainSettingsPatch): Promise<void> {
  await store.addDomain({
    name,
    status: 'Verified',
    verifiedBy: 'operator',
    verifyToken: 'v',
    settings,
    keys: [],
    now,
  });
}

const kept = async (seqs: readonly number[]) =>
  (await Promise.all(seqs.map((messageSeq) => store.readContent({ messageSeq })))).filter((c) => c !== null)
    .length;

describe('retention', () => {
  it('forgets contents after a week and messages after two months, and nothing that waits', async () => {
    const old = await accept(40);
    const waiting = await accept(3, { waits: true });
    now += 7 * DAY;
    const fresh = await accept(2);
    expect(await purge()).toMatchObject({ contents: 0, messages: 0 });
    now += 1;
    expect(await purge()).toMatchObject({ contents: 40, messages: 0 });
    expect([await kept(old), await kept(waiting), await kept(fresh)]).toEqual([0, 3, 2]);
    now += 53 * DAY;
    expect(await purge()).toMatchObject({ contents: 2, messages: 40 });
    expect(await kept(waiting)).toBe(3);
    expect(await messagesOf(store, { limit: 100 })).toHaveLength(5);
  });

  it('forgets what is old also behind what was accepted while the clock was a year ahead', async () => {
    now = T0 + 365 * DAY;
    const ahead = await accept(3);
    now = T0;
    const old = await accept(4);
    now = T0 + 8 * DAY;
    const fresh = await accept(2);
    expect(await purge()).toMatchObject({ contents: 4, messages: 0 });
    expect([await kept(ahead), await kept(old), await kept(fresh)]).toEqual([3, 0, 2]);
    now = T0 + 61 * DAY;
    expect(await purge()).toMatchObject({ messages: 4 });
  });

  it('follows what a domain chose, and the server for the others', async () => {
    await addDomain('short.example', { retention: { contentDays: 0, eventDays: 1 } });
    await addDomain('long.example', { retention: { contentDays: 365, eventDays: 365 } });
    const seqs = {
      short: await accept(2, { domain: 'short.example' }),
      long: await accept(2, { domain: 'long.example' }),
      plain: await accept(2),
    };
    now += 1;
    expect(await purge()).toMatchObject({ contents: 2 });
    expect(await kept(seqs.short)).toBe(0);
    now += DAY;
    expect(await purge()).toMatchObject({ contents: 0, messages: 2 });
    now += 100 * DAY;
    await purge();
    expect(await kept(seqs.long)).toBe(2);
    expect(await messagesOf(store, { limit: 100 })).toHaveLength(2);
  });

  it('forgets the oldest contents above the size, whoever they belong to, and keeps what waits', async () => {
    const first = await accept(10, { bytes: 1000 });
    const waiting = await accept(5, { bytes: 1000, waits: true });
    const second = await accept(10, { bytes: 1000, domain: 'other.example' });
    expect(await purge({ contentBytes: 25_000 })).toMatchObject({ contents: 0 });
    expect(await purge({ contentBytes: 12_500 })).toMatchObject({ contents: 13 });
    expect([await kept(first), await kept(waiting), await kept(second)]).toEqual([0, 5, 7]);
    expect(await purge({ contentBytes: 0 })).toMatchObject({ contents: 7 });
    expect(await kept(waiting)).toBe(5);
  });

  it('stops when it is told to, and goes on the next time', async () => {
    const seqs = await accept(100);
    now += 8 * DAY;
    let looks = 0;
    const first = await purge({}, () => looks++ < 8);
    expect(first.contents).toBeGreaterThan(0);
    expect(first.contents).toBeLessThan(100);
    expect(await kept(seqs)).toBe(100 - first.contents);
    expect((await purge()).contents).toBe(100 - first.contents);
    expect(await kept(seqs)).toBe(0);
  });

  it('forgets MTA-STS policies when they end', async () => {
    const policy = { policyId: '1', mode: 'enforce', mx: [], maxAgeSeconds: 60, renewFailures: 0 } as const;
    const times = { fetchedAt: now, renewAt: now, expiresAt: now + 60_000 };
    await store.putMtaSts({ domain: 'example.net', ...policy, ...times });
    await purge();
    expect(await store.getMtaSts({ domain: 'example.net' })).not.toBeNull();
    now += 60_000;
    await purge();
    expect(await store.getMtaSts({ domain: 'example.net' })).toBeNull();
  });

  it('forgets tokens and SMTP credentials ninety days after they ended, with those that they made', async () => {
    const ids = Array.from({ length: 70 }, () => uuidv7({ ...systemClock, now: () => now }, random)).sort();
    for (const [i, id] of ids.entries())
      await store.addToken({
        token: token({ id, createdBy: ids[i - 1] ?? null, expiresAt: null }),
        maxPerDomain: 100,
      });
    for (const id of ids.slice(-40)) await store.revokeToken({ id, now });
    await store.addSmtpCredential({ credential: credential({ expiresAt: now }), maxPerDomain: 1 });
    now += 90 * DAY;
    expect(await purge()).toMatchObject({ credentials: 0 });
    now += 1;
    let forgotten = 0;
    // One that made another is removed in a round after that.
    for (let n = 0; n < 40; n += 1) forgotten += (await purge()).credentials;
    expect(forgotten).toBe(41);
    expect((await store.listTokens({ limit: 100, look: 100 })).tokens.map(({ id }) => id).sort()).toEqual(
      ids.slice(0, 30),
    );
  });
});
