/**
 * Ten thousand forged, altered and replayed reports through the real readers into a real store: nobody is suppressed but
 * the recipient of a token that verifies, and a replay acts once. Counted at the list of suppressions and in the events.
 */
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arf, dsn } from '../../../test/scenarios/returns-kit.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { createReturnPathTokens } from '../../mail/verp.ts';
import {
  commitOne,
  delivered,
  everyEvent,
  recipient,
  suppressionsOf,
  T0,
} from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createClassifier } from '../deliver/outcome/classifier/classify.ts';
import { returnTarget } from './return-target.ts';
import { createReturnedMailReader, type ReturnedMailReader } from './returned-mail.ts';
import { createReturnMetrics } from './returns-metrics.ts';

const REPORTS = 10_000;
const RECIPIENTS = 200;
const key = { id: 3, secret: new Uint8Array(32).fill(9) };
const ours = createReturnPathTokens([key]);
const theirs = createReturnPathTokens([{ id: 3, secret: new Uint8Array(32).fill(8) }]);
let store: Store;
let reader: ReturnedMailReader;
const rows: { id: number; address: string; messageId: string }[] = [];

/** A repeatable sequence: a failure can be looked at again. */
let seed = 20_261_121;
const next = (below: number): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const pick = <T>(items: readonly T[]): T => items[next(items.length)] as T;

beforeAll(async () => {
  const clock = createVirtualClock(T0 + 1000);
  store = await openTestStore(clock);
  for (let i = 0; i < RECIPIENTS; i += 1) {
    const address = `reader${i}@reader.example`;
    const { id } = await commitOne(store, {
      recipients: [recipient({ address, domain: 'reader.example', state: 'sending' })],
    });
    await store.settle({ now: T0, settlements: [delivered(id)] });
    const [subject] = await store.returnSubjects({ deliveryId: id });
    rows.push({ id, address, messageId: subject?.messageId ?? '' });
  }
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  reader = createReturnedMailReader({
    store,
    tokens: ours,
    classifier: createClassifier(),
    keys: async () => ({ kind: 'none' }),
    clock,
    random: createSystemRandom(),
    log: silent,
    metrics: createReturnMetrics(new Registry()),
    eventsStored: () => undefined,
  });
});

afterAll(async () => {
  await store.close();
});

/** One character of a token changed to another of its alphabet. */
function altered(token: string): string {
  const at = 2 + next(token.length - 2);
  const other = pick([...'0123456789abcdefghjkmnpqrstvwxyz'].filter((c) => c !== token[at]));
  return token[at] === '-' ? `${token}0` : token.slice(0, at) + other + token.slice(at + 1);
}

/** A token that nobody but a forger would write. */
function forged(letter: 'b' | 'g' | 'u', id: number): string {
  switch (next(4)) {
    case 0:
      return altered(ours.make(letter, id));
    case 1:
      return theirs.make(letter, id);
    case 2:
      // Bound to its use: a reference is no return path.
      return `${letter}-${ours.ref(id)}`;
    default:
      return ours.make(letter, id).replace(letter, letter === 'b' ? 'u' : 'b');
  }
}

const forgedRef = (id: number): string =>
  pick([altered(ours.ref(id)), theirs.ref(id), ours.make('b', id).slice(2), ours.make('u', id).slice(2), '']);

const failure = (address: string) =>
  dsn([{ recipient: address, original: address }, { recipient: pick(rows).address }], {
    headers: [`X-Postrider-Ref: ${forgedRef(pick(rows).id)}`, `To: ${address}`],
  });

/** What a peer can do: the port verifies the address, and only then is the message read. */
async function handIn(local: string, text: string): Promise<'refused' | 'read'> {
  const target = returnTarget(local, ours);
  if (target === null) return 'refused';
  await reader.take({
    targets: [target],
    envelopeFrom: null,
    bytes: Buffer.from(text, 'latin1'),
    receivedAt: T0,
  });
  return 'read';
}

const suppressions = async () =>
  (await suppressionsOf(store, { now: T0, limit: 10_000 }))
    .map(({ address, reason }) => `${address} ${reason}`)
    .sort();

describe('forged feedback', () => {
  it('suppresses nobody; with a valid token it reaches that token’s recipient alone, and a replay acts once', async () => {
    const victims = rows.slice(0, RECIPIENTS - 20);
    let refused = 0;
    for (let i = 0; i < REPORTS; i += 1) {
      const victim = pick(victims);
      switch (next(4)) {
        case 0:
          refused += (await handIn(forged('b', victim.id), failure(victim.address))) === 'refused' ? 1 : 0;
          break;
        case 1:
          refused +=
            (await handIn(forged('u', victim.id), 'Subject: unsubscribe\r\n\r\n')) === 'refused' ? 1 : 0;
          break;
        case 2: {
          const report = arf(
            [
              `X-Postrider-Ref: ${forgedRef(victim.id)}`,
              `Message-ID: <${victim.messageId}@example.com>`,
              `To: ${victim.address}`,
            ],
            {
              fields: [
                `Original-Rcpt-To: ${victim.address}`,
                `Original-Mail-From: <${forged('b', victim.id)}@bounces.example.com>`,
              ],
            },
          );
          await handIn('fbl', report);
          break;
        }
        default:
          // A report of failure where complaints are taken, and one that only looks like a complaint.
          await handIn('fbl-provider', failure(victim.address));
      }
    }
    expect(refused).toBeGreaterThan(REPORTS / 4);
    expect(await suppressions()).toEqual([]);
    const { events: acted } = await store.findEvents(
      everyEvent({
        kinds: ['bounced', 'complained', 'unsubscribed', 'auto_reply', 'return_noted', 'suppression_added'],
      }),
    );
    expect(acted).toEqual([]);

    const [bouncing, complaining, leaving] = rows.slice(-3) as [
      (typeof rows)[0],
      (typeof rows)[0],
      (typeof rows)[0],
    ];
    for (let i = 0; i < 50; i += 1) {
      // The text names others; the token does not.
      await handIn(
        ours.make('b', bouncing.id),
        failure(pick([bouncing.address, bouncing.address, pick(victims).address])),
      );
      await handIn(
        'fbl',
        arf([`X-Postrider-Ref: ${ours.ref(complaining.id)}`], {
          fields: [`Original-Rcpt-To: ${pick(victims).address}`],
        }),
      );
      const optOut = { kind: 'unsubscribe', deliveryId: leaving.id } as const;
      await reader.take({
        targets: [optOut],
        envelopeFrom: 'x@reader.example',
        bytes: Buffer.from(`From: ${pick(victims).address}\r\n\r\n`),
        receivedAt: T0,
      });
    }
    expect(await suppressions()).toEqual(
      [
        `${bouncing.address} Bounce`,
        `${complaining.address} Complaint`,
        `${leaving.address} Unsubscribe`,
      ].sort(),
    );
    const count = async (kind: 'bounced' | 'complained' | 'unsubscribed') =>
      (await store.findEvents(everyEvent({ kinds: [kind] }))).events.map((event) => event.recipient);
    expect(await count('bounced')).toEqual([bouncing.address]);
    expect(await count('complained')).toEqual([complaining.address]);
    expect(await count('unsubscribed')).toEqual([leaving.address]);
  });
});
