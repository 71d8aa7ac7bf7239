/**
 * GET /stats: how many events of each kind, per hour or day, by tag, sender domain or recipient domain, and the rates
 * that follow. Given the caller's domains and a bounded range; read from the event log on the reader for searches. Mail
 * of the sandbox is left out unless it is asked for.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { EVENT_KINDS, type EventKind } from '../../../model/event.ts';
import type { Store } from '../../../store/store.ts';
import type { StatsCount, StatsGroupBy } from '../../../store/topics/events.ts';
import { createCallRate } from '../call-rate.ts';
import type { StatsAnswer, StatsCounts, StatsInterval, StatsRates } from '../contract/answers/stats.ts';
import { statsAnswer } from '../contract/schemas/events.ts';
import { DOMAIN, moment } from '../contract/schemas/query.ts';
import { type ApiRoute, invalidParameter, isoTime, json, queryFlag, queryText, queryTime } from '../route.ts';
import { listedDomains } from '../tenancy.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What is asked for where nothing is said, and the longest range. */
const INTERVALS = {
  hour: { ms: HOUR_MS, usualMs: DAY_MS, longestMs: 8 * DAY_MS, longest: '8 days' },
  day: { ms: DAY_MS, usualMs: 30 * DAY_MS, longestMs: 92 * DAY_MS, longest: '92 days' },
} as const;
const GROUPS: ReadonlyMap<string, readonly ['Tag' | 'Domain' | 'RecipientDomain', StatsGroupBy]> = new Map([
  ['tag', ['Tag', 'tag']],
  ['domain', ['Domain', 'domain']],
  ['recipientdomain', ['RecipientDomain', 'recipient-domain']],
]);
/** Measured: 0.6 s of the searching reader without groups, 1.5 s by tag. */
const MAX_EVENTS = 1_000_000;
const MAX_GROUPS = 100;
const CALLS_PER_SECOND = 5;

const KINDS = (Object.keys(EVENT_KINDS) as EventKind[]).filter((kind) =>
  EVENT_KINDS[kind].payloadType?.startsWith('email.'),
);

/** The one route. */
export function statsRoutes({ store, clock }: { store: Store; clock: Clock }): readonly ApiRoute[] {
  const takeCall = createCallRate(clock, { perSecond: CALLS_PER_SECOND, what: 'statistics' });
  return [
    {
      method: 'GET',
      path: '/stats',
      scope: 'stats:read',
      limitedTokens: true,
      contract: {
        id: 'getStats',
        summary: 'Count events',
        description:
          'Events per `Interval` (`day`, or `hour`), `From`, `To`, `GroupBy` (`Tag`, `Domain`, `RecipientDomain`), `Domain`: `{Items: [{Group, Counts, Rates, Intervals}], Rest}`. At most 92 days by day, 8 by hour, and a million events; 5 times a second a token. Mail of the sandbox only with `IncludeSandbox=true`',
        query: {
          From: moment('Beginning'),
          To: moment('End'),
          Interval: z.enum(['hour', 'day']).default('day'),
          GroupBy: z.enum(['Tag', 'Domain', 'RecipientDomain']).optional(),
          IncludeSandbox: z.boolean().default(false),
          ...DOMAIN,
        },
        answer: statsAnswer,
      },
      handle: async (request) => {
        takeCall(request.caller);
        const { query } = request;
        const [interval, from, to] = range(query, clock.now());
        const groupBy = wantedGroup(queryText(query, 'GroupBy', 32));
        const result = await store.stats({
          ...listedDomains(request),
          kinds: KINDS,
          from,
          to,
          intervalMs: INTERVALS[interval].ms,
          groupBy: groupBy?.[1] ?? null,
          includeSandbox: queryFlag(query, 'IncludeSandbox') ?? false,
          maxEvents: MAX_EVENTS,
          maxGroups: MAX_GROUPS,
        });
        if (result.kind === 'too-many') {
          throw new AppError('invalid-parameter', {
            field: '/From',
            message: `The range holds more than ${MAX_EVENTS} events: ask for a shorter one, or for one Domain`,
          });
        }
        const groups =
          groupBy === undefined && result.groups.length === 0 ? [{ name: '', counts: [] }] : result.groups;
        const answer: StatsAnswer = {
          From: isoTime(from),
          To: isoTime(to),
          Interval: interval,
          GroupBy: groupBy?.[0] ?? null,
          Items: groups.map(({ name, counts }) => ({
            Group: groupBy === undefined ? null : name,
            ...figures(counts),
            Intervals: intervals(counts),
          })),
          Rest: result.rest === null ? null : { ...figures(result.rest), Intervals: intervals(result.rest) },
        };
        return json(answer);
      },
    },
  ];
}

/** From at the beginning of its interval, so that the first one is whole. Throws AppError invalid-parameter. */
function range(query: ReadonlyMap<string, string>, now: number): ['hour' | 'day', number, number] {
  const word = (queryText(query, 'Interval', 16) ?? 'day').toLowerCase();
  if (word !== 'hour' && word !== 'day') throw invalidParameter('Interval is hour or day', 'Interval');
  const { ms, usualMs, longestMs, longest } = INTERVALS[word];
  const to = queryTime(query, 'To') ?? now;
  const from = queryTime(query, 'From') ?? to - usualMs;
  if (from >= to) throw invalidParameter('From must be before To', 'From');
  if (to - from > longestMs) throw invalidParameter(`At most ${longest} by ${word}`, 'From');
  return [word, Math.floor(from / ms) * ms, to];
}

function wantedGroup(word: string | undefined) {
  if (word === undefined) return undefined;
  const group = GROUPS.get(word.toLowerCase());
  if (group === undefined) throw invalidParameter('GroupBy is Tag, Domain or RecipientDomain', 'GroupBy');
  return group;
}

function intervals(counts: readonly StatsCount[]): StatsInterval[] {
  const byTime = new Map<number, StatsCount[]>();
  for (const count of counts) byTime.set(count.at, [...(byTime.get(count.at) ?? []), count]);
  return [...byTime].map(([at, own]) => ({ At: isoTime(at), ...figures(own) }));
}

function figures(counts: readonly StatsCount[]): { Counts: StatsCounts; Rates: StatsRates } {
  const of = (kind: EventKind): number =>
    counts.reduce((sum, count) => (count.kind === kind ? sum + count.n : sum), 0);
  const share = (part: number, whole: number) =>
    whole === 0 ? null : Math.round((part / whole) * 1e6) / 1e6;
  const ended = of('delivered') + of('bounced') + of('failed');
  return {
    Counts: Object.fromEntries(KINDS.map((kind) => [wordOf(kind), of(kind)])),
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

function wordOf(kind: EventKind): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}
