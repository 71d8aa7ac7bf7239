/** What GET /stats answers: events counted by time and group, with their rates. Types only. */

/** Events by kind in PascalCase (`Accepted`, `Delivered`, …). */
export type StatsCounts = Readonly<Record<string, number>>;

/** Shares from 0 to 1; null where there is nothing to divide by. */
export interface StatsRates {
  /** Of those that were delivered, bounced or failed; the same for the next two. */
  Delivered: number | null;
  Bounced: number | null;
  Failed: number | null;
  /** Events per delivered recipient; may be above 1. The same for the next three. */
  Opened: number | null;
  Clicked: number | null;
  Complained: number | null;
  Unsubscribed: number | null;
}

/** An hour or a day, from `At` on. */
export interface StatsInterval {
  At: string;
  Counts: StatsCounts;
  Rates: StatsRates;
}

/** The whole range, and its intervals. */
export interface StatsFigures {
  Counts: StatsCounts;
  Rates: StatsRates;
  /** Those with events, by time. */
  Intervals: readonly StatsInterval[];
}

/** GET /stats. */
export interface StatsAnswer {
  From: string;
  To: string;
  Interval: 'hour' | 'day';
  GroupBy: 'Tag' | 'Domain' | 'RecipientDomain' | null;
  /** Largest first; one with Group null where there is no GroupBy. Group '' under Tag: messages without tags. */
  Items: readonly ({ Group: string | null } & StatsFigures)[];
  /** Everything beyond the hundredth group. */
  Rest: StatsFigures | null;
}
