/** Rules of reading what comes back that the scenarios cannot reach cheaply, over a real store and the real readers. */
import { generateKeyPairSync } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { arf, type DsnBlock, dsn } from '../../../test/scenarios/returns-kit.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import { createDkimSigner, signMessage } from '../../mail/dkim.ts';
import { createReturnPathTokens } from '../../mail/verp.ts';
import type { RouteKind } from '../../model/delivery.ts';
import {
  commit,
  delivered,
  event,
  everyEvent,
  message,
  recipient,
  suppressionsOf,
  T0,
} from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createClassifier } from '../deliver/outcome/classifier/classify.ts';
import type { ReturnTarget } from './return-target.ts';
import { createReturnedMailReader, type ReturnedMailReader } from './returned-mail.ts';
import { createReturnMetrics } from './returns-metrics.ts';

const DAY = 24 * 3_600_000;
const classifier = createClassifier();
const tokens = createReturnPathTokens([{ id: 1, secret: new Uint8Array(32).fill(5) }]);
const provider = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PROVIDER_KEY = `v=DKIM1; k=rsa; p=${provider.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`;
let clock: VirtualClock;
let store: Store;
let reader: ReturnedMailReader;
/** The clock goes on by so much with each look at it. */
let eachLookMs: number;
let asked: string[];
/** Facts that were being recorded at the same time, at most. */
let together: number;
let isDnsAway: boolean;

beforeEach(async () => {
  clock = createVirtualClock(T0);
  store = await openTestStore(clock);
  asked = [];
  together = 0;
  isDnsAway = false;
  eachLookMs = 0;
  let looks = 0;
  let recording = 0;
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  reader = createReturnedMailReader({
    store: {
      ...store,
      async recordReturn(params) {
        recording += 1;
        together = Math.max(together, recording);
        return store.recordReturn(params).finally(() => {
          recording -= 1;
        });
      },
    },
    tokens,
    classifier,
    keys: async (name) => {
      asked.push(name);
      if (isDnsAway) return { kind: 'failure' };
      return name === 'fbl._domainkey.arf.mail.yahoo.com'
        ? { kind: 'found', texts: [PROVIDER_KEY] }
        : { kind: 'none' };
    },
    clock: {
      ...clock,
      now: () => {
        looks += eachLookMs;
        return clock.now() + looks;
      },
    },
    random: createSystemRandom(),
    log: silent,
    metrics: createReturnMetrics(new Registry()),
    eventsStored() {},
  });
});
afterEach(async () => {
  await store.close();
});

async function deliver(route: RouteKind = 'mx', addresses = ['ann@reader.example']) {
  const recipients = addresses.map((address) =>
    recipient({ address, domain: 'reader.example', state: 'sending' }),
  );
  const [made] = await commit(store, [message({ recipients })]);
  const ids = (made?.deliveries ?? []).map(({ id }) => id);
  await store.settle({ now: T0, settlements: ids.map((id) => delivered(id, 1, { route })) });
  const subjects = await store.returnSubjects({ messageSeq: made?.seq ?? 0 });
  return { seq: made?.seq ?? 0, ids, id: ids[0] ?? 0, messageId: subjects[0]?.messageId ?? '' };
}
const take = (target: ReturnTarget, text: string | Buffer, from: string | null = null) =>
  reader.take({
    targets: [target],
    envelopeFrom: from,
    bytes: typeof text === 'string' ? Buffer.from(text, 'latin1') : text,
    receivedAt: clock.now(),
  });
const suppressed = async () =>
  (await suppressionsOf(store, { now: clock.now(), limit: 100 })).map(
    ({ address, reason }) => `${address} ${reason}`,
  );
const told = async () =>
  (
    await store.findEvents(
      everyEvent({ kinds: ['bounced', 'complained', 'return_noted', 'auto_reply', 'unsubscribed'] }),
    )
  ).events.map(({ kind, recipient: who }) => `${kind} ${who}`);

it.each([
  ['bounced', dsn([{ recipient: 'ann@reader.example' }])],
  ['complained', arf([])],
] as const)('has no earlier time for what follows from %s', async (kind, text) => {
  eachLookMs = 1;
  const { id } = await deliver();
  await take({ kind: 'delivery', deliveryId: id }, text);
  const { events } = await store.findEvents(everyEvent({ kinds: [kind, 'suppression_added'] }));
  expect(events.map((one) => one.kind)).toEqual([kind, 'suppression_added']);
  expect(events[1]?.at).toBeGreaterThanOrEqual(events[0]?.at ?? Number.NaN);
});

it.each([
  ['MAILER-DAEMON@mx.example', 'x', ['bounced ann@reader.example'], ['ann@reader.example Bounce']],
  ['Bob <bob@reader.example>', 'Fwd: x', ['return_noted ann@reader.example'], []],
])('counts in any language where a mail system sent it: %s', async (from, subject, events, listed) => {
  const { id } = await deliver();
  const text = '配信に失敗しました:\r\n\r\nann@reader.example\r\n\r\n#550 5.1.1 RecipNotFound; not found ##';
  const head = `From: ${from}\r\nSubject: ${subject}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n`;
  await take({ kind: 'delivery', deliveryId: id }, Buffer.from(head + text));
  expect(await told()).toEqual(events);
  expect(await suppressed()).toEqual(listed);
});

describe('a bounce that comes back', () => {
  const cases: [
    what: string,
    blocks: DsnBlock[],
    more: { route?: RouteKind; headers?: string[] },
    events: string[],
    list: string[],
  ][] = [
    ['names the recipient: suppressed', [{ recipient: 'Ann@Reader.Example' }], {}, ['bounced'], ['Bounce']],
    [
      'names a host of the same house: the same person',
      [{ recipient: 'ann@box7.reader.example' }],
      {},
      ['bounced'],
      ['Bounce'],
    ],
    [
      'names another mailbox of the same house, such as a member of a group: nobody',
      [{ recipient: 'bob@reader.example' }],
      {},
      ['bounced'],
      [],
    ],
    [
      'names a host of the same house after a forwarding: nobody',
      [{ recipient: 'ann@box7.reader.example' }],
      { headers: ['Resent-From: ann@reader.example'] },
      ['bounced'],
      [],
    ],
    ['names somebody elsewhere: nobody', [{ recipient: 'ann@elsewhere.example' }], {}, ['bounced'], []],
    [
      'a full mailbox behind a forwarding: nobody',
      [{ recipient: 'bob@reader.example', status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 Mailbox full' }],
      {},
      ['bounced'],
      [],
    ],
    [
      'one of a list failed, another was reached: no bounce',
      [
        { recipient: 'x@reader.example' },
        { recipient: 'y@reader.example', action: 'relayed', status: '2.0.0' },
      ],
      {},
      ['return_noted'],
      [],
    ],
    [
      'about our own server: nobody',
      [
        {
          recipient: 'ann@reader.example',
          status: '5.7.1',
          diagnostic:
            'smtp; 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
        },
      ],
      {},
      ['bounced'],
      [],
    ],
    [
      'of spam: nobody',
      [
        {
          recipient: 'ann@reader.example',
          status: '5.7.1',
          diagnostic: 'smtp; 550 5.7.1 Message rejected as spam',
        },
      ],
      {},
      ['bounced'],
      [],
    ],
    [
      'given up after days of waiting: nobody',
      [{ recipient: 'ann@reader.example', status: '4.4.7', diagnostic: 'smtp; 450 4.4.7 Message expired' }],
      {},
      ['bounced'],
      [],
    ],
    [
      'without any words: nobody',
      [{ recipient: 'ann@reader.example', status: '5.0.0', diagnostic: '' }],
      {},
      ['bounced'],
      [],
    ],
    [
      'a closed mailbox: for a while',
      [
        {
          recipient: 'ann@reader.example',
          status: '5.2.1',
          diagnostic: 'smtp; 550 5.2.1 The account is disabled',
        },
      ],
      {},
      ['bounced'],
      ['Inactive'],
    ],
    [
      'a closed mailbox through a relay: nobody, it may be our account',
      [
        {
          recipient: 'ann@reader.example',
          status: '5.2.1',
          diagnostic: 'smtp; 550 5.2.1 The account is disabled',
        },
      ],
      { route: 'relay' },
      ['bounced'],
      [],
    ],
    [
      'no such user through a relay: suppressed',
      [{ recipient: 'ann@reader.example' }],
      { route: 'relay' },
      ['bounced'],
      ['Bounce'],
    ],
  ];
  for (const [what, blocks, { route, headers }, events, list] of cases) {
    it(what, async () => {
      const { id } = await deliver(route);
      await take({ kind: 'delivery', deliveryId: id }, dsn(blocks, headers === undefined ? {} : { headers }));
      expect(await told()).toEqual(events.map((kind) => `${kind} ann@reader.example`));
      expect(await suppressed()).toEqual(list.map((reason) => `ann@reader.example ${reason}`));
    });
  }

  it('of grouped copies speaks about those it names, and about nobody else', async () => {
    const { seq } = await deliver('mx', ['ann@reader.example', 'bob@reader.example', 'carol@reader.example']);
    const target = { kind: 'message', messageSeq: seq } as const;
    await take(target, dsn([{ recipient: 'stranger@reader.example' }]));
    expect(await told()).toEqual([]);
    await take(
      target,
      dsn([
        { recipient: 'carol@reader.example' },
        { recipient: 'BOB@reader.example', action: 'delayed', status: '4.4.1' },
      ]),
    );
    expect((await told()).sort()).toEqual([
      'bounced carol@reader.example',
      'return_noted bob@reader.example',
    ]);
    await take(target, 'Subject: Out of office\r\n\r\nx');
    expect(await told()).toHaveLength(2);
  });
});

describe('a bounce at a return path that several recipients share', () => {
  it('is recorded for as many as it names, some of them together', async () => {
    const addresses = Array.from({ length: 150 }, (_, i) => `reader${i}@reader.example`);
    const { seq } = await deliver('mx', addresses);
    await take({ kind: 'message', messageSeq: seq }, dsn(addresses.map((each) => ({ recipient: each }))));
    const { events } = await store.findEvents(everyEvent({ kinds: ['bounced'], limit: 1000 }));
    expect(events).toHaveLength(150);
    expect(together).toBe(64);
  });

  const unknown = dsn([{ recipient: 'victim@reader.example' }], {
    headers: ['From: Sender <sender@example.com>', 'Message-ID: <1@example.com>'],
  });

  it('is told of the recipient it names and suppresses nobody: any of the others can write it', async () => {
    const { seq } = await deliver('mx', ['mallory@reader.example', 'victim@reader.example']);
    for (let n = 0; n < 3; n += 1) await take({ kind: 'message', messageSeq: seq }, unknown);
    expect(await told()).toEqual(['bounced victim@reader.example']);
    expect(await suppressed()).toEqual([]);
    const { events } = await store.findEvents(everyEvent({ kinds: ['bounced'] }));
    expect(events[0]?.detail?.reason).toMatch(/^Other recipients know this return path, .*550 5\.1\.1/);
    // The next message has a return path that only its recipient's servers know.
    const { id } = await deliver('mx', ['victim@reader.example']);
    await take({ kind: 'delivery', deliveryId: id }, unknown);
    expect(await suppressed()).toEqual(['victim@reader.example Bounce']);
  });

  it('and a complaint or an answer there is nobody’s, even if one recipient is left', async () => {
    const { seq } = await deliver('mx', ['victim@reader.example']);
    const target = { kind: 'message', messageSeq: seq } as const;
    expect(await take(target, arf(['Subject: News']))).toMatchObject({ kind: 'keep' });
    await take(target, 'Subject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nx');
    expect(await told()).toEqual([]);
    expect(await suppressed()).toEqual([]);
  });
});

describe('a complaint with a Message-ID alone', () => {
  const signed = async (text: string, domain = 'arf.mail.yahoo.com'): Promise<Buffer> => {
    const bytes = Buffer.from(text, 'latin1');
    const signer = createDkimSigner({
      domain,
      selector: 'fbl',
      privateKey: provider.privateKey,
    });
    const bodyOffset = bytes.indexOf('\r\n\r\n') + 4;
    const header = await signMessage(bytes, bodyOffset, [signer], { nowMs: clock.now() });
    return Buffer.concat([header, bytes]);
  };
  const report = (messageId: string) => arf([`Message-ID: <${messageId}@example.com>`]);

  it('counts under a provider’s signature, of a message with one recipient', async () => {
    const one = await deliver();
    const two = await deliver('mx', ['bob@reader.example', 'carol@reader.example']);
    const target = { kind: 'feedback', provider: '' } as const;
    expect(await take(target, report(one.messageId))).toMatchObject({ kind: 'keep', folder: 'unattributed' });
    expect(await take(target, await signed(report(one.messageId), 'example.org'))).toMatchObject({
      kind: 'keep',
    });
    const broken = (await signed(report(one.messageId)))
      .toString('latin1')
      .replace('spam report', 'x')
      .replace('abuse report', 'abuse  Report');
    expect(await take(target, Buffer.from(broken, 'latin1'))).toMatchObject({ kind: 'keep' });
    expect(await take(target, await signed(report(two.messageId)))).toMatchObject({ kind: 'keep' });
    expect(await suppressed()).toEqual([]);
    expect(await take(target, await signed(report(one.messageId)))).toEqual({ kind: 'done' });
    expect(await suppressed()).toEqual(['ann@reader.example Complaint']);
    // A stranger's signature made us ask nobody.
    expect(new Set(asked)).toEqual(new Set(['fbl._domainkey.arf.mail.yahoo.com']));
  });

  it('waits a quarter of an hour while the key cannot be looked up', async () => {
    const { messageId } = await deliver();
    const bytes = await signed(report(messageId));
    const targets: ReturnTarget[] = [{ kind: 'feedback', provider: '' }];
    const takeAfter = (ms: number) =>
      reader.take({ targets, envelopeFrom: null, bytes, receivedAt: clock.now() - ms });
    isDnsAway = true;
    expect(await takeAfter(14 * 60_000)).toEqual({ kind: 'later', about: [] });
    expect(await takeAfter(15 * 60_000)).toMatchObject({ kind: 'keep', folder: 'unattributed' });
    isDnsAway = false;
    expect(await takeAfter(14 * 60_000)).toEqual({ kind: 'done' });
  });

  it('has its signature verified once, however many addresses it was sent to', async () => {
    const { ids, messageId } = await deliver();
    const targets: ReturnTarget[] = [
      ...Array.from({ length: 5 }, (_, i) => ({ kind: 'feedback', provider: `x${i}` }) as const),
      ...Array.from({ length: 5 }, () => ({ kind: 'delivery', deliveryId: ids[0] ?? 0 }) as const),
    ];
    const bytes = await signed(report(messageId));
    expect(await reader.take({ targets, envelopeFrom: null, bytes, receivedAt: clock.now() })).toEqual({
      kind: 'done',
    });
    expect(asked).toEqual(['fbl._domainkey.arf.mail.yahoo.com']);
    expect(await told()).toEqual(['complained ann@reader.example']);
  });

  it('does not count sixty days later, nor does a token', async () => {
    const { id, messageId } = await deliver();
    clock.jumpWallTo(T0 + 61 * DAY);
    const target = { kind: 'feedback', provider: '' } as const;
    expect(await take(target, await signed(report(messageId)))).toMatchObject({ kind: 'keep' });
    expect(await take(target, arf([`X-Postrider-Ref: ${tokens.ref(id)}`]))).toMatchObject({ kind: 'keep' });
    expect(await suppressed()).toEqual([]);
  });
});

describe('a report about a message that was deleted', () => {
  it.each(['abuse', 'opt-out', 'not-spam'])(
    'of the type %s counts as its unsubscribe link does',
    async (type) => {
      const [made] = await commit(store, [
        message({
          recipients: [
            recipient({ address: 'ann@reader.example', domain: 'reader.example', state: 'sending' }),
          ],
          places: {
            host: 'mail.example',
            places: [{ kind: 'unsubscribe', offset: 20, link: 0, digest: '' }],
          },
        }),
      ]);
      const [{ id = 0 } = {}] = made?.deliveries ?? [];
      await store.settle({ now: T0, settlements: [delivered(id)] });
      await store.purgeMessages({ seqs: [made?.seq ?? 0], maxRows: 100 });
      const about = arf([`X-Postrider-Ref: ${tokens.ref(id)}`], { type });
      for (let time = 0; time < 2; time += 1)
        expect(await take({ kind: 'feedback', provider: '' }, about)).toEqual({ kind: 'done' });
      const wishes = type === 'not-spam' ? [] : ['ann@reader.example Unsubscribe'];
      expect(await suppressed()).toEqual(wishes);
      expect(await told()).toHaveLength(wishes.length);
    },
  );
});

describe('a complaint of a person who was erased', () => {
  it('is kept nowhere', async () => {
    const { id, seq } = await deliver();
    await store.eraseMessages({ address: 'ann@reader.example', seqs: [seq] });
    const before = await store.findEvents(everyEvent());
    const about = arf([`X-Postrider-Ref: ${tokens.ref(id)}`]);
    expect(await take({ kind: 'feedback', provider: '' }, about)).toEqual({ kind: 'done' });
    expect(await take({ kind: 'operator', name: 'abuse' }, about)).toEqual({ kind: 'done' });
    expect(await store.findEvents(everyEvent())).toEqual(before);
    expect(await suppressed()).toEqual([]);
  });
});

describe('a complaint in another form or at another address', () => {
  const attached = (fields: string[]) =>
    [
      ...['From: staff@hotmail.com', 'Subject: complaint about message from 192.0.2.1', 'MIME-Version: 1.0'],
      ...['Content-Type: multipart/mixed; boundary=b', '', '--b', 'Content-Type: message/rfc822', ''],
      ...[...fields, 'Subject: News', '', 'Hello', '--b--', ''],
    ].join('\r\n');

  it('counts where the reported message is attached without a report', async () => {
    const { id } = await deliver();
    const target = { kind: 'feedback', provider: 'microsoft' } as const;
    expect(await take(target, attached([]))).toMatchObject({ kind: 'keep', folder: 'unattributed' });
    const bounce = dsn([{ recipient: 'ann@reader.example' }]).replace(
      /(message\/rfc822|text\/rfc822-headers)\r\n\r\n/,
      `message/rfc822\r\n\r\nX-Postrider-Ref: ${tokens.ref(id)}\r\n`,
    );
    expect(await take(target, bounce)).toMatchObject({ kind: 'keep' });
    expect(await suppressed()).toEqual([]);
    expect(await take(target, attached([`X-Postrider-Ref: ${tokens.ref(id)}`]))).toEqual({ kind: 'done' });
    expect(await suppressed()).toEqual(['ann@reader.example Complaint']);
  });

  it('counts at abuse@ where it has a token, and is left to the operator otherwise', async () => {
    const { id } = await deliver();
    const target = { kind: 'operator', name: 'abuse' } as const;
    const reference = `X-Postrider-Ref: ${tokens.ref(id)}`;
    for (const text of [arf(['Subject: News']), attached([reference])])
      expect(await take(target, text)).toMatchObject({ kind: 'keep', folder: 'operator' });
    expect(await suppressed()).toEqual([]);
    expect(await take(target, arf([reference]))).toEqual({ kind: 'done' });
    expect(await suppressed()).toEqual(['ann@reader.example Complaint']);
  });
});

describe('opting out by mail', () => {
  it('needs a person: reports and automatic replies to that address are nobody’s wish', async () => {
    const { id } = await deliver();
    const target = { kind: 'unsubscribe', deliveryId: id } as const;
    await take(target, 'Subject: x\r\n\r\n', null);
    await take(target, dsn([{ recipient: 'ann@reader.example' }]), 'daemon@reader.example');
    await take(target, 'Subject: Out of office\r\n\r\n', 'ann@reader.example');
    expect(await told()).toEqual([]);
    await take(target, 'Subject: unsubscribe\r\n\r\n', 'ann@reader.example');
    expect(await told()).toEqual(['unsubscribed ann@reader.example']);
    expect(await suppressed()).toEqual(['ann@reader.example Unsubscribe']);
  });

  it.each([
    ['by mail', 'unsubscribe', 'Subject: unsubscribe\r\n\r\n'],
    ['through a provider', 'feedback', null],
  ] as const)('holds again %s after somebody was taken off the list', async (_, kind, mail) => {
    const { id } = await deliver();
    const target: ReturnTarget =
      kind === 'feedback' ? { kind, provider: '' } : { kind: 'unsubscribe', deliveryId: id };
    const wish = mail ?? arf([`X-Postrider-Ref: ${tokens.ref(id)}`], { type: 'opt-out' });
    const optOut = () => take(target, wish, 'ann@reader.example');
    await optOut();
    await optOut();
    const params = { domain: 'example.com', address: 'ann@reader.example', now: clock.now() };
    expect(await store.removeSuppressions(params)).toBe(1);
    await optOut();
    expect(await suppressed()).toEqual(['ann@reader.example Unsubscribe']);
    expect(await told()).toEqual(Array(2).fill('unsubscribed ann@reader.example'));
  });

  it('is told once where somebody also followed the link', async () => {
    const { id } = await deliver();
    const link = { ...{ deliveryId: id, rule: 'one-click', now: clock.now() }, event: event('unsubscribed') };
    expect((await store.unsubscribe(link)).kind).toBe('unsubscribed');
    await take({ kind: 'unsubscribe', deliveryId: id }, 'Subject: unsubscribe\r\n\r\n', 'ann@reader.example');
    expect(await told()).toEqual(['unsubscribed ann@reader.example']);
  });
});
