/**
 * One simulated run of webhooks: several nodes on one store call receivers that fail, are slow or say nothing, for hours
 * within milliseconds. Nodes die, stop and stand still; webhooks are switched off and on, get other URLs, secrets and kinds
 * while calls wait, and are deleted; old calls are purged. Held against what the receivers saw: each event reaches each of
 * its webhooks and no other, what was answered is not called again without a reason, no more calls run at once than are
 * allowed, and whoever answers well does not wait for others.
 */
import { Registry } from 'prom-client';
import { uuidv7 } from '../../src/lib/ids.ts';
import { silentLogger, silentLoggers } from '../../src/lib/log.ts';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { type Membership, NODE_TIMES, openMembership } from '../../src/pipeline/queue/membership.ts';
import { createStrays } from '../../src/pipeline/queue/strays.ts';
import { SECRET_SEAL } from '../../src/pipeline/webhooks/call.ts';
import { createWebhookMetrics } from '../../src/pipeline/webhooks/metrics.ts';
import { callId } from '../../src/pipeline/webhooks/payload.ts';
import { createWebhookSender, type WebhookSender } from '../../src/pipeline/webhooks/sender.ts';
import { createLife, type Life } from '../../src/simulation/life.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import type { Store } from '../../src/store/store.ts';
import type { EventPlace } from '../../src/store/topics/events.ts';
import { createAwaited } from './asking.ts';
import { createNotes, MAX_WRONG } from './outside.ts';
import { PARTS } from './parts.ts';
import { createReceivers, mannersOf, PLAIN, RECORDED_MS, type Receiver } from './receivers.ts';
import { openRoom } from './room.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const KINDS = ['accepted', 'deferred', 'delivered', 'bounced'] as const;
const WORDS = ['all', 'all', 'delivery', 'bounce'] as const;
/** The kinds that a webhook of that word is called for. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  all: KINDS,
  delivery: ['delivered'],
  bounce: ['bounced'],
};

type Change = Pick<Parameters<Store['updateWebhook']>[0], 'url' | 'events' | 'status' | 'resumeSince'>;

/** A node, whichever of its processes runs now. */
interface Node {
  name: string;
  /** Of that process, as receivers know it. */
  number: number;
  /** null: no process runs; so are the members after it. */
  life: Life | null;
  store: Store | null;
  sender: WebhookSender | null;
  stopAll: ((deadlineMs: number) => Promise<void>) | null;
  /** When the next process starts. */
  backMs: number;
  /** When it goes on; null: it does not stand still. */
  awakeMs: number | null;
}

export interface WebhooksResult {
  seed: number;
  wrong: readonly string[];
  processes: number;
  events: number;
  calls: number;
  virtualMs: number;
}

const STEP_MS = 9_973;
/** A node that was gone or stood still is noticed, and what it had is taken over. */
const TAKEN_OVER_MS = 2 * NODE_TIMES.deadMs + 30 * SECOND;
/** A call to a receiver that answers well begins by then after it is due. */
const PROMPT_MS = 20 * SECOND;
/** And to any other. */
const PATIENT_MS = 10 * MINUTE;
const OVERTIME_MS = 6 * HOUR;
/** What a domain may have. */
const MOST_WEBHOOKS = 100;
/** More than one transaction makes calls for. */
const MANY_EVENTS = 700;

/** `mutation`: changes the store of every node, as a deliberate bug. */
export async function runWebhooksSeed(
  seed: number,
  mutation: ((store: Store) => Store) | null = null,
): Promise<WebhooksResult> {
  const dice = createDice(seed, 1);
  const clock = createVirtualClock();
  const awaited = createAwaited(clock);
  const outage = { from: 0, count: 0, as: 'full' as 'full' | 'io' };
  const room = openRoom({ shaping: [], failStoreWrites: outage, shared: true });
  const { wrong, note } = createNotes(clock);
  const retryDelaysMs = dice.chance(0.5)
    ? undefined
    : [5 * SECOND, 20 * SECOND, MINUTE, 3 * MINUTE].slice(0, dice.whole(1, 4));
  const storeMs = dice.pick([0, 0, 1, 5, 40, 2_000]);
  const isCrowded = dice.chance(0.1);
  const loadUntilMs = dice.ms(3 * MINUTE, isCrowded ? 6 * MINUTE : 15 * MINUTE);
  const nodes: Node[] = Array.from({ length: dice.pick([1, 1, 2, 3]) }, (_, i) => ({
    ...{ name: `node${i}`, number: 0, life: null, store: null, sender: null, stopAll: null },
    ...{ backMs: 0, awakeMs: null },
  }));
  const domains = Array.from({ length: dice.whole(1, 5) }, (_, i) => `tenant${i}.test`);
  const receivers = createReceivers(
    clock,
    {
      isAwake: (number) => awake().some((one) => one.number === number),
      isSettled: () => clock.monotonicMs() - disturbedMs > TAKEN_OVER_MS,
      storeMs,
    },
    note,
  );
  const { calls } = receivers;
  /** What should arrive where. */
  const expected: { webhookId: number; key: string; at: number }[] = [];
  let events = 0;
  let processes = 0;
  let disturbedMs = 0;
  /** Calls of events before this time may be gone (epoch milliseconds). */
  let purgedBefore = 0;
  let mayEmitMany = dice.chance(0.3);

  for (const node of nodes) await boot(node);
  for (let i = dice.whole(1, 12); i > 0; i--) await addReceiver(dice.pick(domains));
  if (isCrowded)
    for (let i = MOST_WEBHOOKS; i > 0; i--) await addReceiver(domains[0] ?? '', dice.chance(0.9));
  while (clock.monotonicMs() < loadUntilMs && wrong.length < MAX_WRONG) {
    await advance(dice.chance(0.08) ? dice.ms(20 * SECOND, 2 * MINUTE) : dice.ms(0, 5 * SECOND));
    await act();
  }
  await end();
  const result = { seed, wrong, processes, events, calls: calls.length, virtualMs: clock.monotonicMs() };
  room.close();
  return result;

  /** `isPlain`: it always answers at once. */
  async function addReceiver(domain: string, isPlain = false): Promise<void> {
    const node = dice.pick(nodes);
    const word = dice.pick(WORDS);
    const secret = dice.bytes(24);
    const there = hooks(domain).length;
    const made = await asked(node, (store) =>
      store.createWebhook({
        ...{
          domain,
          domainId: null,
          events: [word],
          url: 'https://receiver.test/',
          description: '',
          createdBy: null,
        },
        ...{ secretSealed: PARTS.sealer.seal(secret, SECRET_SEAL), createdAt: clock.now() },
        maxPerDomain: MOST_WEBHOOKS,
      }),
    );
    if (made !== null && (made.kind === 'limit') !== there >= MOST_WEBHOOKS)
      note(`a webhook beside ${there} others of ${domain} was answered by ${made.kind}`);
    if (made?.kind !== 'created') return;
    const { id } = made;
    const nowMs = clock.monotonicMs();
    const receiver: Receiver = {
      ...{ id, domain, ...(isPlain ? PLAIN : mannersOf(dice, loadUntilMs)), madeAtMs: nowMs },
      ...{
        state: 'on',
        changedMs: nowMs,
        url: '',

        secrets: [{ bytes: secret, sinceMs: nowMs }],
      },
      ...{ told: new Set(), replayedMs: Number.NEGATIVE_INFINITY, givenUpBefore: 0, purgedBefore: 0 },
    };
    receivers.all.set(id, receiver);
    const url = `https://receiver.test/${id}/0`;
    await update(receiver, node, { url, resumeSince: 0 });
  }

  // ── the nodes ───────────────────────────────────────────────────────────────────────────────────────────

  async function boot(node: Node): Promise<void> {
    processes += 1;
    const number = processes;
    const life = createLife(clock);
    disturb();
    const random = createDice(seed, 100 + processes);
    try {
      const whole = life.whileAlive(await room.openStore(life.clock));
      const store = mutation?.(whole) ?? whole;
      const sources = new Set<string>();
      const membership = await openMembership(
        { store, clock: life.clock, random, log: silentLogger },
        {
          nodeId: node.name,
          about: { host: node.name, pid: 0, version: '', roles: [], sources: [], settings: {} },
          sharedSources: sources,
        },
      );
      const sender = createWebhookSender(
        {
          ...{ store, clock: life.clock, random, sealer: PARTS.sealer, node: membership },
          ...{ log: silentLoggers, metrics: createWebhookMetrics(new Registry()) },
          http: { post: receivers.wayOut(life, number) },
        },
        {
          nodes: () => membership.others().length + 1,
          ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
        },
      );
      const strays = createStrays(
        { store, node: membership, clock: life.clock, log: silentLogger, freed: sender.wake },
        { deliveries: { holding: () => ({ ids: [], sinceMs: null }) }, calls: sender },
        NODE_TIMES.strayMs,
      );
      await membership.start();
      await sender.start();
      await strays.start();
      life.answersAfter(() => storeMs);
      Object.assign(node, { number, life, store, sender, awakeMs: null });
      node.stopAll = (deadlineMs) => stopParts(life, store, [strays, sender], membership, deadlineMs);
    } catch {
      // The store cannot be written: whoever supervises tries again.
      life.end();
      node.backMs = clock.monotonicMs() + 5 * SECOND;
    }
  }

  async function stopParts(
    life: Life,
    store: Store,
    parts: readonly { stop(deadlineMs: number): Promise<void> }[],
    membership: Membership,
    deadlineMs: number,
  ): Promise<void> {
    for (const part of parts) await part.stop(deadlineMs);
    await membership.stop(0);
    if (life.alive) await store.close();
  }

  async function stop(node: Node, deadlineMs: number): Promise<void> {
    const { life, stopAll } = node;
    if (life === null || stopAll === null) return;
    if (node.awakeMs !== null) life.resume();
    node.awakeMs = null;
    let isOver = false;
    const stopping = stopAll(deadlineMs).then(() => {
      isOver = true;
    });
    const lastMs = clock.monotonicMs() + 2 * deadlineMs + 10 * SECOND;
    while (!isOver && clock.monotonicMs() < lastMs) await clock.advance(100);
    if (!isOver) note(`a stop of ${node.name} within ${deadlineMs} ms has not ended`);
    else await stopping;
    gone(node);
  }

  function gone(node: Node): void {
    const nowMs = clock.monotonicMs();
    receivers.excuse({ node: node.number, fromMs: nowMs - RECORDED_MS, untilMs: nowMs });
    node.life?.end();
    receivers.gone(node.number);
    Object.assign(node, { life: null, store: null, sender: null, stopAll: null });
    disturb();
  }

  function disturb(): void {
    disturbedMs = clock.monotonicMs();
  }

  function awake(): Node[] {
    return nodes.filter(({ life, awakeMs }) => life !== null && awakeMs === null);
  }

  /** What the store of that node answers; null: it could not, or the node is gone. */
  async function asked<Result>(node: Node, ask: (store: Store) => Promise<Result>): Promise<Result | null> {
    if (node.store === null || node.awakeMs !== null) return null;
    try {
      return await awaited(ask(node.store));
    } catch {
      return null;
    }
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = clock.monotonicMs() + ms;
    for (;;) {
      const nowMs = clock.monotonicMs();
      for (const node of nodes) {
        if (node.life === null && nowMs >= node.backMs) await boot(node);
        else if (node.awakeMs !== null && nowMs >= node.awakeMs) {
          node.awakeMs = null;
          node.life?.resume();
          disturb();
        }
      }
      if (nowMs >= untilMs) return;
      const next = nodes.flatMap(({ life, backMs, awakeMs }) => (life === null ? backMs : (awakeMs ?? [])));
      await clock.advance(Math.min(untilMs, nowMs + STEP_MS, ...next.filter((at) => at > nowMs)) - nowMs);
      look();
    }
  }

  // ── what happens ────────────────────────────────────────────────────────────────────────────────────────

  async function act(): Promise<void> {
    const node = dice.pick(nodes);
    const draw = dice.float();
    if (draw < 0.7) {
      if ((await emit(node)) < 20 || dice.chance(0.2)) return;
      // While their calls wait.
      await advance(dice.ms(0, 4 * SECOND));
      return change(node);
    }
    if (draw < 0.88) return change(node);
    if (draw < 0.9) return addReceiver(dice.pick(domains));
    if (draw < 0.92) return purge(node);
    if (draw < 0.94) return outageFor(dice.pick([1, 5, 30, 120]) * SECOND);
    if (node.life === null || node.awakeMs !== null) return;
    const forMs = dice.pick([2, 7, 11, 15, 25, 60, 300]) * SECOND;
    const nowMs = clock.monotonicMs();
    if (draw < 0.96) {
      receivers.excuse({
        ...{ node: node.number, fromMs: nowMs - RECORDED_MS, untilMs: nowMs + forMs + RECORDED_MS },
      });
      disturb();
      node.awakeMs = nowMs + forMs;
      node.life.pause();
    } else if (draw < 0.98) gone(node);
    else await stop(node, 10 * SECOND);
    node.backMs = clock.monotonicMs() + forMs;
  }

  async function emit(node: Node): Promise<number> {
    const domain = dice.pick(domains);
    const kind = dice.pick(KINDS);
    const isCrowd = isCrowded && domain === domains[0];
    // Not to a hundred webhooks: so many calls take minutes, and all of the domain wait for a reason.
    const isMany = mayEmitMany && !isCrowd && hooks(domain).some(({ enabled }) => enabled === 0);
    mayEmitMany &&= !isMany;
    const count = isMany ? MANY_EVENTS : dice.pick(isCrowd ? [1, 2, 8] : [1, 1, 2, 5, 20, 100]);
    const at = clock.now();
    const made = Array.from({ length: count }, () => ({
      ...{ id: uuidv7(clock, dice), kind, at, detail: null, domain, deliveryId: null },
    }));
    // Those that are off are not called for it, also later.
    const wanting = hooks(domain).filter((row) => row.enabled === 1 && TOLD[row.event]?.includes(kind));
    const keys = made.map(({ id }) => callId(id));
    for (const key of keys) receivers.told.add(key);
    for (const { id } of wanting) for (const key of keys) receivers.all.get(id)?.told.add(key);
    const answer = await asked(node, (store) => store.appendEvents({ events: made }));
    if (answer === null) return 0;
    events += count;
    const isOn = new Set(hooks(domain).flatMap(({ id, enabled }) => (enabled === 1 ? id : [])));
    for (const { id: webhookId } of wanting)
      if (isOn.has(webhookId) && receivers.all.has(webhookId))
        for (const key of keys) expected.push({ webhookId, key, at });
    node.sender?.wake();
    return count;
  }

  /** What the store has of the webhooks of a domain. */
  function hooks(domain: string) {
    return room.db.all<{ id: number; enabled: number; event: string }>(
      'SELECT w.id, w.enabled, w.event FROM webhook w JOIN name n ON n.id = w.domain_id WHERE n.text = ?',
      domain,
    );
  }

  async function change(node: Node): Promise<void> {
    const present = [...receivers.all.values()].filter(({ state }) => state !== 'deleted');
    // Where calls are under way, others wait.
    const busy = present.filter(({ id }) => [...receivers.open].some(({ webhookId }) => webhookId === id));
    if (present.length === 0) return;
    const receiver = dice.pick(busy.length > 0 && dice.chance(0.7) ? busy : present);
    const { id, domain, secrets } = receiver;
    const now = clock.now();
    const draw = dice.float();
    if (draw < 0.08) {
      const done = await changing(receiver, node, (store) => store.deleteWebhook({ id, domains: [domain] }));
      if (done !== null) note(`webhook ${id} was deleted, and is there`);
      if (dice.chance(0.5)) await addReceiver(domain);
    } else if (draw < 0.2) await replay(receiver, node);
    else if (draw < 0.3) {
      const bytes = dice.bytes(24);
      const secretSealed = PARTS.sealer.seal(bytes, SECRET_SEAL);
      secrets.unshift({ bytes, sinceMs: Number.POSITIVE_INFINITY });
      const previousUntil = now + dice.ms(MINUTE, 24 * HOUR);
      const done = await asked(node, (store) =>
        store.rotateWebhookSecret({ id, secretSealed, previousUntil, now }),
      );
      // Whether it is stored is not known where no answer comes.
      if (done === true && secrets[0] !== undefined) secrets[0].sinceMs = clock.monotonicMs();
    } else if (draw < 0.45) {
      const version = Number(receiver.url.split('/').at(-1)) + 1;
      const url = `https://receiver.test/${id}/${version}`;
      await update(receiver, node, { url, events: [dice.pick(WORDS)], resumeSince: 0 });
    } else {
      const isOn = (receiver.state === 'on') === dice.chance(0.9);
      await switchTo(receiver, isOn ? 'Disabled' : 'Enabled', node);
    }
    node.sender?.wake();
  }

  async function replay(receiver: Receiver, node: Node): Promise<void> {
    receiver.replayedMs = Number.POSITIVE_INFINITY;
    const now = clock.now();
    const onlyFailed = dice.chance(0.5);
    let after: EventPlace | null | undefined;
    do {
      const done = await asked(node, (store) =>
        store.replayCalls({
          ...{ webhookId: receiver.id, since: 0, until: now + 1, onlyFailed, now, limit: 500 },
          ...(after == null ? {} : { after }),
        }),
      );
      after = done?.next ?? null;
    } while (after !== null);
    receiver.replayedMs = clock.monotonicMs() + RECORDED_MS;
  }

  async function switchTo(receiver: Receiver, status: 'Enabled' | 'Disabled', node: Node): Promise<boolean> {
    const resumeSince = clock.now() - dice.pick([MINUTE, 72 * HOUR]);
    if (status === 'Enabled') receiver.givenUpBefore = Math.max(receiver.givenUpBefore, resumeSince);
    await update(receiver, node, { status, resumeSince });
    return receiver.state === (status === 'Enabled' ? 'on' : 'off');
  }

  /** Its status is what the store has afterwards, also where no answer came. */
  async function update(receiver: Receiver, node: Node, change: Change): Promise<void> {
    const { id } = receiver;
    const row = await changing(receiver, node, (store) =>
      store.updateWebhook({ id, now: clock.now(), ...change }),
    );
    const { url = row?.url, events = [row?.event] } = change;
    if (row !== null && (row.url !== url || row.event !== events.join()))
      note(`webhook ${id} was changed, and is not as asked`);
  }

  /** null if that is not answered, or it is gone. */
  async function changing(receiver: Receiver, node: Node, ask: (store: Store) => Promise<boolean>) {
    receiver.changedMs = Number.POSITIVE_INFINITY;
    const done = await asked(node, ask);
    const row = room.db.get<{ enabled: number; url: string; event: string }>(
      'SELECT enabled, url, event FROM webhook WHERE id = ?',
      receiver.id,
    );
    receiver.state = row === undefined ? 'deleted' : row.enabled === 1 ? 'on' : 'off';
    receiver.url = row?.url ?? receiver.url;
    receiver.changedMs = clock.monotonicMs();
    return done === true ? (row ?? null) : null;
  }

  /** Of calls that have ended, and of what deleted webhooks left. */
  async function purge(node: Node): Promise<void> {
    const now = clock.now();
    const before = now - dice.pick([MINUTE, 10 * MINUTE]);
    purgedBefore = Math.max(purgedBefore, before);
    for (let afterId: number | null = 0; afterId !== null; ) {
      const from: number = afterId;
      const step = await asked(node, (store) => store.purgeCalls({ before, now, afterId: from, limit: 64 }));
      afterId = step?.nextId ?? null;
    }
    // One may have been switched off meanwhile.
    for (const receiver of receivers.all.values())
      if (!isEnabled(receiver)) receiver.purgedBefore = Math.max(receiver.purgedBefore, before);
    while ((await asked(node, (store) => store.purgeLeftovers({ limit: 64 }))) === true);
  }

  function isEnabled({ id }: Receiver): boolean {
    return room.db.get('SELECT 1 FROM webhook WHERE id = ? AND enabled = 1', id) !== undefined;
  }

  function outageFor(ms: number): void {
    if (outage.count > 0) return;
    Object.assign(outage, { count: Number.POSITIVE_INFINITY, as: dice.pick(['full', 'io'] as const) });
    const nowMs = clock.monotonicMs();
    receivers.excuse({ node: null, fromMs: nowMs - RECORDED_MS, untilMs: nowMs + ms + RECORDED_MS });
    disturb();
    clock.setTimer(ms, () => {
      outage.count = 0;
      disturb();
    });
  }

  // ── what must be true ───────────────────────────────────────────────────────────────────────────────────

  function look(): void {
    const nowMs = clock.monotonicMs();
    if (awake().length < nodes.length || outage.count > 0 || nowMs - disturbedMs < TAKEN_OVER_MS) return;
    const due = room.db.all<{ id: number; due_at: number; n: number }>(
      `SELECT c.webhook_id AS id, min(c.due_at) AS due_at, count(*) AS n FROM webhook_call c JOIN webhook w ON w.id = c.webhook_id
       WHERE c.state = 0 AND w.enabled = 1 GROUP BY c.webhook_id`,
    );
    for (const { id, due_at, n } of due) {
      const receiver = receivers.all.get(id);
      if (receiver === undefined || receiver.state === 'deleted') continue;
      const forMs = (receivers.isWell(receiver, PATIENT_MS) ? PROMPT_MS : PATIENT_MS) + 10 * storeMs;
      if (clock.now() - due_at < forMs || nowMs - receiver.changedMs < forMs) continue;
      const last = calls.findLast(({ webhookId }) => webhookId === id);
      if (last !== undefined && (last.untilMs === null || nowMs - last.fromMs < forMs)) continue;
      const waitedMs = clock.now() - due_at;
      note(
        `${n} calls of webhook ${id} wait for no reason, the first for ${Math.round(waitedMs / SECOND)} s`,
      );
    }
  }

  async function end(): Promise<void> {
    for (const receiver of receivers.all.values()) Object.assign(receiver, PLAIN);
    await advance(TAKEN_OVER_MS + 5 * MINUTE);
    for (const receiver of receivers.all.values())
      while (receiver.state !== 'deleted' && !(await switchTo(receiver, 'Enabled', dice.pick(nodes))))
        await advance(5 * SECOND);
    // Whose creation or deletion was not answered.
    for (const { id } of room.db.all<{ id: number }>('SELECT id FROM webhook'))
      if (receivers.all.get(id)?.state !== 'on')
        while ((await asked(dice.pick(nodes), (store) => store.deleteWebhook({ id }))) === null)
          await advance(5 * SECOND);
    const lastMs = clock.monotonicMs() + OVERTIME_MS;
    while (unfinished() > 0 && clock.monotonicMs() < lastMs && wrong.length < MAX_WRONG)
      await advance(MINUTE);
    if (unfinished() > 0) note(`${unfinished()} calls have not ended`);
    for (const node of nodes) await stop(node, 10 * SECOND);
    if (receivers.open.size > 0) note(`${receivers.open.size} calls are open after the end`);
    checkEnd();
  }

  function unfinished(): number {
    return (
      room.db.get<{ n: number }>(
        `SELECT count(*) AS n FROM webhook_call c JOIN webhook w ON w.id = c.webhook_id WHERE c.state IN (0, 1)`,
      )?.n ?? 0
    );
  }

  function checkEnd(): void {
    const rows = new Map<string, { state: number; tries: number }>(
      room.db
        .all<{ webhook_id: number; event_id: Uint8Array; state: number; tries: number }>(
          `SELECT c.webhook_id, e.event_id, c.state, c.tries FROM webhook_call c JOIN event e ON e.seq = c.event_seq`,
        )
        .map((row) => [`${row.webhook_id} evt_${Buffer.from(row.event_id).toString('hex')}`, row] as const),
    );
    const seen = Map.groupBy(calls, ({ webhookId, key }) => `${webhookId} ${key}`);
    const mostTries = (retryDelaysMs?.length ?? 9) + 1;
    for (const { webhookId, key, at } of expected) {
      const receiver = receivers.all.get(webhookId);
      if (receiver === undefined || receiver.state === 'deleted') continue;
      const name = `${webhookId} ${key}`;
      const row = rows.get(name);
      const made = seen.get(name) ?? [];
      const arrived = made.some(({ status }) => status >= 200 && status < 300);
      const isGone = made.some(({ status }) => status === 410);
      if (row === undefined) {
        const hasEnded = arrived || isGone || made.length >= mostTries || at < receiver.givenUpBefore;
        if (at >= (hasEnded ? purgedBefore : receiver.purgedBefore)) note(`${name} has no call`);
        continue;
      }
      if (row.state === 2 && !arrived)
        note(`${name} is called successful, and the receiver has not answered so`);
      if (row.state === 3 && row.tries < mostTries && !isGone && at >= receiver.givenUpBefore)
        note(`${name} was given up after ${row.tries} tries`);
      if (row.tries > made.length) note(`${name} was tried ${made.length} times, and counts ${row.tries}`);
    }
  }
}
