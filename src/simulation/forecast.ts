/**
 * The result of a simulated plan: figures for the whole plan, already multiplied if a sample was simulated. Times are
 * milliseconds from the start of the plan.
 */
import type { Lane } from '../model/message.ts';

/** Mail of one provider, priority and sender. */
export interface GroupForecast {
  provider: string;
  lane: Lane;
  sender: string;
  /** Accepted. */
  recipients: number;
  delivered: number;
  /** Refused for good. */
  bounced: number;
  /** Given up after their age. */
  expired: number;
  /** Not accepted: the queue was full. */
  refused: number;
  /** At the end of the simulation. */
  waiting: number;
  /** The last end of one; null = none ended. */
  lastAtMs: number | null;
  /** From acceptance to delivery; null = none was delivered. */
  delivery: { halfMs: number; mostMs: number; longestMs: number } | null;
  peak: { waiting: number; atMs: number };
}

/** Mail that waited at one place for the same kind of reason. */
export interface WaitForecast {
  /** A provider, `other`, or the relays of a route. */
  place: string;
  lane: Lane;
  /** In the words of the engine. */
  reason: string;
  peak: number;
  peakAtMs: number;
  fromMs: number;
  untilMs: number;
}

export interface Forecast {
  startAt: number;
  days: number;
  nodes: number;
  recipients: number;
  /** Recipients that were simulated, and how many of the plan each represents. */
  simulated: number;
  weight: number;
  /** Times are not more exact than this. */
  exactToMs: number;
  /** When everything had ended; null = some mail still waited. */
  doneAtMs: number | null;
  /** The simulated time. */
  untilMs: number;
  interrupted: boolean;
  groups: readonly GroupForecast[];
  waits: readonly WaitForecast[];
  connections: { peak: number; peakAtMs: number; places: readonly { place: string; peak: number }[] };
  /** Estimated MiB of each node, and the most rows of mail that it had in memory. */
  memory: { mebibytes: number; rows: number };
  warmup: readonly { day: number; source: string; provider: string; budget: number | null; sent: number }[];
  faults: readonly { at: string; what: string; fromMs: number; untilMs: number }[];
  /** Figures over time: recipients accepted and ended so far, and those waiting, by provider. */
  series: {
    atMs: readonly number[];
    accepted: readonly number[];
    ended: readonly number[];
    connections: readonly number[];
    waiting: readonly { provider: string; counts: readonly number[] }[];
  };
  tookMs: number;
}
