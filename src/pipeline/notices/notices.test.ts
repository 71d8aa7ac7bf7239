/** Notices over a real store and a real acceptance, with a clock that stands still until a test moves it. */
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { NO_FAILPOINTS } from '../../lib/failpoints.ts';
import type { Logger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { type DsnReport, readDsn } from '../../mail/dsn.ts';
import { readMime } from '../../mail/mime-tree.ts';
import type { Bounce } from '../../model/bounce.ts';
import { soleLease } from '../../model/node.ts';
import { event, message, messagesOf, only, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import type { NewMessage } from '../../store/topics/acceptance.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import { createAcceptance } from '../accept/accept.ts';
import { createAcceptMetrics } from '../accept/accept-metrics.ts';
import { createSettlementRules } from '../deliver/outcome/settlement.ts';
import { createQueue } from '../queue/create-queue.ts';
import { QUEUE_DEFAULTS } from '../queue/queue.ts';
import { createRetrySchedule } from '../queue/retry-schedule.ts';
import { OPEN_GATE } from '../queue/test-items.ts';
import { createNoticeMetrics } from './notice-metrics.ts';
import { noticeWords } from './notice-text.ts';
import { createNotices, type NoticeOptions, type Notices } from './notices.ts';

const HOUR = 3_600_000;
const WAIT = 30_000;

let store: Store;
let clock: VirtualClock;
let epoch: number;
let registry: Registry;
/** Why nothing is taken, or null. */
let refusing: string | null;
/** Whether the sender's domain may send. */
let verified: boolean;
let warnings: string[];

beforeEach(async () => {
  store = await openTestStore(systemClock);
  clock = createVirtualClock(T0);
  epoch = await store.beginEpoch({ nodeId: 'test', now: T0 });
  registry = new Registry();
  refusing = null;
  verified = true;
  warnings = [];
});

afterEach(async () => {
  await store.close();
});

function start(
  options: Partial<NoticeOptions> = {},
  faults: Partial<Pick<Store, 'readContent'>> = {},
): Notices {
  const random = createSystemRandom();
  const log: Logger = { debug() {}, info() {}, warn: (_, text) => void warnings.push(`${text}`), error() {} };
  const retry = createRetrySchedule(random, null);
  const rules = createSettlementRules({ clock, random, retry, relayed: false });
  const queue = createQueue(
    {
      store,
      clock,
      random,
      log,
      node: soleLease(epoch),
      siteOf: ({ recipientDomain }) => recipientDomain,
      expire: rules.expire,
      suppressed: rules.suppressed,
      gate: OPEN_GATE,
      eventsStored() {},
    },
    QUEUE_DEFAULTS,
  );
  const acceptance = createAcceptance(
    {
      store,
      senders: {
        senderFor: async () =>
          verified
            ? { kind: 'domain', name: 'example.com', quota: null }
            : { kind: 'not-verified', name: 'example.com' },
      },
      keepsContent: () => true,
      queue,
      clock,
      random,
      node: soleLease(epoch),
      log,
      metrics: createAcceptMetrics(new Registry()),
      failpoints: NO_FAILPOINTS,
      eventsStored() {},
      refusing: () => refusing,
    },
    {
      maxMessageBytes: 26_214_400,
      simulatorDomain: 'simulator.test',
      maxAgeMs: null,
      idempotencyWindowMs: HOUR,
    },
  );
  registry = new Registry();
  return createNotices(
    {
      store: {
        dueNotices: (params) => store.dueNotices(params),
        putOffNotices: (params) => store.putOffNotices(params),
        readContent: faults.readContent ?? ((params) => store.readContent(params)),
      },
      ...{ acceptance, clock, random, log, metrics: createNoticeMetrics(registry) },
    },
    { hostname: 'mail.example.com', waitMs: WAIT, perHour: 50, ...options },
  );
}

/** A message by SMTP whose recipients all failed just now. */
async function failing(count: number, more: Partial<NewMessage> = {}): Promise<number> {
  const recipients = Array.from({ length: count }, (_, i) =>
    recipient({ address: `gone${i}@example.net`, state: 'sending', notify: ['failure', 'delay'] }),
  );
  const result = await store.commitAccepted({
    messages: [
      message({
        notice: { sender: 'ann@example.com', ret: null, envid: null },
        recipients,
        createdAt: clock.now(),
        expiresAt: clock.now() + 72 * HOUR,
        ...more,
      }),
    ],
    epoch,
    idempotency: null,
  });
  if (result.kind !== 'committed') throw new Error(result.kind);
  const { seq, deliveries } = only(result.messages);
  await settle(deliveries.map(({ id }) => ({ deliveryId: id, state: 'bounced' })));
  return seq;
}

async function settle(
  outcomes: readonly Pick<Settlement, 'deliveryId' | 'state' | 'dueAt'>[],
): Promise<void> {
  const at = clock.now();
  await store.settle({
    now: at,
    settlements: outcomes.map((one) => ({
      ...one,
      epoch,
      countAttempt: true,
      events: [event(one.state === 'bounced' ? 'bounced' : 'deferred', at)],
    })),
  });
}

interface Written {
  subject: string;
  report: DsnReport;
  size: number;
  text: string;
}

/** All notices that were accepted, newest first. */
async function written(): Promise<Written[]> {
  const found: Written[] = [];
  for (const row of await messagesOf(store, { tag: 'notice', limit: 100 })) {
    const bytes = await store.readContent({ messageSeq: row.seq });
    const report = bytes === null ? null : readDsn(readMime(bytes));
    if (bytes === null || report === null) throw new Error('a notice without a report');
    found.push({
      subject: row.subject,
      report,
      size: bytes.length,
      text: Buffer.from(bytes).toString('latin1'),
    });
  }
  return found;
}

async function counted(result: string): Promise<number> {
  const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'postrider_notices_total');
  const values = metric === undefined ? [] : metric.values;
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

it('waits for company, then tells of all together', async () => {
  const notices = start();
  await failing(3);
  await clock.advance(WAIT - 1);
  await notices.look();
  expect(await written()).toEqual([]);
  await clock.advance(1);
  await notices.look();
  expect(only(await written()).report.recipients).toHaveLength(3);
  await clock.advance(HOUR);
  await notices.look();
  expect(await written()).toHaveLength(1);
});

it('writes one notice of bounded size about ten thousand recipients', async () => {
  const notices = start();
  await failing(10_000);
  await clock.advance(WAIT);
  await notices.look();
  const { report, size, text } = only(await written());
  expect(report.recipients).toHaveLength(100);
  expect(text).toContain('The same goes for 9900 more');
  expect(size).toBeLessThan(64 * 1024);
  await clock.advance(25 * HOUR);
  await notices.look();
  expect(await written()).toHaveLength(1);
}, 120_000);

it('writes so many an hour to one sender, the others later, also after a new start', async () => {
  const notices = start({ perHour: 3 });
  for (let i = 0; i < 5; i += 1) await failing(1);
  await failing(1, { notice: { sender: 'bob@example.com', ret: null, envid: null } });
  await clock.advance(WAIT);
  await notices.look();
  expect(await written()).toHaveLength(4);
  expect([await counted('written'), await counted('put_off')]).toEqual([4, 2]);
  const again = start({ perHour: 3 });
  await again.look();
  expect(await written()).toHaveLength(4);
  await clock.advance(HOUR);
  await again.look();
  expect(await written()).toHaveLength(6);
});

it('drops what found no room for a day, and says so', async () => {
  const notices = start({ perHour: 1 });
  for (let i = 0; i < 30; i += 1) await failing(1);
  for (let hours = 0; hours < 30; hours += 1) {
    await clock.advance(HOUR);
    await notices.look();
  }
  const told = (await written()).length;
  expect(told).toBeGreaterThanOrEqual(24);
  expect(await counted('dropped')).toBe(30 - told);
  expect(warnings.length).toBe(30 - told);
  expect(
    await store.dueNotices({ dueBefore: clock.now() + HOUR, now: clock.now(), limit: 9, maxRecipients: 9 }),
  ).toEqual([]);
});

it('comes back to it where nothing is taken for a while', async () => {
  const notices = start();
  await failing(1);
  await clock.advance(WAIT);
  refusing = 'the disk is nearly full';
  await expect(notices.look()).rejects.toThrow();
  expect(await written()).toEqual([]);
  refusing = null;
  await notices.look();
  expect(await written()).toHaveLength(1);
});

it('gives up where the domain of the sender may not send any more', async () => {
  const notices = start();
  await failing(1);
  await clock.advance(WAIT);
  verified = false;
  await notices.look();
  verified = true;
  await notices.look();
  expect(await written()).toEqual([]);
  expect(await counted('dropped')).toBe(1);
});

it('tells of a delay, and says until when it is tried', async () => {
  const notices = start();
  const result = await store.commitAccepted({
    messages: [
      message({
        notice: { sender: 'ann@example.com', ret: 'FULL', envid: null },
        recipients: [recipient({ state: 'sending', notify: ['delay'] })],
        expiresAt: T0 + 72 * HOUR,
      }),
    ],
    epoch,
    idempotency: null,
  });
  if (result.kind !== 'committed') throw new Error(result.kind);
  const { id } = only(only(result.messages).deliveries);
  await clock.advance(4 * HOUR);
  await settle([{ deliveryId: id, state: 'queued', dueAt: clock.now() + HOUR }]);
  await clock.advance(WAIT);
  await notices.look();
  const { subject, report, text } = only(await written());
  expect(subject).toBe('Delayed mail: Hello');
  expect(report.recipients).toMatchObject([{ action: 'delayed', status: '4.0.0' }]);
  expect(text).toMatch(/^Will-Retry-Until: \w{3}, /m);
  // RET is about failures.
  expect(text).toContain('Content-Type: text/rfc822-headers');
});

it.each([
  ['mx.example.net [192.0.2.1]', 'mx.example.net'],
  ['192.0.2.1', '[192.0.2.1]'],
  ['2001:db8::1', '[IPv6:2001:db8::1]'],
  ['', ''],
])(
  'names the host %j in the form of RFC 3464, and writes no reply code where nobody answered',
  (RemoteMta, name) => {
    const Diagnostic = '0 5.3.4 mx.example.net takes at most 500 octets';
    const bounce: Bounce = {
      ...({ Type: 'Permanent', Class: 'MessageTooLarge', Scope: 'message', Phase: 'Session' } as const),
      ...{ SmtpCode: 0, EnhancedCode: '5.3.4', Diagnostic, RemoteMta },
    };
    const fact = { kind: 'failure', at: T0, state: 'bounced', route: 'mx', expiresAt: T0 } as const;
    const { recipients } = noticeWords(
      {
        ...{ messageSeq: 1, messageId: message().id, subject: 'Hello', createdAt: T0 },
        ...{ sender: 'ann@example.com', ret: null, envid: null, bodyOffset: 0, sandbox: false, upToId: 1 },
        ...{ oldestAt: T0, more: 0, toldThisHour: 0 },
        recipients: [{ ...fact, address: 'a@example.net', orcpt: null, lastReply: null, detail: { bounce } }],
      },
      { hostname: 'mail.example.com', returned: null },
    );
    expect(recipients).toMatchObject([
      {
        status: '5.3.4',
        diagnostic: { type: 'x-postrider', text: 'mx.example.net takes at most 500 octets' },
        remoteMta: name,
      },
    ]);
  },
);

it('brings the header alone of what is too large', async () => {
  const notices = start({ maxWholeBytes: 200 });
  for (const length of [100, 300]) {
    const content = Buffer.from(`Subject: Hello\r\n\r\n${'x'.repeat(60)}\r\n`.padEnd(length, 'y\r\n'));
    const whole = Buffer.concat([content, Buffer.from('\r\n')]);
    await failing(1, { content: whole, notice: { sender: 'ann@example.com', ret: 'FULL', envid: null } });
  }
  await clock.advance(WAIT);
  await notices.look();
  expect((await written()).map(({ text }) => text.includes('message/rfc822')).sort()).toEqual([false, true]);
});

it('goes on by itself between start and stop', async () => {
  const notices = start();
  await failing(1);
  await notices.start();
  // The store answers from its thread, in its own time.
  await vi.waitFor(
    async () => {
      await clock.advance(5_000);
      expect(await written()).toHaveLength(1);
    },
    { timeout: 15_000, interval: 5 },
  );
  await notices.stop(0);
  expect(clock.pendingTimers()).toBe(0);
});

it('goes on with the others where one message cannot be told of, and gives it up after a day', async () => {
  const broken = await failing(1);
  const notices = start(
    {},
    {
      readContent: async (params) => {
        if (params.messageSeq === broken) throw new TypeError('nobody thought of this message');
        return store.readContent(params);
      },
    },
  );
  await failing(1);
  await clock.advance(WAIT);
  await notices.look();
  expect(await written()).toHaveLength(1);
  for (let hours = 0; hours < 27; hours += 1) {
    await clock.advance(HOUR);
    await notices.look();
  }
  expect([await counted('written'), await counted('dropped')]).toEqual([1, 1]);
});
