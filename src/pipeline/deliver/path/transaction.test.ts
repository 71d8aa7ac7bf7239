/** What a transaction tells of TLS to whoever opens the next connection, and when it frees what it has sent. */
import { afterEach, describe, expect, it } from 'vitest';
import { type Script, startScriptedMx } from '../../../../test/fakes/scripted-mx.ts';
import { createTestCa } from '../../../../test/fakes/test-certificates.ts';
import { systemClock } from '../../../lib/clock.ts';
import { openSession } from '../../../smtp/client-session.ts';
import { createTlsContexts } from '../../../smtp/client-tls.ts';
import type { SharedContent } from '../../queue/ready-item.ts';
import { testItem } from '../../queue/test-items.ts';
import { createClassifier } from '../outcome/classifier/classify.ts';
import type { Outcome } from '../outcome/outcome.ts';
import type { Prepared } from '../prepare/prepared.ts';
import { createTransact, endedAtOnce, type TransactionParts } from './transaction.ts';

const ca = createTestCa();
const pair = ca.issue({ names: ['mx.test'] });
const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

const TEXT = Buffer.from('Subject: x\r\n\r\nx\r\n');

/** What is told of a session that meets this script, message by message. */
async function told(script: Script, messages = 1): Promise<(string | null)[]> {
  return (
    await sent(
      script,
      Array.from({ length: messages }, () => ({ content: TEXT })),
    )
  ).heard;
}

/**
 * Sends these messages in a session that meets this script. `held`: as the queue holds it; `unsent`: octets that the socket is
 * said to have yet, because the buffers of the system are too large to fill them.
 */
async function sent(
  script: Script,
  messages: readonly { content: Uint8Array; held?: SharedContent }[],
  unsent = 0,
): Promise<{ heard: (string | null)[]; outcomes: string[]; bodies: number[] }> {
  const mx = await startScriptedMx({ starttls: { do: 'tls', pair }, capabilities: ['STARTTLS'], ...script });
  closing.push(mx);
  const opened = await openSession(
    { host: 'mx.test', address: '127.0.0.1', port: mx.port, implicitTls: false },
    {
      clock: systemClock,
      heloName: 'client.test',
      tls: 'opportunistic',
      tlsContexts: createTlsContexts({ ca: ca.cert }),
    },
  );
  if (opened.kind !== 'open') throw new Error(opened.detail);
  closing.push({ close: () => opened.session.destroy() });
  const heard: (string | null)[] = [];
  const outcomes: string[] = [];
  const nothing = () => {};
  const parts = {
    sitePath: { source: '', site: 'mx.test', provider: null },
    queue: { mayGoOn: () => true, putBack: nothing, giveBack: nothing },
    state: { blocked: () => null },
    clock: systemClock,
    classifier: createClassifier(),
    metrics: { attempted: nothing },
    failpoints: { reach: nothing },
    connector: {
      replied: () => false,
      firstUnderTls: (_: unknown, why: string | null) => void heard.push(why),
    },
    senderEffects: { onOutcome: nothing },
    capacity: { answered: nothing, gates: { messageNotSent: nothing } },
    senderLimits: { cameBack: nothing },
    warm: { onOutcome: nothing, cameBack: nothing },
    notes: { succeeded: nothing },
    links: { busyCount: () => 1, leaveThose: nothing },
    failures: { lostUnder: nothing, endedBetween: nothing },
    finish: (_: unknown, outcome: Outcome) => void outcomes.push(outcome.kind),
    inFlight: { most: () => 0 },
    life: { stopping: false, inFlight: 1 },
  } as unknown as TransactionParts;
  const transact = createTransact(parts);
  const endpoint = { host: 'mx.test', address: '127.0.0.1', port: mx.port, route: 'mx' };
  const farEnd = { took: nothing, droppedBehind: nothing };
  const session = { ...opened.session, unsent: () => opened.session.unsent() + unsent };
  const link = { session, endpoint, farEnd, opening: '', behind: null } as never;
  for (const [n, { content, held = null }] of messages.entries()) {
    const item = testItem({ id: n + 1 }, { content: held });
    const prepared = { item, mailFrom: 'b@client.test', prefix: new Uint8Array(0), content, shared: null };
    await transact(link, prepared as unknown as Prepared, []);
  }
  const bodies = mx.connections.flatMap((one) => one.messages.map(({ length }) => length));
  return { heard, outcomes, bodies };
}

it('tells that a session under TLS ended before it answered its first message', async () => {
  for (const step of ['mail', 'rcpt', 'data'] as const) {
    const [why] = await told({ [step]: { do: 'close' } });
    expect(why).toContain(step);
  }
});

it('tells that it was answered, whatever the answer', async () => {
  expect(await told({})).toEqual([null]);
  expect(await told({ rcpt: '550 5.1.1 no such user' })).toEqual([null]);
});

it('tells nothing of one that ends later, after the message, or by a 421', async () => {
  expect(await told({ mail: ['250 ok', { do: 'close' }] }, 2)).toEqual([null]);
  expect(await told({ dot: { do: 'close' } })).toEqual([]);
  expect(await told({ mail: { do: 'last', reply: '421 4.3.2 later' } })).toEqual([]);
});

const LOST = {
  stage: 'mail',
  reason: 'reset',
  reused: false,
  untried: false,
  afterDot: false,
  reply: null,
} as const;

it('is what ended before an answer, not what a message, the host’s words or we ourselves may have ended', () => {
  for (const stage of ['mail', 'rcpt', 'data'] as const) expect(endedAtOnce({ ...LOST, stage })).toBe(true);
  expect(endedAtOnce({ ...LOST, reason: 'timeout' })).toBe(true);
  for (const stage of ['body', 'dot'] as const) expect(endedAtOnce({ ...LOST, stage })).toBe(false);
  expect(endedAtOnce({ ...LOST, stage: 'dot', afterDot: true })).toBe(false);
  for (const reason of ['421', 'local'] as const) expect(endedAtOnce({ ...LOST, reason })).toBe(false);
  for (const other of ['reused', 'untried'] as const)
    expect(endedAtOnce({ ...LOST, [other]: true })).toBe(false);
});

describe('the content of a message that was sent', () => {
  const SIZE = 20_000;
  const content = (): Uint8Array => Buffer.allocUnsafeSlow(SIZE).fill('a line\r\n');
  const held = (bytes: Uint8Array, mayFree = true) => ({ bytes, size: bytes.length, mayFree, sharers: 1 });

  it('is freed once it is accepted', async () => {
    const messages = [content(), content()].map((bytes) => ({ content: bytes, held: held(bytes) }));
    const { outcomes, bodies } = await sent({}, messages);
    expect(outcomes).toEqual(['delivered', 'delivered']);
    expect(bodies).toEqual([SIZE, SIZE]);
    expect(messages.map((message) => message.content.length)).toEqual([0, 0]);
    expect(messages.map((message) => message.held.size)).toEqual([SIZE, SIZE]);
  });

  it('stays if it was refused, if other recipients need it, or if it is a part of more', async () => {
    const refused = content();
    const { outcomes } = await sent({ dot: '450 4.3.0 later' }, [{ content: refused, held: held(refused) }]);
    expect(outcomes).toEqual(['deferred']);
    const shared = content();
    const part = Buffer.allocUnsafeSlow(2 * SIZE)
      .fill('a line\r\n')
      .subarray(0, SIZE);
    const copy = content();
    const original = content();
    await sent({}, [
      { content: shared, held: held(shared, false) },
      { content: part, held: held(part) },
      { content: copy, held: held(original) },
    ]);
    expect([refused, shared, part, copy, original].map(({ length }) => length)).toEqual(
      Array.from({ length: 5 }, () => SIZE),
    );
  });

  it('stays if another transaction has sent it before', async () => {
    const bytes = content();
    const message = { content: bytes, held: held(bytes) };
    const { outcomes } = await sent({ dot: ['450 4.3.0 later', '250 2.0.0 taken'] }, [message, message]);
    expect(outcomes).toEqual(['deferred', 'delivered']);
    expect(bytes.length).toBe(SIZE);
  });

  it('stays if octets wait in the socket, which reads them by their address', async () => {
    const bytes = content();
    const { outcomes } = await sent({}, [{ content: bytes, held: held(bytes) }], 1);
    expect(outcomes).toEqual(['delivered']);
    expect(bytes.length).toBe(SIZE);
  });
});
