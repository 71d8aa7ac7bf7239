/** Acceptance over a real store and a real queue: a refused message leaves neither rows nor reserved places. */
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { NO_FAILPOINTS } from '../../lib/failpoints.ts';
import { silentLogger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { MessageId } from '../../model/message.ts';
import { soleLease } from '../../model/node.ts';
import type { QuotaLimits } from '../../model/quota.ts';
import {
  type RawSubmission,
  SUBMISSION_DEFAULTS,
  type Submission,
  sendingCaller,
} from '../../model/submission.ts';
import type { FailStoreWrites } from '../../store/sqlite/engine/protocol.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { createQueue } from '../queue/create-queue.ts';
import { QUEUE_DEFAULTS } from '../queue/queue.ts';
import { OPEN_GATE } from '../queue/test-items.ts';
import { createAcceptance } from './accept.ts';
import { createAcceptMetrics } from './accept-metrics.ts';
import type { BatchItem } from './batch.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const CALLER = { ...sendingCaller('token'), owner: 'owner', domains: ['example.com'] };

function submission(to: readonly string[] = ['b@example.net'], more: Partial<Submission> = {}): Submission {
  return {
    ...SUBMISSION_DEFAULTS,
    from: { name: '', address: 'a@example.com' },
    fromDomain: 'example.com',
    recipients: to.map((address) => ({
      name: '',
      address,
      domain: address.slice(address.indexOf('@') + 1),
      kind: 'To',
    })),
    subject: 'S',
    body: { kind: 'text', text: 'Hello' },
    ...more,
  };
}

const key = (name: string, byte = 1) => ({
  operation: 'POST /email',
  key: name,
  fingerprint: new Uint8Array(32).fill(byte),
});

async function open(
  given: {
    quota?: QuotaLimits;
    maxRows?: number;
    maxMessageBytes?: number;
    refusing?: () => string | null;
  } = {},
) {
  const clock = createVirtualClock();
  const random = createSystemRandom();
  const failStoreWrites: FailStoreWrites & { as: 'full' } = { from: 0, count: 0, as: 'full' };
  const store = await openTestStore(clock, { failStoreWrites });
  ends.push(async () => {
    await store.close();
  });
  const node = soleLease(await store.beginEpoch({ nodeId: 'test', now: clock.now() }));
  let events = 0;
  const eventsStored = () => {
    events += 1;
  };
  const common = { store, clock, random, log: silentLogger, node, eventsStored };
  const queue = createQueue(
    {
      ...common,
      siteOf: ({ recipientDomain }) => recipientDomain,
      expire: () => {
        throw new Error('nothing expires here');
      },
      suppressed: () => null,
      gate: OPEN_GATE,
    },
    { ...QUEUE_DEFAULTS, maxRows: given.maxRows ?? QUEUE_DEFAULTS.maxRows },
  );
  await queue.start();
  ends.unshift(() => queue.stop(0));
  const acceptance = createAcceptance(
    {
      ...common,
      queue,
      senders: {
        async senderFor(_, domain) {
          if (domain === 'example.com') return { kind: 'domain', name: domain, quota: given.quota ?? null };
          if (domain === 'new.example') return { kind: 'not-verified', name: domain };
          return { kind: domain === 'unknown.example' ? 'unknown' : 'not-allowed' };
        },
      },
      keepsContent: () => true,
      metrics: createAcceptMetrics(new Registry()),
      failpoints: NO_FAILPOINTS,
      refusing: given.refusing ?? (() => null),
    },
    {
      maxMessageBytes: given.maxMessageBytes ?? 1_000_000,
      simulatorDomain: 'simulator.test',
      maxAgeMs: null,
      idempotencyWindowMs: 86_400_000,
    },
  );
  const accept = (one = submission(), idempotency: ReturnType<typeof key> | null = null) =>
    acceptance.accept({ caller: CALLER, submission: one, idempotency });
  const stored = async () => (await store.listMessages({ limit: 100, look: 1_000 })).messages;
  /** States of all recipients, newest message first. */
  const states = async () => (await stored()).map(({ recipients }) => recipients.map(({ state }) => state));
  return { store, clock, queue, acceptance, accept, stored, states, failStoreWrites, events: () => events };
}

const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof AppError)) throw new Error(`expected a refusal, not ${error}`);
  return error.problems.map(({ name }) => name);
};

describe('what is refused leaves nothing', () => {
  it.each([
    ['a sender domain of somebody else', { fromDomain: 'other.example' }, 'from-domain-not-allowed'],
    ['a sender domain that is not known', { fromDomain: 'unknown.example' }, 'from-domain-not-allowed'],
    ['a sender domain without its proof', { fromDomain: 'new.example' }, 'domain-not-verified'],
    [
      'a name that shows an address of somebody else',
      { from: { name: 'ceo@other.example', address: 'a@example.com' } },
      'from-domain-not-allowed',
    ],
  ] as const)('%s', async (_, more, name) => {
    const { accept, stored, queue, events } = await open();
    expect(await refusal(accept(submission(undefined, more)))).toEqual([name]);
    expect([await stored(), queue.inMemory().rows, events()]).toEqual([[], 0, 0]);
  });

  it('a name that shows an address of its own is none', async () => {
    const { accept } = await open();
    const from = { name: 'news@example.com', address: 'a@example.com' };
    expect((await accept(submission(undefined, { from }))).kind).toBe('accepted');
  });

  it('a message one octet too large', async () => {
    const { acceptance } = await open();
    const { size } = await acceptance.check({ caller: CALLER, submission: submission() });
    const tight = await open({ maxMessageBytes: size });
    expect((await tight.accept()).kind).toBe('accepted');
    const tooSmall = await open({ maxMessageBytes: size - 1 });
    await expect(tooSmall.accept()).rejects.toMatchObject({
      problems: [{ name: 'message-too-large', message: expect.stringContaining('max-message-bytes') }],
    });
    expect(await tooSmall.stored()).toEqual([]);
  });

  it('everything while the server stops, or says why it takes nothing', async () => {
    let why: string | null = 'the disk is nearly full';
    const { accept, acceptance, stored } = await open({ refusing: () => why });
    expect(await refusal(accept())).toEqual(['unavailable']);
    expect(acceptance.refusing()).toBe(why);
    why = null;
    expect((await accept()).kind).toBe('accepted');
    acceptance.close();
    expect(await refusal(accept())).toEqual(['unavailable']);
    expect(await stored()).toHaveLength(1);
  });

  it('a store that cannot write, and takes mail again when it can', async () => {
    const { accept, clock, failStoreWrites, stored, queue } = await open();
    failStoreWrites.count = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 3; n += 1) expect(await refusal(accept())).toEqual(['unavailable']);
    failStoreWrites.count = 0;
    await clock.advance(60_000);
    expect((await accept()).kind).toBe('accepted');
    expect([(await stored()).length, queue.inMemory().rows]).toEqual([1, 1]);
  });
});

describe('room in memory', () => {
  const ROWS = 20;
  /** How many of so many recipients find room. */
  const roomLeft = async ({ accept, queue }: Pick<Awaited<ReturnType<typeof open>>, 'accept' | 'queue'>) => {
    const before = queue.inMemory().rows;
    for (let n = 0; n < ROWS; n += 1) await accept(submission([`r${n}@example.net`]));
    return queue.inMemory().rows - before;
  };

  it('is given back by what was answered before, refused, or over its quota', async () => {
    const quota = { minute: null, hour: ROWS + 1, day: null };
    const untouched = await open({ maxRows: ROWS, quota });
    await untouched.accept(submission(), key('a'));
    const world = await open({ maxRows: ROWS, quota });
    const first = await world.accept(submission(), key('a'));
    if (first.kind !== 'accepted') throw new Error('not accepted');
    const tooMany = submission(Array.from({ length: ROWS + 1 }, (_, i) => `r${i}@example.net`));
    for (let n = 0; n < 2 * ROWS; n += 1) {
      expect(await world.accept(submission(), key('a'))).toMatchObject({
        kind: 'replay',
        status: 200,
        body: JSON.stringify({ MessageID: first.messageId }),
      });
      expect(await refusal(world.accept(submission(), key('a', 2)))).toEqual(['idempotency-key-reused']);
      expect(await refusal(world.accept(tooMany))).toEqual(['quota-exceeded']);
    }
    const left = await roomLeft(world);
    expect(left).toBeGreaterThan(0);
    expect(left).toBe(await roomLeft(untouched));
  });

  it('is taken by no more rows than fit, and by none that go later', async () => {
    const { accept, states, queue } = await open({ maxRows: ROWS });
    await accept(submission(undefined, { sendAt: 1_800_000_060_000 }));
    expect(queue.inMemory().rows).toBe(0);
    await accept(submission(Array.from({ length: 3 * ROWS }, (_, i) => `r${i}@example.net`)));
    expect(queue.inMemory().rows).toBeGreaterThan(0);
    expect(queue.inMemory().rows).toBeLessThanOrEqual(ROWS);
    const [newest = [], scheduled] = await states();
    expect(scheduled).toEqual(['queued']);
    expect(newest.filter((state) => state === 'sending')).toHaveLength(queue.inMemory().rows);
  });
});

describe('suppressed recipients', () => {
  it('get no mail, and a message with nobody else is refused', async () => {
    const world = await open();
    const gone = {
      address: 'gone@example.net',
      reason: 'Manual',
      note: '',
      expiresAt: null,
      source: null,
    } as const;
    await world.store.addSuppressions({ domain: 'example.com', entries: [gone], now: world.clock.now() });
    await world.accept(submission(['gone@example.net', 'b@example.net']));
    expect(await world.states()).toEqual([['suppressed', 'sending']]);
    expect(await refusal(world.accept(submission(['gone@example.net'])))).toEqual([
      'all-recipients-suppressed',
    ]);
    expect(await world.stored()).toHaveLength(1);
    const complained = { ...gone, address: 'angry@example.net', reason: 'Complaint' } as const;
    await world.store.addSuppressions({
      domain: 'example.com',
      entries: [complained],
      now: world.clock.now(),
    });
    await expect(world.accept(submission(['angry@example.net']))).rejects.toThrow(
      /Only if the recipient asks for mail again: postrider suppress remove angry@example\.net .*--reason Complaint$/,
    );
  });
});

describe('mail with an envelope of its own', () => {
  const raw = (more: Partial<RawSubmission>) => {
    const { body: _, headers: __, attachments: ___, ...rest } = submission();
    return {
      caller: CALLER,
      idempotency: null,
      submission: { ...rest, envelopeDomain: 'example.com', notice: null, ...more } as RawSubmission,
      prepared: {
        messageId: '01990000-0000-7000-8000-000000000001' as MessageId,
        dateMs: 1_800_000_000_000,
        composed: {
          ...{ bytes: Buffer.from('Subject: S\r\n\r\nx\r\n'), bodyOffset: 14, needsSmtpUtf8: false },
          ...{ eightBit: false, dateOffset: null },
        },
      },
    };
  };

  it('is sent only by whom the envelope names too, unless it names nobody', async () => {
    const { acceptance } = await open();
    expect(await refusal(acceptance.acceptRaw(raw({ envelopeDomain: 'other.example' })))).toEqual([
      'from-domain-not-allowed',
    ]);
    expect((await acceptance.acceptRaw(raw({ envelopeDomain: null }))).kind).toBe('accepted');
  });

  it('claims no other author or sender in its header', async () => {
    const { acceptance } = await open();
    const claims = (claimedDomains: string[]) => acceptance.acceptRaw(raw({ claimedDomains }));
    expect(await refusal(claims(['example.com', 'other.example']))).toEqual(['from-domain-not-allowed']);
    expect((await claims(['example.com'])).kind).toBe('accepted');
  });
});

describe('a batch', () => {
  const item = (...to: string[]): BatchItem => ({ kind: 'message', submission: submission(to) });
  const refusedItem: BatchItem = {
    kind: 'refused',
    problems: [{ code: 1, name: 'subject-too-long', message: 'x', field: '/Subject' }],
  } as never;
  const take = async (
    { acceptance }: Pick<Awaited<ReturnType<typeof open>>, 'acceptance'>,
    items: readonly BatchItem[],
    idempotency: ReturnType<typeof key> | null = null,
  ) =>
    acceptance.acceptBatch({
      ...{ caller: CALLER, items, idempotency },
      answer: (outcomes) =>
        outcomes.map((one) => (one.kind === 'accepted' ? 'ok' : one.problems[0].name)).join(' '),
    });

  it('takes the first that fit into a quota, and smaller ones behind those that do not', async () => {
    const world = await open({ quota: { minute: null, hour: 3, day: null } });
    const items = [
      item('a@x.example', 'b@x.example'),
      item('c@x.example', 'd@x.example'),
      refusedItem,
      item('e@x.example'),
      item('f@x.example', 'g@x.example', 'h@x.example', 'i@x.example'),
    ];
    expect(await take(world, items)).toMatchObject({
      kind: 'answered',
      body: 'ok quota-exceeded subject-too-long ok recipients-total',
    });
    expect((await world.stored()).map(({ recipients }) => recipients.length)).toEqual([1, 2]);
  });

  it('of which nothing is taken stores nothing but its answer under its key', async () => {
    const world = await open();
    expect(await take(world, [refusedItem])).toMatchObject({ kind: 'answered', body: 'subject-too-long' });
    expect((await take(world, [refusedItem], key('b'))).kind).toBe('answered');
    expect(await take(world, [item('a@x.example')], key('b'))).toMatchObject({
      kind: 'replay',
      body: 'subject-too-long',
    });
    expect(await world.stored()).toEqual([]);
  });

  it('is refused as a whole, and stores nothing, where the store cannot write', async () => {
    const world = await open();
    world.failStoreWrites.count = Number.POSITIVE_INFINITY;
    await expect(take(world, [item('a@x.example'), item('b@x.example')])).rejects.toThrow(StoreUnavailable);
    expect(await world.stored()).toEqual([]);
    world.failStoreWrites.count = 0;
    await world.clock.advance(60_000);
    expect((await take(world, [item('a@x.example')])).body).toBe('ok');
  });
});
