/**
 * The same random operations on SQLite and on PostgreSQL, one after the other: every answer must be the same. Numbers
 * that an engine gives out itself are compared by the order in which they first appear. A difference is told with the
 * operations before it, and the seed that plays them again.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { EventKind } from '../../src/model/event.ts';
import { SCHEDULED } from '../../src/model/wait-reason.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import {
  event,
  idempotency,
  message,
  newId,
  openedBy,
  recipient,
  signal,
  T0,
  webhook,
} from '../../src/store/conformance/fixtures.ts';
import {
  describePostgres,
  openedStore,
  type TestDatabase,
  testDatabase,
} from '../../src/store/postgres/test-support.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { MessageView } from '../../src/store/topics/messages.ts';
import type { Settlement } from '../../src/store/topics/queue.ts';
import type { CallSettlement, ClaimedCall } from '../../src/store/topics/webhooks.ts';

const SEEDS = Number(process.env.ENGINE_SEEDS ?? 12);
const FIRST = Number(process.env.ENGINE_SEED ?? 1);
const STEPS = 150;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const SENDERS = ['a.example', 'b.example'];
const DOMAINS = ['one.test', 'two.test', 'three.test'];
const PEOPLE = ['ann', 'bob', 'cy'];
const TAGS = ['welcome', 'news', 'x'];
const KINDS: readonly EventKind[] = ['delivered', 'deferred', 'bounced', 'failed', 'opened', 'complained'];

/** Of SQLite and of PostgreSQL, for the same thing. */
type Pair = readonly [number, number];
/** What a member of an answer is a number of; the same number of two kinds may be two things. */
type Kinds = Readonly<Record<string, string>>;

interface Leased {
  id: Pair;
  epoch: Pair;
}

const MESSAGE_KINDS: Kinds = { seq: 'message', nextSeq: 'message', deliveryId: 'delivery', causeId: 'cause' };
const EVENT_KINDS: Kinds = { seq: 'event', deliveryId: 'delivery', webhookId: 'hook' };
const ROW_KINDS: Kinds = { id: 'delivery', queueId: 'queue', messageSeq: 'message', epoch: 'epoch' };
const CAUSE_KINDS: Kinds = { id: 'cause', deliveryId: 'delivery', messageSeq: 'message' };
const CALL_KINDS: Kinds = {
  ...{
    id: 'call',
    'webhook.id': 'hook',
    epoch: 'epoch',
    eventSeq: 'event',
    seq: 'event',
    deliveryId: 'delivery',
  },
};

interface QueueName {
  senderDomain: string;
  recipientDomain: string;
  lane: string;
  sandbox: boolean;
  nextDueAt?: number;
}

/** Those that are due at the same time come in the order of their numbers, which need not be alike. */
function inOrder<Queue extends QueueName>(queues: readonly Queue[]): readonly Queue[] {
  const place = ({ senderDomain, recipientDomain, lane, sandbox, nextDueAt = 0 }: Queue) =>
    `${nextDueAt} ${senderDomain} ${recipientDomain} ${lane} ${sandbox}`;
  return queues.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}

function causeName({ site, shape, category }: { site: string; shape: string; category: string }): string {
  return `${site} ${shape} ${category}`;
}

/** How many of each kind in each interval. */
function sumOf(counts: readonly { at: number; kind: string; n: number }[]): string {
  const sums = new Map<string, number>();
  for (const { at, kind, n } of counts) sums.set(`${at} ${kind}`, (sums.get(`${at} ${kind}`) ?? 0) + n);
  return JSON.stringify([...sums].toSorted());
}

async function play(seed: number, stores: readonly [Store, Store]): Promise<void> {
  const dice = createDice(seed);
  const done: string[] = [];
  /** Of each engine: kind and number, to the place in which it appeared. */
  const labels = [new Map<string, number>(), new Map<string, number>()] as const;
  let now = T0;
  let epoch: Pair = [0, 0];
  const messages: { id: string; domain: string; seq: Pair; deliveries: Pair[] }[] = [];
  let leased: Leased[] = [];
  /** Settled already, and once more. */
  const late = new Set<Leased>();
  const hooks: Pair[] = [];
  let calls: (Leased & { hook: Pair; tries: number })[] = [];

  function labelled(engine: 0 | 1, value: unknown, kinds: Kinds, key = '', within = ''): unknown {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (Array.isArray(value)) return value.map((one) => labelled(engine, one, kinds, key, within));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value)
          .filter(([, one]) => one !== undefined)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, one]) => [name, labelled(engine, one, kinds, name, key)]),
      );
    const kind = kinds[`${within}.${key}`] ?? kinds[key];
    if (kind === undefined || typeof value !== 'number') return value;
    const name = `${kind} ${value}`;
    const known = labels[engine];
    if (!known.has(name)) known.set(name, known.size);
    return `${kind} ${known.get(name)}`;
  }

  /** The answers of both, which are the same. */
  async function both<Result>(
    what: string,
    kinds: Kinds,
    ask: (store: Store, engine: 0 | 1) => Promise<Result>,
  ): Promise<readonly [Result, Result] | null> {
    done.push(what);
    const answers = await Promise.all(
      ([0, 1] as const).map((engine) =>
        ask(stores[engine], engine).then(
          (answer) => ({ answer }),
          (cause: unknown) => ({ error: (cause as Error).constructor.name, cause }),
        ),
      ),
    );
    const [first, second] = answers.map((one, engine) =>
      'error' in one ? { error: one.error } : labelled(engine as 0 | 1, one.answer, kinds),
    );
    const broken = answers.find((one) => 'error' in one && one.error === 'TypeError');
    if (broken !== undefined && 'cause' in broken) throw broken.cause;
    expect(second, `seed ${seed} after\n${done.slice(-12).join('\n')}`).toEqual(first);
    const [one, two] = answers;
    return one !== undefined && two !== undefined && 'answer' in one && 'answer' in two
      ? [one.answer, two.answer]
      : null;
  }

  const some = <Item>(list: readonly Item[], share: number) => list.filter(() => dice.chance(share));
  const maybe = <Value>(share: number, value: () => Value): Value | undefined =>
    dice.chance(share) ? value() : undefined;
  const address = () => `${dice.pick(PEOPLE)}@${dice.pick(DOMAINS)}`;

  async function begin(): Promise<void> {
    const at = now;
    const begun = await both('beginEpoch', {}, async (store) => {
      await store.beginEpoch({ nodeId: 'node', now: at });
      return null;
    });
    expect(begun).not.toBeNull();
    // The number is not an answer to compare: it may differ.
    const rows = await Promise.all(stores.map((store) => store.listNodes({ limit: 1 })));
    epoch = [rows[0]?.[0]?.epoch ?? 0, rows[1]?.[0]?.epoch ?? 0];
  }

  async function accept(): Promise<void> {
    const domain = dice.pick(SENDERS);
    const isScheduled = dice.chance(0.2);
    const dueAt = isScheduled ? now + dice.pick([MINUTE, HOUR]) : now;
    const made = Array.from({ length: dice.pick([1, 1, 2]) }, () => {
      const people = [...new Set(Array.from({ length: dice.whole(1, 3) }, address))];
      return message({
        ...{ domain, createdAt: now, expiresAt: dueAt + dice.pick([10 * MINUTE, HOUR, DAY]) },
        ...{ lane: dice.pick(['critical', 'normal', 'bulk'] as const), tags: some(TAGS, 0.3) },
        ...{ sandbox: dice.chance(0.1), keepContent: dice.chance(0.7) },
        metadata: dice.chance(0.2) ? { order: dice.pick(['1', '2']) } : {},
        subject: dice.pick(['Hello', 'Grüße aus Köln', 'a %_ b']),
        recipients: people.map((one) => {
          const state = isScheduled
            ? 'queued'
            : dice.pick(['queued', 'queued', 'sending', 'suppressed'] as const);
          return recipient({
            ...{ address: one, domain: one.slice(one.indexOf('@') + 1), state, dueAt },
            waitReason: isScheduled ? SCHEDULED : null,
            events: [
              event(isScheduled ? 'scheduled' : state === 'suppressed' ? 'suppressed' : 'accepted', now),
            ],
            ...(dice.chance(0.2) ? { notify: ['failure', 'delay'] as const } : {}),
          });
        }),
      });
    });
    const key = maybe(0.2, () =>
      idempotency({ key: dice.pick(['k1', 'k2', 'k3']), createdAt: now, expiresBefore: now - DAY }),
    );
    const answers = await both(
      `accept ${made.map(({ recipients }) => recipients.map(({ state }) => state).join('+')).join(', ')}`,
      { seq: 'message', id: 'delivery', queueId: 'queue' },
      (store, engine) =>
        store.commitAccepted({ messages: made, epoch: epoch[engine], idempotency: key ?? null }),
    );
    const [one, two] = answers ?? [];
    if (one?.kind !== 'committed' || two?.kind !== 'committed') return;
    made.forEach(({ id, domain, recipients }, i) => {
      const pairs = recipients.map((_, j): Pair => {
        const ids = [one, two].map((answer) => answer.messages[i]?.deliveries[j]?.id ?? 0);
        return [ids[0] ?? 0, ids[1] ?? 0];
      });
      messages.push({
        id,
        domain,
        seq: [one.messages[i]?.seq ?? 0, two.messages[i]?.seq ?? 0],
        deliveries: pairs,
      });
      recipients.forEach(({ state }, j) => {
        const pair = pairs[j];
        if (state === 'sending' && pair !== undefined) leased.push({ id: pair, epoch });
      });
    });
  }

  function take(rows: readonly [readonly { id: number }[], readonly { id: number }[]] | null): void {
    rows?.[0].forEach(({ id }, i) => {
      leased.push({ id: [id, rows[1][i]?.id ?? 0], epoch });
    });
  }

  async function claim(): Promise<void> {
    const dueBefore = now + dice.pick([0, MINUTE]);
    const hints = await both('dueQueues', { queueId: 'queue' }, (store) =>
      store.dueQueues({ dueBefore, limit: 100 }).then(inOrder),
    );
    if (hints === null || hints[0].length === 0) return;
    const place = dice.whole(0, hints[0].length - 1);
    const limit = dice.pick([1, 2, 100]);
    const maxBytes = dice.pick([1, 60, 1e9]);
    const eventId = newId();
    const at = now;
    take(
      await both(`claimDue ${place} limit ${limit} bytes ${maxBytes}`, ROW_KINDS, (store, engine) =>
        store.claimDue({
          ...{ queueId: hints[engine][place]?.queueId ?? 0, epoch: epoch[engine], now: at, limit },
          ...{ maxBytes, eventId },
        }),
      ),
    );
  }

  function settlementOf(one: Leased, state: Settlement['state'], more: Partial<Settlement>) {
    return (engine: 0 | 1): Settlement => ({
      ...{ deliveryId: one.id[engine], epoch: one.epoch[engine], state, countAttempt: true, events: [] },
      ...more,
    });
  }

  async function settle(): Promise<void> {
    const ended = some(leased, 0.6);
    leased = leased.filter((one) => !ended.includes(one) || dice.chance(0.05));
    // Those of one call are stored in any order; by their times, events have one.
    const settlements = ended.map((one, i) => {
      const state = dice.pick(['delivered', 'delivered', 'bounced', 'failed', 'queued', 'queued'] as const);
      const kind = state === 'queued' ? 'deferred' : state;
      const reply = dice.pick(['250 2.0.0 Ok', '451 4.7.1 Try later', '550 5.1.1 No such user']);
      const cause = { category: 'recipient_invalid', scope: 'recipient' as const, site: dice.pick(DOMAINS) };
      return settlementOf(one, state, {
        ...{
          lastCode: Number(reply.slice(0, 3)),
          lastReply: reply,
          route: dice.pick(['mx', 'relay'] as const),
        },
        events: dice.chance(0.95) ? [event(kind, now - ended.length + i, { notify: dice.chance(0.5) })] : [],
        ...(state === 'queued'
          ? {
              dueAt: now + dice.pick([MINUTE, HOUR]),
              waitReason: dice.pick(['deferred', 'path: it fails', null]),
            }
          : {}),
        ...(dice.chance(0.2) ? { mayBeDuplicate: true } : {}),
        ...(state !== 'delivered' && dice.chance(0.6)
          ? { cause: { ...cause, senderDomain: '', shape: reply, reply } }
          : {}),
        ...(state === 'bounced' && dice.chance(0.5)
          ? {
              suppress: signal({
                expiresAt: dice.pick([null, now + HOUR]),
                needs: dice.pick([null, { days: 2, spanMs: DAY }]),
                event: event('suppression_added', now - ended.length + i),
              }),
            }
          : {}),
      });
    });
    // Those of one call are stored in any order, which makes a difference for a lost lease, or a count that a delivery ends.
    const isHeld = ended.map((one) => one.epoch === epoch && !late.has(one));
    for (const one of ended) late.add(one);
    const at = now;
    const store = async (made: typeof settlements) =>
      both(`settle ${made.length}`, {}, (store, engine) =>
        store.settle({ settlements: made.map((make) => make(engine)), now: at }),
      );
    const isAlone = settlements.map((make, k) => !isHeld[k] || make(0).suppress !== undefined);
    await store(settlements.filter((_, k) => !isAlone[k]));
    for (const make of settlements.filter((_, k) => isAlone[k])) await store([make]);
  }

  async function release(): Promise<void> {
    const given = some(leased, 0.4).filter(({ epoch: of }) => of === epoch);
    leased = leased.filter((one) => !given.includes(one));
    const dueAt = now + dice.pick([0, MINUTE]);
    const waitReason = dice.pick([null, 'path: closed', 'held: a hold']);
    await both(`release ${given.length}`, {}, (store, engine) =>
      store.release({
        ...{ deliveryIds: given.map(({ id }) => id[engine]), epoch: epoch[engine], dueAt, waitReason },
      }),
    );
  }

  async function claimExpired(): Promise<void> {
    const eventId = newId();
    const at = now;
    take(
      await both('claimExpired', ROW_KINDS, (store, engine) =>
        store.claimExpired({ epoch: epoch[engine], now: at, limit: 10, eventId }),
      ),
    );
  }

  async function restart(): Promise<void> {
    await begin();
    const at = now;
    await both('reclaim', {}, (store) => store.reclaim({ now: at, limit: 1_000 }));
  }

  async function changeMessage(): Promise<void> {
    if (messages.length === 0) return;
    const { seq, deliveries } = dice.pick(messages);
    const what = dice.pick(['cancel', 'requeue', 'reschedule'] as const);
    const at = now;
    const given = some(deliveries, 0.8);
    const events = given.map(() =>
      event(what === 'cancel' ? 'canceled' : what === 'requeue' ? 'requeued' : 'scheduled', at),
    );
    const recipients = (engine: 0 | 1) =>
      given.map((pair, i) => ({ deliveryId: pair[engine], event: events[i] ?? event('canceled', at) }));
    const sendAt = now + dice.pick([MINUTE, HOUR]);
    await both(what, { changed: 'delivery' }, async (store, engine) => {
      const common = { messageSeq: seq[engine], now: at, recipients: recipients(engine) };
      if (what === 'cancel') return store.cancelQueued(common);
      if (what === 'requeue') return store.requeue({ ...common, expiresAt: at + HOUR });
      return store.reschedule({ ...common, sendAt, expiresAt: sendAt + DAY, date: '' });
    });
  }

  async function suppress(): Promise<void> {
    const domain = dice.pick(SENDERS);
    const one = dice.chance(0.1) ? address().toUpperCase() : address();
    const at = now;
    if (dice.chance(0.6)) {
      const reason = dice.pick(['Manual', 'Complaint'] as const);
      const entries = [
        { address: one, reason, note: '', expiresAt: dice.pick([null, at + HOUR]), source: null },
      ];
      await both('addSuppressions', {}, (store) => store.addSuppressions({ domain, entries, now: at }));
    } else {
      const eventIds = [newId(), newId()];
      await both('removeSuppressions', {}, (store) =>
        store.removeSuppressions({ domain, address: one, now: at, eventIds }),
      );
    }
    const addresses = some(
      PEOPLE.flatMap((name) => DOMAINS.map((where) => `${name}@${where}`)),
      0.5,
    );
    const kinds = { id: 'suppression', deliveryId: 'delivery' };
    await both('suppressedAmong', kinds, (store) => store.suppressedAmong({ domain, addresses, now: at }));
  }

  async function changeWebhook(): Promise<void> {
    const at = now;
    if (hooks.length === 0 || dice.chance(0.2)) {
      const fresh = webhook({
        ...{ domain: dice.pick(SENDERS), createdAt: at, maxPerDomain: 4 },
        events: dice.pick([['all'], ['delivery'], ['bounce', 'open']]),
      });
      const made = await both('createWebhook', { id: 'hook' }, (store) => store.createWebhook(fresh));
      if (made?.[0].kind === 'created' && made[1].kind === 'created') hooks.push([made[0].id, made[1].id]);
      return;
    }
    const hook = dice.pick(hooks);
    const what = dice.pick(['on', 'off', 'events', 'delete', 'rotate', 'replay', 'replay'] as const);
    const onlyFailed = dice.chance(0.5);
    const events = dice.pick([['all'], ['delivery']]);
    await both(what, {}, async (store, engine) => {
      const id = hook[engine];
      if (what === 'delete') return store.deleteWebhook({ id });
      if (what === 'replay') {
        const range = { since: at - DAY, until: at + 1, onlyFailed, now: at, limit: 3 };
        return (await store.replayCalls({ webhookId: id, ...range })).made;
      }
      if (what === 'rotate')
        return store.rotateWebhookSecret({
          ...{ id, secretSealed: new Uint8Array([4]), previousUntil: at + DAY, now: at },
        });
      const change =
        what === 'events' ? { events } : ({ status: what === 'on' ? 'Enabled' : 'Disabled' } as const);
      return store.updateWebhook({ id, now: at, resumeSince: at - 2 * HOUR, ...change });
    });
  }

  async function call(): Promise<void> {
    const at = now;
    await both('nextCallDueAt', {}, (store) => store.nextCallDueAt());
    await both('prepareCalls', {}, (store) => store.prepareCalls({ limit: 2 }));
    const claimed = await both('claimCalls', CALL_KINDS, async (store, engine) => {
      const asked = { epoch: epoch[engine], now: at, limit: 1_000, excludeWebhooks: [] };
      const name = (one: ClaimedCall) =>
        `${one.event.id} ${hooks.findIndex((hook) => hook[engine] === one.webhook.id)}`;
      return (await store.claimCalls(asked)).toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
    });
    claimed?.[0].forEach((one, i) => {
      const two = claimed[1][i];
      if (two === undefined) return;
      const hook: Pair = [one.webhook.id, two.webhook.id];
      calls.push({ id: [one.id, two.id], epoch, hook, tries: one.tries });
    });
    const ended = some(calls, 0.7);
    calls = calls.filter((one) => !ended.includes(one) || dice.chance(0.05));
    const settlements = ended.map(({ id, epoch: of, hook, tries }) => {
      const state = dice.pick(['succeeded', 'succeeded', 'failed', 'pending'] as const);
      const isTried = dice.chance(0.9);
      const tried = {
        ...{
          state,
          tryNumber: tries + 1,
          responseCode: state === 'succeeded' ? 200 : 500,
          responseBody: 'body',
        },
        ...{ error: '', latencyMs: dice.whole(1, 900), blocked: dice.chance(0.1) },
      };
      const back = {
        ...{
          state: 'pending' as const,
          tryNumber: 0,
          responseCode: 0,
          responseBody: '',
          error: '',
          latencyMs: 0,
        },
        blocked: false,
      };
      const disable = maybe(0.05, () => ({
        reason: 'Failures' as const,
        event: event('webhook.disabled', at),
      }));
      return (engine: 0 | 1): CallSettlement => ({
        ...{ callId: id[engine], epoch: of[engine], webhookId: hook[engine], at, dueAt: at + MINUTE },
        ...(isTried ? tried : back),
        ...(isTried && state !== 'succeeded' && disable !== undefined ? { disable } : {}),
      });
    });
    await both(`settleCalls ${ended.length}`, {}, (store, engine) =>
      store.settleCalls({ settlements: settlements.map((make) => make(engine)) }),
    );
  }

  async function append(): Promise<void> {
    const one = messages.length === 0 ? undefined : dice.pick(messages);
    const delivery = one === undefined || dice.chance(0.2) ? null : dice.pick(one.deliveries);
    const fact = event(
      delivery === null ? 'domain.failing' : dice.pick(['opened', 'clicked', 'complained']),
      now,
    );
    const domain = delivery === null || one === undefined ? dice.pick(SENDERS) : one.domain;
    await both('appendEvents', {}, (store, engine) =>
      store.appendEvents({ events: [{ ...fact, domain, deliveryId: delivery?.[engine] ?? null }] }),
    );
  }

  async function purge(): Promise<void> {
    const domain = dice.pick(SENDERS);
    const at = now;
    const before = now - dice.pick([HOUR, DAY]);
    const what = dice.pick(['contents', 'messages'] as const);
    const pages = await both(`findExpired ${what}`, { seqs: 'message', nextSeq: 'message' }, (store) =>
      store.findExpired({ what, domain, before, now: at, afterSeq: 0, limit: 5 }),
    );
    if (pages !== null && pages[0].seqs.length > 0) {
      if (what === 'contents')
        await both('purgeContents', {}, (store, engine) =>
          store.purgeContents({ seqs: pages[engine].seqs, maxBytes: 1e6 }),
        );
      else
        await both('purgeMessages', {}, (store, engine) =>
          store.purgeMessages({ seqs: pages[engine].seqs, maxRows: 1_000 }),
        );
    }
    await both('purgeCalls', { nextId: 'call' }, (store) =>
      store.purgeCalls({ before, now: at, afterId: 0, limit: 1_000 }),
    );
    await both('purgeSuppressions', {}, (store) =>
      store.purgeSuppressions({ now: at, evidenceBefore: before, limit: 5 }),
    );
    if (dice.chance(0.5)) {
      const limit = dice.pick([3, 1_000]);
      await both('sumEvents', {}, async (store) => {
        for (;;) {
          const upTo = await store.lastEventSeq();
          while (await store.sumEvents({ upTo, limit }));
          const counted = await store.countSummed();
          if (counted.summed === counted.events) return counted;
          // PostgreSQL counts no event while an older transaction may still run.
          await setTimeout(10);
        }
      });
    }
    await both('purgeSums', {}, (store) => store.purgeSums({ domain, before: before - DAY, limit: 5 }));
    await both('purgeLooseEvents', {}, (store) => store.purgeLooseEvents({ before, limit: 5 }));
    await both('purgeCauses', {}, (store) => store.purgeCauses({ before, limit: 5 }));
    await both('purgeLeftovers', {}, (store) => store.purgeLeftovers({ limit: 50 }).then(() => null));
    await both('purgeIdempotency', {}, (store) => store.purgeIdempotency({ before, limit: 5 }));
  }

  // ── what anybody reads ──────────────────────────────────────────────────────────────────────────────────

  async function readMail(): Promise<void> {
    const domains = maybe(0.5, () => some(SENDERS, 0.6));
    const since = maybe(0.3, () => now - dice.pick([MINUTE, HOUR, DAY]));
    const filter = {
      ...(domains === undefined ? {} : { domains }),
      ...(since === undefined ? {} : { since }),
      ...maybe(0.3, () => ({ to: address() })),
      ...maybe(0.2, () => ({ subject: dice.pick(['hello', 'KÖLN', '%', '_', 'b']) })),
      ...maybe(0.2, () => ({ tag: dice.pick(TAGS) })),
      ...maybe(0.2, () => ({ lane: dice.pick(['critical', 'bulk'] as const) })),
      ...maybe(0.2, () => ({ metadata: [['order', dice.pick(['1', '2'])]] as const })),
      ...maybe(0.3, () => ({
        states: some(['queued', 'sending', 'delivered', 'bounced', 'failed', 'suppressed'] as const, 0.4),
        ...maybe(0.3, () => ({ waiting: dice.pick(['scheduled', 'tried'] as const) })),
        ...maybe(0.2, () => ({ mixed: true as const })),
      })),
      limit: dice.pick([1, 3, 100]),
      look: dice.pick([2, 1_000]),
    };
    await both(`listMessages ${JSON.stringify(filter)}`, MESSAGE_KINDS, async (store) => {
      if (!('to' in filter)) return store.listMessages(filter);
      // How far one look for a recipient goes is each engine's own.
      const found: MessageView[] = [];
      for (let beforeSeq: number | null | undefined; beforeSeq !== null; ) {
        const page = await store.listMessages({
          ...filter,
          ...(beforeSeq === undefined ? {} : { beforeSeq }),
        });
        found.push(...page.messages);
        beforeSeq = page.nextSeq;
      }
      return found;
    });
    if (messages.length === 0) return;
    const { id, seq } = dice.pick(messages);
    await both('getMessage', MESSAGE_KINDS, (store) => store.getMessage({ id }));
    await both('readContent', {}, (store, engine) => store.readContent({ messageSeq: seq[engine] }));
  }

  async function readEvents(): Promise<void> {
    const one = messages.length === 0 ? undefined : dice.pick(messages);
    const filter = {
      ...maybe(0.5, () => ({ domains: some(SENDERS, 0.6) })),
      ...maybe(0.4, () => ({ kinds: some(KINDS, 0.5) })),
      ...maybe(one === undefined ? 0 : 0.3, () => ({ messageId: one?.id ?? '' })),
      ...maybe(0.3, () => ({ recipient: address() })),
      ...maybe(0.2, () => ({ tag: dice.pick(TAGS) })),
      ...maybe(0.1, () => ({ possibleDuplicate: true as const })),
      ...maybe(0.3, () => ({ since: now - dice.pick([MINUTE, HOUR, DAY]) })),
      ...maybe(0.3, () => ({ until: now - dice.pick([0, MINUTE, HOUR]) })),
      newestFirst: dice.chance(0.5),
      look: dice.pick([3, 1_000]),
    };
    const limit = dice.pick([1, 5, 200]);
    if ('messageId' in filter)
      await both(`findEvents ${JSON.stringify(filter)}`, EVENT_KINDS, async (store) => {
        const { events } = await store.findEvents({ ...filter, look: 1_000, limit: 1_000 });
        return events.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      });
    else {
      // How far one look for a recipient or for duplicates goes is each engine's own.
      const goesOn = 'recipient' in filter || 'possibleDuplicate' in filter;
      await both(`findEvents ${JSON.stringify(filter)} ${limit}`, EVENT_KINDS, async (store) => {
        let page = await store.findEvents({ ...filter, limit });
        const events = [...page.events];
        while (goesOn && page.next !== null) {
          page = await store.findEvents({ ...filter, limit, from: page.next });
          events.push(...page.events);
        }
        return { events, next: page.next };
      });
      await both(`countEvents ${JSON.stringify(filter)}`, EVENT_KINDS, async (store) => {
        let page = await store.countEvents({ ...filter, upTo: limit });
        let { count } = page;
        while (goesOn && page.next !== null) {
          page = await store.countEvents({ ...filter, upTo: limit, from: page.next });
          count += page.count;
        }
        return { count, next: page.next };
      });
    }
    const groupBy = dice.pick([
      null,
      'tag',
      'domain',
      'recipient-domain',
      'provider',
      'delivery-time',
    ] as const);
    const intervalMs = dice.pick([HOUR, DAY]);
    const from = Math.floor((now - DAY) / intervalMs) * intervalMs;
    const range = { from, to: Math.floor(now / HOUR) * HOUR + HOUR, intervalMs };
    const includeSandbox = dice.chance(0.5);
    const maxGroups = dice.pick([1, 100]);
    await both(`stats ${groupBy} ${maxGroups}`, {}, async (store) => {
      const asked = { kinds: KINDS, ...range, groupBy, includeSandbox, maxGroups };
      const most = { maxUnsummed: 100_000, maxCounts: 100_000, maxCountedGroups: 1_000 };
      const answer = await store.stats({ ...asked, ...most });
      if (answer.kind !== 'counted') return answer;
      // Groups of the same size come in any order, and so do the counts of an interval.
      return answer.groups.length === maxGroups && answer.rest !== null
        ? sumOf([...answer.groups.flatMap(({ counts }) => counts), ...answer.rest])
        : answer.groups.map(({ name, counts }) => `${name}: ${sumOf(counts)}`).toSorted();
    });
  }

  async function readQueue(): Promise<void> {
    const at = now;
    const domains = maybe(0.3, () => some(SENDERS, 0.6));
    const given = domains === undefined ? {} : { domains };
    const rowsPerQueue = dice.pick([1, 100]);
    await both('queueCounts', {}, (store) => store.queueCounts({ now: at }));
    await both('waitingQueues', {}, async (store) => {
      const asked = { ...given, now: at, limit: 100, rowsPerQueue, ageLimitsMs: [MINUTE, HOUR] };
      return inOrder((await store.waitingQueues(asked)).queues);
    });
    await both('waitingCounts', {}, async (store) =>
      inOrder((await store.waitingCounts({ ...given, limit: 100 })).queues),
    );
    await both('domainUse', {}, (store) => store.domainUse({ domains: SENDERS }));
    await both('contentBytes', {}, (store) => store.contentBytes());
    const causes = await both('listCauses', CAUSE_KINDS, async (store) => {
      const found = await store.listCauses({ limit: 100, countUpTo: 3 });
      // It may be up to a minute behind.
      const shown = found.map(({ lastSeen: _, ...cause }) => cause);
      return shown.toSorted((a, b) => (causeName(a) < causeName(b) ? -1 : 1));
    });
    const place = causes === null || causes[0].length === 0 ? null : dice.whole(0, causes[0].length - 1);
    if (causes !== null && place !== null)
      await both('causeMembers', CAUSE_KINDS, (store, engine) =>
        store.causeMembers({ id: causes[engine][place]?.id ?? 0, afterId: 0, limit: 10 }),
      );
    if (hooks.length === 0) return;
    const hook = dice.pick(hooks);
    await both('listCalls', CALL_KINDS, async (store, engine) => {
      const found = await store.listCalls({ webhookId: hook[engine], limit: 1_000 });
      return found.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1));
    });
    await both('getWebhook', { id: 'hook' }, (store, engine) => store.getWebhook({ id: hook[engine] }));
    await both('failingWebhooks', { id: 'hook' }, async (store) =>
      (await store.failingWebhooks({ limit: 50 })).toSorted((a, b) => a.id - b.id),
    );
    await both('listSuppressions', { id: 'suppression' }, async (store) => {
      const found = await store.listSuppressions({ ...given, now: at, limit: 1_000, look: 1_000 });
      const place = (one: (typeof found.suppressions)[number]) =>
        `${one.domain} ${one.address} ${one.reason}`;
      const ordered = found.suppressions.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
      return { ordered, isAll: found.nextId === null };
    });
    const notice = { dueBefore: at, now: at, limit: 10, maxRecipients: 2 };
    await both('dueNotices', { messageSeq: 'message', upToId: 'notice' }, (store) =>
      store.dueNotices(notice),
    );
  }

  const ACTIONS: readonly (() => Promise<void>)[] = [
    ...[accept, accept, accept, accept, claim, claim, claim, settle, settle, release, claimExpired],
    ...[restart, changeMessage, changeMessage, suppress, changeWebhook, call, call, call, append, purge],
    ...[readMail, readMail, readMail, readEvents, readEvents, readQueue],
  ];
  await begin();
  for (let step = 0; step < STEPS; step++) {
    await dice.pick(ACTIONS)();
    if (dice.chance(0.5)) now += dice.pick([1, 1000, MINUTE, 20 * MINUTE, 5 * HOUR]);
  }
}

describePostgres('both engines', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('both');
  });
  afterAll(() => database?.close());

  it.each(Array.from({ length: SEEDS }, (_, i) => FIRST + i))('answer alike (seed %i)', async (seed) => {
    const folder = mkdtempSync(join(tmpdir(), 'both-engines-'));
    const sqlite = await openedBy(
      () => openSqliteStore({ path: join(folder, 'test.db'), clock: systemClock, threads: 0 }),
      () => rmSync(folder, { recursive: true }),
    );
    const postgres = await openedStore(database);
    try {
      await play(seed, [sqlite.store, postgres.store]);
    } finally {
      await sqlite.close();
      await postgres.close();
    }
  });
});
