/**
 * The mail servers of one site, in memory: the plan, the troubles and the counts that its hosts share, and how they meet
 * a new connection. What they say on it is in far-end-connection.ts.
 */
import { type FarEndDeps, type Site, type SitePlan, serveConnection } from './far-end-connection.ts';
import type { Answer } from './network.ts';
import type { Trouble, TroubleKind } from './troubles.ts';

const GREYLIST_MS = 240_000;
const MINUTE = 60_000;

export interface FarEnd {
  answer(source: string, process: number): Answer;
}

export function createFarEnd(plan: SitePlan, deps: FarEndDeps): FarEnd {
  const { clock, dice } = deps;
  const firstSeen = new Map<string, number>();
  let minute = { startedMs: 0, messages: 0 };
  const site: Site = { plan, trouble, strikes, isTooFast, isNew };

  return {
    answer(source, process) {
      if (trouble('black-hole') !== null) return { kind: 'silent' };
      if (trouble('refuses') !== null) return { kind: 'refuses', afterMs: plan.latencyMs };
      return {
        kind: 'connects',
        afterMs: plan.latencyMs,
        serve: (client) =>
          serveConnection(client, { site: plan.name, source, process, messages: 0 }, site, deps),
      };
    },
  };

  function trouble(kind: TroubleKind): Trouble | null {
    if (plan.troubles.length === 0) return null;
    const nowMs = clock.monotonicMs();
    return (
      plan.troubles.find((one) => one.kind === kind && nowMs >= one.fromMs && nowMs < one.untilMs) ?? null
    );
  }

  function strikes(kind: TroubleKind): boolean {
    const found = trouble(kind);
    return found !== null && dice.chance(found.share);
  }

  function isTooFast(most: number): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - minute.startedMs >= MINUTE) minute = { startedMs: nowMs, messages: 0 };
    minute.messages += 1;
    return minute.messages > most;
  }

  function isNew(source: string, address: string): boolean {
    const key = `${source} ${address}`;
    const nowMs = clock.monotonicMs();
    const seen = firstSeen.get(key);
    if (seen === undefined) firstSeen.set(key, nowMs);
    return nowMs - (seen ?? nowMs) < GREYLIST_MS;
  }
}
