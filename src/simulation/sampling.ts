/**
 * Simulating a sample: one message stands for `weight` messages. Its transactions take as long as theirs together (the
 * far ends see to that), connections and their setup stay as they are, and what is counted in messages is divided:
 * rates, messages of a connection, the threshold of small sites. So connections, rates and retries meet the same
 * bounds at the same times. What depends on the first messages comes late: a path learns after several messages how
 * many connections it may use, and those of the sample take longer.
 *
 * Given the plan; leaves how many messages one stands for, and the shaping data of the engine. Without a sample the
 * limits are those of the plan, but for TLS, which no simulated far end does.
 */
import { shippedShaping } from '../policy/limits/shaping/shaping.ts';
import type { ShapingRow } from '../policy/limits/shaping/shaping-file.ts';
import type { PathLimits } from '../policy/limits/shaping/types.ts';
import type { FarEndHabits, SimulationPlan } from './plan/plan.ts';

/** The client treats a slower answer as a failure. */
const MOST_ANSWER_MS = 30_000;
/** Slower far ends get one message at a time, and the sample must not change which ones do (`isQuick`). */
const MOST_IN_FLIGHT_MS = 800;
/** The first budgets of a warm-up are small, and several messages of the sample must fit into one. */
const MOST_IN_WARMUP = 10;
/** The smallest values that these limits may have. */
const LEAST = { messagesPerSecond: 0.0001, newConnectionsPerMinute: 0.01 };

/** The number of messages that each of the sample represents, if at most `most` recipients are simulated. */
export function weightOf(plan: SimulationPlan, habits: readonly FarEndHabits[], most: number): number {
  const wanted = Math.ceil(recipientsOf(plan) / most);
  const slowest = Math.max(
    0,
    ...plan.faults.map(({ what, most: seconds }) => (what === 'slow' ? seconds : 0)),
  );
  const bounds = habits.map(({ roundTripMs, answerMs, chunking }) =>
    chunking
      ? MOST_IN_FLIGHT_MS / Math.max(1, roundTripMs + answerMs)
      : MOST_ANSWER_MS / Math.max(1, roundTripMs + answerMs + slowest * 1000),
  );
  for (const { what, most: perMinute } of plan.faults) if (what === 'throttles') bounds.push(perMinute);
  if (plan.sources.some(({ ageDays }) => ageDays !== null)) bounds.push(MOST_IN_WARMUP);
  return Math.max(1, Math.min(wanted, ...bounds.map(Math.floor)));
}

/** Recipients of the whole plan. */
export function recipientsOf({ mail, days }: Pick<SimulationPlan, 'mail' | 'days'>): number {
  return mail.reduce((sum, one) => sum + one.recipients * (one.days?.length ?? days), 0);
}

/** The operator's rows for the engine. */
export function sampledRows(plan: SimulationPlan, weight: number): readonly ShapingRow[] {
  const own = new Map(plan.limits.map((row) => [row.id, row]));
  const shipped = new Map(shippedShaping().map((row) => [row.id, row]));
  const usual = { ...shipped.get('default')?.limits, ...own.get('default')?.limits };
  return [...new Set([...own.keys(), ...shipped.keys()])].map((id) => {
    const [row, base] = [own.get(id), shipped.get(id)];
    const limits = { ...base?.limits, ...row?.limits };
    const below = row?.belowMessagesPerDay ?? base?.belowMessagesPerDay;
    const sources = Object.entries(row?.sources ?? base?.sources ?? {}).map(
      ([source, one]) => [source, sampled(one, { ...usual, ...limits, ...one }, weight)] as const,
    );
    return {
      id,
      ...row,
      // Only changed limits are set as the operator's; the others keep their origin, which the engine treats
      // differently.
      limits: { ...row?.limits, ...sampled(limits, { ...usual, ...limits }, weight) },
      ...(below === undefined ? {} : { belowMessagesPerDay: Math.ceil(below / weight) }),
      ...(sources.length === 0 ? {} : { sources: Object.fromEntries(sources) }),
    };
  });
}

/** The number of connections that one connection of the sample represents; it carries at least one message. */
export function connectionsOf(messagesPerConnection: number, weight: number): number {
  return (weight * Math.max(1, Math.round(messagesPerConnection / weight))) / messagesPerConnection;
}

function sampled(
  limits: Partial<PathLimits>,
  inForce: Partial<PathLimits>,
  weight: number,
): Partial<PathLimits> {
  const { messagesPerSecond, messagesPerConnection } = limits;
  const { messagesPerConnection: messages = 100, newConnectionsPerMinute } = inForce;
  const opens = connectionsOf(messages, weight);
  return {
    ...(limits.tls === undefined ? {} : { tls: 'opportunistic' as const }),
    ...(weight > 1 && typeof messagesPerSecond === 'number'
      ? { messagesPerSecond: Math.max(LEAST.messagesPerSecond, messagesPerSecond / weight) }
      : {}),
    ...(weight > 1 && messagesPerConnection !== undefined
      ? { messagesPerConnection: Math.max(1, Math.round(messagesPerConnection / weight)) }
      : {}),
    ...(opens !== 1 && typeof newConnectionsPerMinute === 'number'
      ? { newConnectionsPerMinute: Math.max(LEAST.newConnectionsPerMinute, newConnectionsPerMinute / opens) }
      : {}),
  };
}
