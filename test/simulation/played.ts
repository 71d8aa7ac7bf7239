/** A plan as an object, read as a file is, and played with its figures at hand. */
import { systemClock } from '../../src/lib/clock.ts';
import type { Forecast } from '../../src/simulation/forecast.ts';
import { readPlan } from '../../src/simulation/plan/read-plan.ts';
import { type SimulateOptions, simulate } from '../../src/simulation/simulate.ts';

export async function played(plan: object, options: Partial<SimulateOptions> = {}): Promise<Forecast> {
  const read = readPlan(JSON.stringify(plan), 'plan.json', null);
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  return simulate(read.plan, { most: 100_000, clock: systemClock, ...options });
}

/** Whether a figure is within so large a share of another one. */
export function isNear(one: number, other: number, share = 0.1): boolean {
  return Math.abs(one - other) <= share * Math.max(Math.abs(one), Math.abs(other));
}
