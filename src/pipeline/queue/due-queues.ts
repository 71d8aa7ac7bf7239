/**
 * Remembers what is due, to avoid asking the store repeatedly: per queue of the store (lane, sender domain, recipient
 * domain) the times at which rows become due, in a heap; and per site the due queues, in rotation. Filled by what this
 * process inserts and defers, and by a sweep that finds everything else. It is only a hint: the claim decides, so a
 * wrong time costs one empty claim. Limited in size; one sender domain has at most three times as much of it as stays
 * free, so mail to very many domains does not keep that of others unknown.
 */

import { createTally } from '../../lib/tally.ts';
import type { Lane } from '../../model/message.ts';
import type { QueueHint } from '../../store/topics/queue.ts';
import type { SiteQuestion } from './gate.ts';
import { createHeap } from './heap.ts';
import { TIMES_FREE } from './ready-window.ts';
import { createRotation, type Rotation, type Turn } from './rotation.ts';

/** One queue of the store. */
export type QueueRef = Omit<QueueHint, 'nextDueAt'>;

/** What decides the site of its mail: not which result is simulated, only whether one is. */
export function questionOf({
  recipientDomain,
  senderDomain,
  lane,
  sandbox,
  routeKey,
}: QueueRef): SiteQuestion {
  const question: SiteQuestion = {
    recipientDomain,
    senderDomain,
    lane,
    sandbox: sandbox ? 'deliver' : null,
  };
  return routeKey === undefined ? question : { ...question, routeKey };
}

/** A queue with due rows, at its site. */
export interface DueQueue extends QueueRef {
  site: string;
  /** Increases with every change of the queue, so that a claim does not remove changes made while it ran. */
  revision: number;
}

export interface DueQueues {
  /** Something of this queue is due at `at`. */
  note(queue: QueueRef, at: number, now: number): void;
  /** Moves queues whose time has come to their sites; returns these sites. */
  advance(now: number): Set<string>;
  /**
   * The site's next queue, or null: the lanes take turns, in each the sender domains for which `may` returns true, and the
   * queues of each of these. Queues for which `admits` returns false are skipped. `may` is asked again for those of a sender
   * domain that have only large rows (`onlyLarge`).
   */
  next(
    site: string,
    may: (lane: Lane, senderDomain: string, onlyLarge: boolean) => boolean,
    admits: (queue: DueQueue) => boolean,
  ): DueQueue | null;
  /**
   * The claim found no more due rows: the queue leaves its site. If it changed since `revision` it stays, but no longer
   * counts as having a backlog.
   */
  exhausted(queue: DueQueue, revision: number): void;
  /** The same for a claim of small rows only: the queue stays, as it may have large ones. */
  noMoreSmall(queue: DueQueue, revision: number): void;
  /** The claim left due rows behind. */
  leftMore(queue: DueQueue): void;
  /** Whether a backlog of this queue waits in the store: fresh mail goes to its end. */
  has(queue: Omit<QueueRef, 'queueId'>): boolean;
  /** Queues with due rows at a site. */
  count(site: string): number;
  /** Whether one of them is of the lane `critical`. */
  hasCritical(site: string): boolean;
  /** Moves the site's queues to their current sites; returns these. */
  regroup(site: string): Set<string>;
  /** Moves one queue to its current site; returns that. */
  move(queue: DueQueue): string;
  sites(): Iterable<string>;
  /** When the next queue becomes due, or null. */
  nextAt(): number | null;
}

/** Further queues are found by the sweep. */
const MAX_QUEUES = 100_000;
/** Times stored per queue; the sweep finds further ones. */
const MAX_INSTANTS = 32;
/** Times this close to each other count as one. */
const INSTANT_MS = 50;

interface Known extends DueQueue, Turn<Known> {
  key: string;
  /** It is in the list of its site. */
  due: boolean;
  /** The last claim took small rows only, and left none. */
  onlyLarge: boolean;
  instants: number[];
  /** It reaches its site with the next `advance`. */
  soon: boolean;
}

/** What is due at one site of one lane and sender domain; `count` of its queues, `larges` of those with only large rows. */
interface DueOfSender extends Turn<DueOfSender> {
  senderDomain: string;
  queues: Rotation<Known>;
  onlyLarge: Rotation<Known>;
  count: number;
  larges: number;
}

interface DueOfLane {
  lane: Lane;
  senders: Rotation<DueOfSender>;
  byName: Map<string, DueOfSender>;
  count: number;
}

export function createDueQueues(siteOf: (queue: QueueRef) => string, max = MAX_QUEUES): DueQueues {
  const byId = new Map<number, Known>();
  const bySender = createTally();
  const dueKeys = new Set<string>();
  /** Of each site the lanes in their turn. */
  const bySite = new Map<string, DueOfLane[]>();
  const heap = createHeap<{ at: number; queue: Known }>((a, b) => a.at - b.at);

  const count = (site: string): number => (bySite.get(site) ?? []).reduce((n, there) => n + there.count, 0);

  const ofLane = (site: string, lane: Lane): DueOfLane | undefined =>
    bySite.get(site)?.find((there) => there.lane === lane);

  const park = (queue: Known, site: string): void => {
    queue.site = site;
    queue.due = true;
    dueKeys.add(queue.key);
    let there = ofLane(site, queue.lane);
    if (there === undefined) {
      there = { lane: queue.lane, senders: createRotation(), byName: new Map(), count: 0 };
      bySite.set(site, [...(bySite.get(site) ?? []), there]);
    }
    const { senderDomain } = queue;
    let sender = there.byName.get(senderDomain);
    if (sender === undefined) {
      const [queues, onlyLarge] = [createRotation<Known>(), createRotation<Known>()];
      sender = { senderDomain, queues, onlyLarge, count: 0, larges: 0, before: null, after: null };
      there.byName.set(senderDomain, sender);
      there.senders.add(sender);
    }
    queue.onlyLarge = false;
    sender.queues.add(queue);
    sender.count += 1;
    there.count += 1;
  };

  const unpark = (queue: Known): void => {
    const there = ofLane(queue.site, queue.lane);
    const sender = there?.byName.get(queue.senderDomain);
    if (there === undefined || sender === undefined || !queue.due) return;
    setOnlyLarge(queue, false);
    sender.queues.remove(queue);
    sender.count -= 1;
    if (sender.count === 0) {
      there.senders.remove(sender);
      there.byName.delete(sender.senderDomain);
    }
    there.count -= 1;
    if (count(queue.site) === 0) bySite.delete(queue.site);
    queue.due = false;
    dueKeys.delete(queue.key);
  };

  const setOnlyLarge = (queue: Known, onlyLarge: boolean): void => {
    if (queue.onlyLarge === onlyLarge) return;
    const sender = ofLane(queue.site, queue.lane)?.byName.get(queue.senderDomain);
    if (sender === undefined || !queue.due) return;
    const [from, to] = onlyLarge ? [sender.queues, sender.onlyLarge] : [sender.onlyLarge, sender.queues];
    from.remove(queue);
    to.add(queue);
    sender.larges += onlyLarge ? 1 : -1;
    queue.onlyLarge = onlyLarge;
  };

  const move = (queue: Known, site: string): void => {
    unpark(queue);
    park(queue, site);
  };

  return {
    note(ref, at, now) {
      let queue = byId.get(ref.queueId);
      if (queue === undefined) {
        if (bySender.of(ref.senderDomain) >= TIMES_FREE * (max - byId.size)) return;
        const { queueId, lane, senderDomain, recipientDomain, sandbox, routeKey } = ref;
        queue = {
          ...{ queueId, lane, senderDomain, recipientDomain, sandbox },
          ...(routeKey === undefined ? {} : { routeKey }),
          ...{
            key: queueKeyOf(ref),
            site: '',
            revision: 0,
            onlyLarge: false,
            due: false,
            soon: false,
            instants: [],
          },
          ...{ before: null, after: null },
        };
        byId.set(ref.queueId, queue);
        bySender.add(ref.senderDomain, 1);
      }
      queue.revision += 1;
      if (at <= now) {
        setOnlyLarge(queue, false);
        if (queue.due || queue.soon) return;
        // It reaches its site with the next `advance`, which tells which site to wake.
        heap.push({ at: now, queue });
        queue.soon = true;
        return;
      }
      const instant = Math.ceil(at / INSTANT_MS) * INSTANT_MS;
      if (queue.instants.length >= MAX_INSTANTS || queue.instants.includes(instant)) return;
      queue.instants.push(instant);
      heap.push({ at: instant, queue });
    },
    advance(now) {
      const reached = new Set<string>();
      for (let top = heap.peek(); top !== undefined && top.at <= now; top = heap.peek()) {
        heap.pop();
        const { at, queue } = top;
        const index = queue.instants.indexOf(at);
        if (index >= 0) queue.instants.splice(index, 1);
        queue.revision += 1;
        setOnlyLarge(queue, false);
        queue.soon = false;
        if (!queue.due) park(queue, siteOf(queue));
        reached.add(queue.site);
      }
      return reached;
    },
    next(site, may, admits) {
      const lanes = bySite.get(site) ?? [];
      for (const [at, there] of lanes.entries()) {
        let found: Known | null = null;
        there.senders.next(({ senderDomain, queues, onlyLarge, larges }) => {
          found = may(there.lane, senderDomain, false) ? queues.next(admits) : null;
          if (found === null && larges > 0 && may(there.lane, senderDomain, true))
            found = onlyLarge.next(admits);
          return found !== null;
        });
        if (found === null) continue;
        lanes.splice(at, 1);
        lanes.push(there);
        return found;
      }
      return null;
    },
    exhausted(queue, revision) {
      const known = byId.get(queue.queueId);
      if (known === undefined) return;
      dueKeys.delete(known.key);
      if (known.revision !== revision) return;
      unpark(known);
      if (known.instants.length > 0) return;
      byId.delete(known.queueId);
      bySender.add(known.senderDomain, -1);
    },
    noMoreSmall(queue, revision) {
      const known = byId.get(queue.queueId);
      if (known === undefined) return;
      dueKeys.delete(known.key);
      if (known.revision === revision) setOnlyLarge(known, true);
    },
    leftMore(queue) {
      const known = byId.get(queue.queueId);
      if (known?.due === true) dueKeys.add(known.key);
    },
    has: (queue) => dueKeys.has(queueKeyOf(queue)),
    count,
    hasCritical: (site) => (ofLane(site, 'critical')?.count ?? 0) > 0,
    regroup(site) {
      const reached = new Set<string>();
      for (const { senders } of bySite.get(site) ?? []) {
        for (const { queues, onlyLarge } of senders.items()) {
          for (const queue of [queues, onlyLarge].flatMap((some) => [...some.items()])) {
            const belongs = siteOf(queue);
            if (belongs === site) continue;
            move(queue, belongs);
            reached.add(belongs);
          }
        }
      }
      return reached;
    },
    move(queue) {
      const belongs = siteOf(queue);
      const known = byId.get(queue.queueId);
      if (known?.due === true && known.site !== belongs) move(known, belongs);
      return belongs;
    },
    sites: () => bySite.keys(),
    nextAt: () => heap.peek()?.at ?? null,
  };
}

/** The same for two queues if they are the same one. */
export function queueKeyOf({
  lane,
  senderDomain,
  recipientDomain,
  sandbox,
  routeKey = '',
}: Omit<QueueRef, 'queueId'>): string {
  return `${lane}${sandbox ? '*' : ' '}${senderDomain} ${recipientDomain} ${routeKey}`;
}
