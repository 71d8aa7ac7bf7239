/**
 * GET /stats: how many events of each kind, per hour or day, by tag, sender domain, recipient domain or provider, and the
 * resulting rates, for a limited range of whole hours. Sandbox mail is left out unless requested.
 */

import { z } from 'zod';
import { capital } from '../../../lib/capital.ts';
import { AppError } from '../../../lib/errors.ts';
import { type EventKind, MAIL_KINDS } from '../../../model/event.ts';
import type { Store } from '../../../store/store.ts';
import type { StatsCount } from '../../../store/topics/stats.ts';
import { time } from '../answer-schemas.ts';
import { createCallRate } from '../call-rate.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { DOMAIN, flag, moment, word } from '../query.ts';
import { type ApiRoute, invalidParameter, isoTime } from '../route.ts';
import { countingText, MAX_UNSUMMED } from './attention-items.ts';

const counts = z.record(z.string(), z.int()).describe('Events by kind: Accepted, Delivered, …');

const GROUP_WORDS = ['Tag', 'Domain', 'RecipientDomain', 'Provider', 'DeliveryTime'] as const;

const share = z.number().nullable();

const rates = z
  .object({
    Delivered: share.describe('Of those that were delivered, bounced or failed'),
    Bounced: share,
    Failed: share,
    Opened: share.describe('Events per delivered recipient; may be above 1'),
    Clicked: share,
    Complained: share,
    Unsubscribed: share,
  })
  .meta({ id: 'StatsRates', description: 'Null where there is nothing to divide by' });

const shownFigures = {
  Counts: counts,
  Rates: rates,
  Intervals: z
    .array(z.object({ At: time, Counts: counts, Rates: rates }))
    .describe('Those with events, by time'),
};

const statsAnswer = z
  .object({
    From: time,
    To: time,
    Interval: z.enum(['hour', 'day']),
    GroupBy: z.enum(GROUP_WORDS).nullable(),
    Items: z
      .array(
        z.object({
          Group: z.string().nullable().describe('Empty under Tag: without tags; under DeliveryTime: longer'),
          IsProvider: z.boolean().describe('Under Provider: may stand for several domains'),
          ...shownFigures,
        }),
      )
      .describe('Largest first'),
    Rest: z.object(shownFigures).nullable().describe('Everything beyond the hundredth group'),
  })
  .meta({ id: 'StatsAnswer' });

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The default range, and the longest one. */
const INTERVALS = {
  hour: { ms: HOUR_MS, usualMs: DAY_MS, longestMs: 8 * DAY_MS, longest: '8 days' },
  day: { ms: DAY_MS, usualMs: 30 * DAY_MS, longestMs: 92 * DAY_MS, longest: '92 days' },
} as const;
const GROUPS = {
  Tag: 'tag',
  Domain: 'domain',
  RecipientDomain: 'recipient-domain',
  Provider: 'provider',
  DeliveryTime: 'delivery-time',
} as const;
const MAX_GROUPS = 100;
/** The reader keeps them until the largest are known, with their counts: some 100 MB. */
const MAX_COUNTED_GROUPS = 100_000;
const MAX_COUNTS = 1_000_000;
/** Of a million events that are not added up, at the quickest. */
const SECONDS_PER_MILLION = 60;
const RETRY_AFTER_SECONDS = { least: 30, most: 300 };
const CALLS_PER_SECOND = 5;

export function statsOperation({ store, traffic, clock }: ApiParts): ApiRoute {
  const takeCall = createCallRate(clock, { perSecond: CALLS_PER_SECOND, what: 'statistics' });
  return operation('GET /stats', {
    id: 'getStats',
    scope: 'stats:read',
    summary: 'Count events',
    description:
      'Events per `Interval` (`day`, or `hour`), `From`, `To`, `GroupBy` (`Tag`, `Domain`, `RecipientDomain`; `Provider`: of recipient domains, where it is known, else the domain; `DeliveryTime`: of the delivered ones, the seconds within which), `Domain`: `{Items: [{Group, Counts, Rates, Intervals}], Rest}`. Whole hours and days of UTC: `From` is moved back to the beginning of its interval, `To` on to the end of its hour. At most 92 days by day, 8 by hour, and 100,000 different groups; tags that contain an address are only in `Rest`; at most 5 requests a second for each token, after a pause 20 at once. Mail of the sandbox only with `IncludeSandbox=true`',
    query: {
      From: moment('Beginning'),
      To: moment('End'),
      Interval: word(['hour', 'day'], 'is hour or day').default('day'),
      GroupBy: word(GROUP_WORDS, 'is Tag, Domain, RecipientDomain, Provider or DeliveryTime').optional(),
      IncludeSandbox: flag().default(false),
      ...DOMAIN,
    },
    answer: statsAnswer,
    handle: async ({ caller, query, visible }) => {
      takeCall(caller);
      const { Interval, GroupBy } = query;
      const [from, to] = range(query, clock.now());
      const result = await store.stats({
        ...visible,
        kinds: GroupBy === 'DeliveryTime' ? ['delivered'] : MAIL_KINDS,
        from,
        to,
        intervalMs: INTERVALS[Interval].ms,
        groupBy: GroupBy === undefined ? null : GROUPS[GroupBy],
        includeSandbox: query.IncludeSandbox,
        maxUnsummed: MAX_UNSUMMED,
        maxCounts: MAX_COUNTS,
        maxGroups: MAX_GROUPS,
        maxCountedGroups: MAX_COUNTED_GROUPS,
      });
      if (result.kind === 'too-many')
        throw result.of === 'groups' ? tooManyGroups() : stillCounting(await store.countSummed());
      const groups =
        GroupBy === undefined && result.groups.length === 0 ? [{ name: '', counts: [] }] : result.groups;
      return {
        From: isoTime(from),
        To: isoTime(to),
        Interval,
        GroupBy: GroupBy ?? null,
        Items: groups.map(({ name, counts }) => ({
          Group: GroupBy === undefined ? null : GroupBy === 'DeliveryTime' ? seconds(name) : name,
          IsProvider: GroupBy === 'Provider' && traffic.isProvider(name),
          ...figures(counts),
          Intervals: intervals(counts),
        })),
        Rest: result.rest === null ? null : { ...figures(result.rest), Intervals: intervals(result.rest) },
      };
    },
  });
}

/** From the beginning of its interval, so that the first one is complete, to the end of an hour. Throws AppError invalid-parameter. */
function range(
  {
    Interval,
    From,
    To,
  }: { Interval: keyof typeof INTERVALS; From?: number | undefined; To?: number | undefined },
  now: number,
): [number, number] {
  const { ms, usualMs, longestMs, longest } = INTERVALS[Interval];
  const to = To ?? now;
  const from = From ?? to - usualMs;
  if (from >= to) throw invalidParameter('From must be before To', 'From');
  if (to - from > longestMs) throw invalidParameter(`At most ${longest} by ${Interval}`, 'From');
  return [Math.floor(from / ms) * ms, Math.ceil(to / HOUR_MS) * HOUR_MS];
}

function stillCounting(progress: Awaited<ReturnType<Store['countSummed']>>): AppError {
  const seconds = Math.ceil(((progress.events - progress.summed) / 1e6) * SECONDS_PER_MILLION);
  return new AppError('unavailable', {
    message: countingText(progress) || 'Events are still being counted after an upgrade',
    retryAfterSeconds: Math.min(RETRY_AFTER_SECONDS.most, Math.max(RETRY_AFTER_SECONDS.least, seconds)),
  });
}

function tooManyGroups(): AppError {
  return invalidParameter(
    `The range holds more than ${MAX_COUNTED_GROUPS} groups, or ${MAX_COUNTS} counts of them: ask for a shorter one, or for one Domain`,
    'From',
  );
}

function intervals(counts: readonly StatsCount[]) {
  return [...Map.groupBy(counts, ({ at }) => at)].map(([at, own]) => ({ At: isoTime(at), ...figures(own) }));
}

function figures(counts: readonly StatsCount[]) {
  const of = (kind: EventKind): number =>
    counts.reduce((sum, count) => (count.kind === kind ? sum + count.n : sum), 0);
  const share = (part: number, whole: number) =>
    whole === 0 ? null : Math.round((part / whole) * 1e6) / 1e6;
  const ended = of('delivered') + of('bounced') + of('failed');
  return {
    Counts: Object.fromEntries(MAIL_KINDS.map((kind) => [capital(kind), of(kind)])),
    Rates: {
      Delivered: share(of('delivered'), ended),
      Bounced: share(of('bounced'), ended),
      Failed: share(of('failed'), ended),
      Opened: share(of('opened'), of('delivered')),
      Clicked: share(of('clicked'), of('delivered')),
      Complained: share(of('complained'), of('delivered')),
      Unsubscribed: share(of('unsubscribed'), of('delivered')),
    },
  };
}

/** Of a group of milliseconds. */
function seconds(name: string): string {
  return name === '' ? '' : String(Number(name) / 1000);
}
