/**
 * Which mail waited and why, during a simulated plan: one entry for each provider, lane and kind of reason, with its
 * largest number and when that was. The reasons are those of the engine. Called at each look.
 */
import type { PathSnapshot } from '../pipeline/deliver/path/state.ts';
import type { WaitForecast } from './forecast.ts';
import type { PlannedMail, SimulationPlan } from './plan/plan.ts';

interface Waiting {
  provider: string;
  lane: PlannedMail['lane'];
  /** Waiting recipients; `deferred` of them were tried before. */
  waiting: number;
  deferred: number;
  /** The reply of the last one that was. */
  deferredBy: string;
}

/** Smaller numbers of waiting mail are left out: such mail was only on its way. */
const LEAST_SHARE = 0.0005;

export function createWaits(plan: SimulationPlan, weight: number) {
  const found = new Map<string, WaitForecast>();
  const least = Math.max(1, LEAST_SHARE * plan.mail.reduce((sum, { recipients }) => sum + recipients, 0));

  return {
    /** `paths`: those that this mail uses. */
    look(one: Waiting, paths: readonly PathSnapshot[], nowMs: number): void {
      if (one.deferred > 0)
        note(one, 'deferred', `tried again later, after: ${one.deferredBy}`, one.deferred, nowMs);
      const rest = one.waiting - one.deferred;
      if (rest <= 0) return;
      const busiest = [...paths]
        .filter(({ reason }) => reason !== null)
        .sort((a, b) => b.inMemory - a.inMemory)[0];
      if (busiest === undefined) note(one, 'turn', 'on its way: nothing holds it up', rest, nowMs);
      else note(one, busiest.waitsFor, reasonOf(busiest), rest, nowMs);
    },
    /** The largest first, without mail that was only on its way. */
    list: (): WaitForecast[] =>
      [...found.entries()]
        .filter(([key, { peak }]) => peak >= least && !/ (?:turn|none|connecting|resolving)$/.test(key))
        .map(([, wait]) => wait)
        .sort((a, b) => b.peak - a.peak),
  };

  function note(
    { provider, lane }: Waiting,
    kind: string,
    reason: string,
    count: number,
    nowMs: number,
  ): void {
    const key = `${provider} ${lane} ${kind}`;
    const known = found.get(key);
    if (known === undefined)
      found.set(key, {
        ...{ place: provider, lane, reason, peak: count, peakAtMs: nowMs, fromMs: nowMs, untilMs: nowMs },
      });
    else {
      known.untilMs = nowMs;
      if (count <= known.peak) return;
      Object.assign(known, { reason, peak: count, peakAtMs: nowMs });
    }
  }

  /** Rates are converted from the sample to the plan, and times at which a pause ends are removed. */
  function reasonOf({ reason, waitsFor, effective }: PathSnapshot): string {
    const text = (reason ?? '').replace(/ until \d{4}-[\d:.T-]+Z:/, ':');
    const { messagesPerSecond } = effective.limits;
    if (waitsFor !== 'message-rate' || messagesPerSecond === null) return text;
    const perSecond = messagesPerSecond * weight;
    const rate = perSecond >= 1 ? `${round(perSecond)}/s` : `${round(perSecond * 60)}/min`;
    return text.replace(/: [\d.]+\/(?:s|min)$/, `: ${rate}`);
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
