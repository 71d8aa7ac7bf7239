/**
 * Statistics: counts of events about recipients. Part of the Store (`../store.ts` has the promises of all its operations).
 */
import type { EventKind } from '../../model/event.ts';

/**
 * `provider`: who runs the recipient's domain, by its MX when mail was last sent there; a domain of no known provider is a group
 * of its own. `delivery-time`: by the first of `DELIVERY_TIMES_MS` that is not less than the time since the mail was to be sent.
 */
export type StatsGroupBy = 'tag' | 'domain' | 'recipient-domain' | 'provider' | 'delivery-time';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
/** What took longer has the group with the empty name. */
export const DELIVERY_TIMES_MS: readonly number[] = [
  ...[0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900].map((seconds) => seconds * SECOND_MS),
  ...[1, 4, 12, 24, 72].map((hours) => hours * HOUR_MS),
];

export interface StatsCount {
  /** Start of the interval. */
  at: number;
  kind: EventKind;
  n: number;
}

export interface StatsStore {
  /**
   * Counts of events about recipients per interval, kind and group; empty intervals are left out. At most `maxGroups`
   * groups, the largest first, the others together in `rest`, with tags that contain an address. Read from the sums
   * (`sumEvents`) and from the events that are not in them yet. `too-many`: of those there are more than `maxUnsummed`, or
   * there are more than `maxCountedGroups` different groups or `maxCounts` counts of them, which are in memory together.
   */
  stats(params: {
    domains?: readonly string[];
    kinds: readonly EventKind[];
    /** The beginning of an interval. */
    from: number;
    /** Exclusive; the end of an hour. */
    to: number;
    /** An hour or a day; days are of UTC. */
    intervalMs: number;
    /** null: one group with the empty name. */
    groupBy: StatsGroupBy | null;
    /** Also count recipients of the sandbox. */
    includeSandbox: boolean;
    maxUnsummed: number;
    maxCounts: number;
    maxGroups: number;
    maxCountedGroups: number;
  }): Promise<
    | {
        kind: 'counted';
        groups: readonly { name: string; counts: readonly StatsCount[] }[];
        rest: readonly StatsCount[] | null;
      }
    | { kind: 'too-many'; of: 'unsummed' | 'groups' }
  >;
  /**
   * Adds the next `limit` events, up to the seq `upTo` of `lastEventSeq`, to the sums by hour and day. true: there may be more.
   */
  sumEvents(params: { upTo: number; limit: number }): Promise<boolean>;
  /** How many of the events are in the sums, by their numbers, of which some may be missing. */
  countSummed(): Promise<{ summed: number; events: number }>;
  /** Sender domains that have sums. */
  domainsWithSums(): Promise<readonly string[]>;
  /** Deletes sums of a domain whose hour or day ended before `before`, at most `limit`; returns how many. */
  purgeSums(params: { domain: string; before: number; limit: number }): Promise<number>;
}
