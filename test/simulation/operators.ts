/**
 * What operators do in a simulated run: hold mail and let it go, set limits and end them, open paths by hand. Given the
 * process that works then; keeps book of the holds, and says where something that was ended goes on.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { type Override, pathKey } from '../../src/policy/limits/shaping/types.ts';
import type { Process } from '../../src/simulation/process.ts';
import { isClosed } from './checks.ts';
import type { Action, Plan } from './plan.ts';
import type { Room } from './room.ts';

export type Operation = Extract<
  Action,
  { kind: 'hold' | 'release' | 'override' | 'try-now' | 'end-overrides' }
>;

export interface Operators {
  act(action: Operation, process: Process): Promise<void>;
  /** How long it has been held already; null = it is not, or not for a process whose clock is ahead by `aheadMs` (default: 0). */
  heldForMs(deliveryId: number, aheadMs?: number): number | null;
  forgetHolds(): void;
}

interface Deps {
  plan: Plan;
  room: Room;
  clock: Clock;
  /** Lets the clock go on until it is answered. */
  awaited<Result>(doing: Promise<Result>): Promise<Result>;
  /** What the engine calls a site of the plan. */
  siteOf(site: string): string;
}

interface Held {
  tenant: string | null;
  domain: string | null;
  lane: string | null;
  fromMs: number;
  untilMs: number;
}

export function createOperators(
  { plan, room, clock, awaited, siteOf }: Deps,
  note: (what: string) => void,
): Operators {
  const holds: Held[] = [];

  return {
    async act(action, process) {
      const { traffic } = process.engine;
      const now = clock.now();
      const nowMs = clock.monotonicMs();
      switch (action.kind) {
        case 'hold': {
          const { tenant, domain, lane, forMs } = action;
          const kept = traffic.holds.add({
            ...{ senderDomain: tenant, recipientDomain: domain, site: null, lane },
            ...{ reason: 'simulated', until: now + forMs, createdBy: 'operator' },
          });
          await awaited(kept).then(
            () => holds.push({ tenant, domain, lane, fromMs: nowMs, untilMs: nowMs + forMs }),
            () => {},
          );
          return;
        }
        case 'release':
          await awaited(traffic.holds.release(traffic.holds.list().map(({ id }) => id))).then(
            () => {
              for (const hold of holds) hold.untilMs = Math.min(hold.untilMs, nowMs);
            },
            () => {},
          );
          return;
        case 'override':
          return override(action, process);
        case 'try-now':
          return tryNow(process);
        case 'end-overrides':
          return endOverrides(process);
      }
    },
    heldForMs(deliveryId, aheadMs = 0) {
      const nowMs = clock.monotonicMs();
      const on = holds.filter(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs + aheadMs < untilMs);
      if (on.length === 0) return null;
      const mail = room.mailOf(deliveryId);
      const since = on
        .filter(
          ({ tenant, domain, lane }) =>
            (tenant === null || tenant === mail?.tenant) &&
            (domain === null || domain === mail?.domain) &&
            (lane === null || lane === mail?.lane),
        )
        .map(({ fromMs }) => fromMs);
      return since.length === 0 ? null : nowMs - Math.min(...since);
    },
    forgetHolds() {
      holds.length = 0;
    },
  };

  function override(
    { site: index, param, forMs }: Extract<Operation, { kind: 'override' }>,
    { engine }: Process,
  ): void {
    const site = plan.sites[index];
    const [source] = plan.sources;
    if (site === undefined || source === undefined) return;
    const value = { connections: 1, messagesPerSecond: 0.5, suspended: 'yes' }[param];
    engine.traffic.overrides.note({
      ...{ scope: 'path', key: pathKey(source.id, siteOf(site.name)), param, value },
      ...{ until: clock.now() + forMs, rule: 'operator', why: 'simulated' },
    });
  }

  /** Everything that keeps a path closed is ended by hand; what closes it again comes later. */
  async function tryNow({ engine }: Process): Promise<void> {
    const { deliver, tryNow: hand } = engine;
    const closed = new Map(deliver.paths().map((path) => [path.key, path.snapshot()] as const));
    try {
      await awaited(hand.paths([...closed.keys()]));
    } catch {
      return;
    }
    for (const path of deliver.paths()) {
      const [before, after] = [closed.get(path.key), path.snapshot()];
      if (!isClosed(after) || before === undefined || !isClosed(before)) continue;
      if (before.waitsUntil === after.waitsUntil)
        note(`${path.key} stays closed though it was opened by hand`);
    }
  }

  async function endOverrides({ engine }: Process): Promise<void> {
    const { deliver, traffic } = engine;
    const ended = new Set<string>();
    for (const { id, rule, param, key } of traffic.overrides.list()) {
      if (rule !== 'operator') continue;
      try {
        await awaited(traffic.overrides.remove(id));
      } catch {
        return;
      }
      if (param === 'suspended') ended.add(key);
    }
    for (const path of deliver.paths()) {
      // What a reply has suspended stays so.
      const byReply = traffic.overrides.of('path', path.key).some(isSuspensionByReply);
      if (ended.has(path.key) && path.snapshot().waitsFor === 'suspended' && !byReply)
        note(`${path.key} is suspended though its override was removed`);
    }
  }
}

function isSuspensionByReply({ param, rule }: Override): boolean {
  return param === 'suspended' && rule !== 'operator';
}
