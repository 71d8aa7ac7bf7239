/**
 * What people do to accepted mail in a simulated run, as the API does it: cancel it, move it, suppress its recipients, at
 * any instant. Given the process that works then; keeps book of what was answered, and says where an answer was not true.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { uuidv7 } from '../../src/lib/ids.ts';
import type { Random } from '../../src/lib/random.ts';
import { dateText } from '../../src/pipeline/compose/compose.ts';
import type { Process } from '../../src/simulation/process.ts';
import type { Wire } from '../../src/simulation/wire.ts';
import type { ChangedRecipient } from '../../src/store/topics/queue.ts';
import type { Diary } from './checks.ts';
import type { Action } from './plan.ts';
import type { Room } from './room.ts';

export type SecondThought = Extract<
  Action,
  { kind: 'cancel' | 'reschedule' | 'suppress' | 'suppress-waiting' }
>;

export interface SecondThoughts {
  act(action: SecondThought, process: Process): Promise<void>;
  /** Recipients of one message. */
  cancel(messageSeq: number, deliveryIds: readonly number[], process: Process): Promise<void>;
  /** Mail that went to somebody who was suppressed. */
  checkEnd(wire: Wire): string[];
}

export function createSecondThoughts(
  { room, diary, clock, random }: { room: Room; diary: Diary; clock: Clock; random: Random },
  note: (what: string) => void,
): SecondThoughts {
  /** Entries, and from when they hold. */
  const suppressed: { tenant: string; address: string; fromMs: number }[] = [];

  return {
    async act(action, process) {
      switch (action.kind) {
        case 'cancel': {
          const chosen = room.chosen(action.pick);
          if (chosen !== null) await cancel(chosen.messageSeq, chosen.deliveryIds, process);
          return;
        }
        case 'reschedule':
          return reschedule(action, process);
        case 'suppress':
          return suppress(action.tenant, action.address, process);
        case 'suppress-waiting': {
          const waiting = [...process.engine.queue.items()].filter(({ underWay }) => !underWay);
          const one = waiting[Math.floor(action.pick * waiting.length)];
          if (one !== undefined) return suppress(one.delivery.senderDomain, one.delivery.address, process);
        }
      }
    },
    cancel,
    checkEnd(wire) {
      return wire.transactions.flatMap(({ deliveryId, address, atMs, bodyAtMs }) => {
        const tenant = room.mailOf(deliveryId)?.tenant;
        const entry = suppressed.find((one) => one.address === address && one.tenant === tenant);
        if (entry === undefined || atMs <= entry.fromMs || bodyAtMs === null) return [];
        const late = Math.round(atMs - entry.fromMs);
        return [`delivery ${deliveryId} began ${late} ms after ${address} was suppressed`];
      });
    },
  };

  async function cancel(
    messageSeq: number,
    deliveryIds: readonly number[],
    { engine, store }: Process,
  ): Promise<void> {
    const waiting = deliveryIds.filter((id) => ['queued', 'sending'].includes(room.stateOf(id)));
    const changed = new Set<number>();
    try {
      const results = await engine.queue.changing(waiting, (ids, leases) =>
        store.cancelQueued({
          ...{ messageSeq, now: clock.now() },
          recipients: ids.map((id) => changedBy(id, leases, 'canceled', null)),
        }),
      );
      for (const result of results) for (const id of result.changed) changed.add(id);
    } catch {
      // The store cannot write: nothing was answered.
      return;
    }
    const nowMs = clock.monotonicMs();
    for (const id of changed) {
      diary.canceled.set(id, nowMs);
      if (room.stateOf(id) !== 'canceled') note(`delivery ${id} was answered as canceled, and is not`);
    }
    for (const id of waiting) {
      if (changed.has(id) || room.stateOf(id) !== 'sending') continue;
      const item = engine.queue.itemOf(id);
      // What its end is known of is on its way to the store.
      if (item === null || item.underWay || item.leaving) continue;
      note(`delivery ${id} could not be canceled as if it were being sent, and it waits`);
    }
  }

  async function reschedule(
    { pick, inMs }: Extract<SecondThought, { kind: 'reschedule' }>,
    { engine, store }: Process,
  ): Promise<void> {
    const chosen = room.chosen(pick, true);
    if (chosen === null) return;
    const { messageSeq, deliveryIds } = chosen;
    const sendAt = clock.now() + inMs;
    const untilMs = clock.monotonicMs() + inMs;
    const moved = new Set<number>();
    try {
      await engine.queue.changing(deliveryIds, async (_, leases) => {
        const result = await store.reschedule({
          ...{ messageSeq, now: clock.now(), sendAt, expiresAt: sendAt + 600_000, date: dateText(sendAt) },
          recipients: deliveryIds.map((id) => changedBy(id, leases, 'scheduled', { nextAttemptAt: sendAt })),
        });
        const changed = result.kind === 'rescheduled' ? result.changed : [];
        for (const id of changed) moved.add(id);
        return { changed };
      });
    } catch {
      return;
    }
    engine.queue.wake(sendAt);
    for (const id of moved) diary.moved.set(id, { fromMs: clock.monotonicMs(), untilMs });
  }

  async function suppress(tenant: string, address: string, { store }: Process): Promise<void> {
    try {
      await store.addSuppressions({
        domain: tenant,
        entries: [{ address, reason: 'Manual', note: '', expiresAt: null, source: null }],
        now: clock.now(),
      });
    } catch {
      return;
    }
    suppressed.push({ tenant, address, fromMs: clock.monotonicMs() });
  }

  function changedBy(
    deliveryId: number,
    leases: ReadonlyMap<number, number>,
    kind: 'canceled' | 'scheduled',
    detail: ChangedRecipient['event']['detail'],
  ): ChangedRecipient {
    const epoch = leases.get(deliveryId);
    const event = { id: uuidv7(clock, random), kind, at: clock.now(), detail };
    return epoch === undefined ? { deliveryId, event } : { deliveryId, event, epoch };
  }
}
