/**
 * One simulated run of webhooks: several nodes on one store call receivers that fail, are slow or say nothing, for hours
 * within milliseconds. Nodes die, stop and stand still; webhooks are switched off and on, changed and deleted. Held
 * against what the receivers saw: each event reaches each of its webhooks, what was answered is not called again without
 * a reason, no more calls run at once than are allowed, and whoever answers well does not wait for others.
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
import { createAwaited } from './asking.ts';
import { PARTS } from './parts.ts';
import { createReceivers, mannersOf, RECORDED_MS, type Receiver } from './receivers.ts';
import { openRoom } from './room.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const KINDS = ['accepted', 'deferred', 'delivered', 'bounced'] as const;
/** The kinds that a webhook of that word is called for. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  all: KINDS,
  delivery: ['delivered'],
  bounce: ['bounced'],
};

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

const MAX_WRONG = 20;
const STEP_MS = 9_973;
/** A node that was gone or stood still is noticed, and what it had is taken over. */
const TAKEN_OVER_MS = 2 * NODE_TIMES.deadMs + 30 * SECOND;
/** A call to a receiver that answers well begins by then after it is due. */
const PROMPT_MS = 20 * SECOND;
/** And to any other. */
const PATIENT_MS = 10 * MINUTE;
const OVERTIME_MS = 6 * HOUR;

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
  const wrong: string[] = [];
  const note = (what: string) => {
    const told = `at ${Math.round(clock.monotonicMs() / 1000)} s: ${what}`;
    if (wrong.length < MAX_WRONG && !wrong.includes(told)) wrong.push(told);
  };
  const retryDelaysMs = dice.chance(0.5)
    ? undefined
    : [5 * SECOND, 20 * SECOND, MINUTE, 3 * MINUTE].slice(0, dice.whole(1, 4));
  const storeMs = dice.pick([0, 0, 1, 5, 40]);
  const loadUntilMs = dice.ms(5 * MINUTE, HOUR);
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
    },
    note,
  );
  const { calls } = receivers;
  /** What should arrive where. */
  const expected: { webhookId: number; key: string }[] = [];
  let events = 0;
  let processes = 0;
  let disturbedMs = 0;

  for (const node of nodes) await boot(node);
  for (let i = dice.whole(1, 12); i > 0; i--) await addReceiver();
  while (clock.monotonicMs() < loadUntilMs && wrong.length < MAX_WRONG) {
    await advance(dice.chance(0.2) ? dice.ms(30 * SECOND, 4 * MINUTE) : dice.ms(0, 5 * SECOND));
    await act();
  }
  await end();
  const result = { seed, wrong, processes, events, calls: calls.length, virtualMs: clock.monotonicMs() };
  room.close();
  return result;

  async function addReceiver(): Promise<void> {
    const node = dice.pick(nodes);
    const domain = dice.pick(domains);
    const word = dice.pick(['all', 'all', 'delivery', 'bounce']);
    const made = await asked(node, (store) =>
      store.createWebhook({
        ...{ domain, events: [word], url: 'https://receiver.test/', description: '', createdBy: null },
        ...{ secretSealed: PARTS.sealer.seal(new Uint8Array(24), SECRET_SEAL), createdAt: clock.now() },
        maxPerDomain: 100,
      }),
    );
    if (made?.kind !== 'created') return;
    const { id } = made;
    await asked(node, (store) =>
      store.updateWebhook({ id, now: clock.now(), url: `https://receiver.test/${id}`, resumeSince: 0 }),
    );
    const nowMs = clock.monotonicMs();
    receivers.all.set(id, {
      ...{
        id,
        domain,
        word,
        ...mannersOf(dice, loadUntilMs),
        madeAtMs: nowMs,
        state: 'on',
        changedMs: nowMs,
      },
      replayedMs: Number.NEGATIVE_INFINITY,
    });
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
      life.answersAfter(storeMs);
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
    if (draw < 0.8) return emit(node, dice.pick([1, 1, 2, 5, 20, 100]));
    if (draw < 0.9) return change(node);
    if (draw < 0.92) return addReceiver();
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

  async function emit(node: Node, count: number): Promise<void> {
    const domain = dice.pick(domains);
    const kind = dice.pick(KINDS);
    const made = Array.from({ length: count }, () => ({
      ...{ id: uuidv7(clock, dice), kind, at: clock.now(), detail: null, domain, deliveryId: null },
    }));
    const before = enabled();
    if ((await asked(node, (store) => store.appendEvents({ events: made }))) === null) return;
    events += count;
    // Those that are off are not called for it, also later.
    for (const webhookId of enabled().filter((id) => before.includes(id))) {
      const receiver = receivers.all.get(webhookId);
      if (receiver?.domain === domain && TOLD[receiver.word]?.includes(kind))
        for (const { id } of made) expected.push({ webhookId, key: callId(id) });
    }
    node.sender?.wake();
  }

  function enabled(): number[] {
    return room.db.all<{ id: number }>('SELECT id FROM webhook WHERE enabled = 1').map(({ id }) => id);
  }

  async function change(node: Node): Promise<void> {
    const present = [...receivers.all.values()].filter(({ state }) => state !== 'deleted');
    if (present.length === 0) return;
    const receiver = dice.pick(present);
    const { id, domain } = receiver;
    const nowMs = clock.monotonicMs();
    const draw = dice.float();
    if (draw < 0.1) {
      // In doubt it is deleted: nothing is expected there any more.
      Object.assign(receiver, { state: 'deleted', changedMs: nowMs });
      const done = await asked(node, (store) => store.deleteWebhook({ id, domains: [domain] }));
      if (done === null) Object.assign(receiver, { changedMs: Number.POSITIVE_INFINITY });
    } else if (draw < 0.3) {
      receiver.replayedMs = Number.POSITIVE_INFINITY;
      const now = clock.now();
      await asked(node, (store) =>
        store.replayCalls({
          ...{ webhookId: id, since: 0, until: now + 1, onlyFailed: dice.chance(0.5), now, limit: 500 },
        }),
      );
      receiver.replayedMs = clock.monotonicMs() + RECORDED_MS;
    } else {
      const status = draw < 0.6 ? 'Disabled' : 'Enabled';
      await switchTo(receiver, status, node);
    }
    node.sender?.wake();
  }

  async function switchTo(receiver: Receiver, status: 'Enabled' | 'Disabled', node: Node): Promise<boolean> {
    const { id } = receiver;
    // Whether it was stored is not known where no answer comes.
    Object.assign(receiver, { state: 'on' });
    const done = await asked(node, (store) =>
      store.updateWebhook({ id, now: clock.now(), status, resumeSince: clock.now() - 72 * HOUR }),
    );
    if (done === true)
      Object.assign(receiver, {
        state: status === 'Enabled' ? 'on' : 'off',
        changedMs: clock.monotonicMs(),
      });
    return done === true;
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
      const forMs = receivers.isWell(receiver, PATIENT_MS) ? PROMPT_MS : PATIENT_MS;
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
    for (const receiver of receivers.all.values()) {
      receiver.troubles = [];
      receiver.usual = { kind: 'answers', status: 200, ms: 50 };
    }
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
    for (const { webhookId, key } of expected) {
      if (receivers.all.get(webhookId)?.state === 'deleted') continue;
      const name = `${webhookId} ${key}`;
      const row = rows.get(name);
      const made = seen.get(name) ?? [];
      if (row === undefined) {
        note(`${name} has no call`);
        continue;
      }
      const arrived = made.some(({ status }) => status >= 200 && status < 300);
      if (row.state === 2 && !arrived)
        note(`${name} is called successful, and the receiver has not answered so`);
      const isGone = made.some(({ status }) => status === 410);
      if (row.state === 3 && row.tries < mostTries && !isGone)
        note(`${name} was given up after ${row.tries} tries`);
      if (row.tries > made.length) note(`${name} was tried ${made.length} times, and counts ${row.tries}`);
    }
  }
}
