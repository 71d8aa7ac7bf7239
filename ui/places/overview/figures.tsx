/** What was sent: events over time as small charts over the same hours or days, and who sent and took the most. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { StatsAnswer } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { getStats, type Measured } from '../../api/overview.ts';
import { NotYet, Section } from '../../components/page.tsx';
import { quoted } from '../../components/search-text.ts';
import { useLive } from '../../components/use-live.ts';
import { BarChart } from './bar-chart.tsx';
import { Breakdown } from './breakdown.tsx';
import { durationText, secondsFor } from './delivery-times.ts';
import {
  type Bars,
  barsOf,
  beforeOf,
  comparison,
  percent,
  queryOf,
  type Range,
  type RangeName,
  rangeOf,
} from './ranges.ts';

/** Of twelve columns, where there is room for them. */
const WIDE = 'min-[44rem]:col-span-4';
const NARROW = 'min-[44rem]:col-span-6 min-[64rem]:col-span-3';

/** The server counts events anew: what took it long is asked for more rarely, so that twenty pages stay cheap. */
const everyMs = (last: Measured | undefined) => Math.max(60_000, (last?.tookMs ?? 0) * 1_200);

/**
 * `to`, `words`: where what was counted is found; nowhere for deferrals, most of which were followed by a delivery, and for what
 * was given up, because the status of a message that bounced is Failed too.
 */
const SHOWN = [
  { kind: 'Accepted', fill: 'fill-accent-fill', width: WIDE, to: '/messages', words: '' },
  { kind: 'Delivered', fill: 'fill-good', width: WIDE, to: '/messages', words: 'status:delivered' },
  { kind: 'Deferred', fill: 'fill-warn', width: WIDE, to: null, words: '' },
  { kind: 'Bounced', fill: 'fill-bad', width: NARROW, to: '/messages', words: 'status:bounced' },
  { kind: 'Failed', fill: 'fill-bad', width: NARROW, to: null, words: '' },
  { kind: 'Complained', fill: 'fill-bad', width: NARROW, to: '/suppressions', words: 'reason:complaint' },
  {
    kind: 'Unsubscribed',
    fill: 'fill-warn',
    width: NARROW,
    to: '/suppressions',
    words: 'reason:unsubscribe',
  },
] as const;

/** Where all mail is captured, captured mail is counted as delivered. */
const CAPTURED = { name: 'Captured', fill: 'fill-kept', words: 'status:captured' } as const;

/** `domain`: of the only sender domain that is counted. `captures`: nothing leaves the server. */
export function Figures({
  range: name,
  domain,
  captures,
}: {
  range: RangeName;
  domain: string | undefined;
  captures: boolean;
}) {
  const { data: me } = useQuery(ME);
  const range = rangeOf(name);
  const ask = (more: object) => (signal: AbortSignal) =>
    getStats({ ...queryOf(range, Date.now()), Domain: domain, ...more }, signal);
  const all = useLive(['stats', name, domain], ask({}), everyMs);
  const before = useLive(
    ['stats', name, domain, 'before'],
    (signal) => getStats({ ...beforeOf(range, Date.now()), Domain: domain }, signal),
    everyMs,
  );
  const to = useLive(['stats', name, domain, 'to'], ask({ GroupBy: 'Provider' }), everyMs);
  const times = useLive(['stats', name, domain, 'times'], ask({ GroupBy: 'DeliveryTime' }), everyMs);
  const from = useLive(
    ['stats', name, domain, 'from'],
    ask({ GroupBy: domain === undefined ? 'Domain' : 'Tag' }),
    everyMs,
  );
  if (all.data === undefined)
    return (
      // About as high as the charts, so that choosing another range does not scroll the page.
      <div className="min-h-screen">
        <NotYet error={all.error} onAgain={all.again} />
      </div>
    );
  const counts = all.data.stats.Items[0]?.Counts;
  if (SHOWN.every(({ kind }) => (counts?.[kind] ?? 0) === 0))
    return (
      <div className="grid gap-1">
        <p className="text-soft">Nothing was sent in {range.long}.</p>
        <Before before={before.data?.stats} range={range} />
      </div>
    );
  /** Where mail of a group is found. */
  const words = (...found: readonly string[]) =>
    [...found, ...ofDomain(domain), `since:${range.value}`].join(' ');
  const messages = (q: string, text: string, label?: string) =>
    mayDo(me, 'email:read') ? (
      <Link to="/messages" search={{ q }} aria-label={label} className="text-accent underline">
        <bdi>{text}</bdi>
      </Link>
    ) : (
      <bdi>{text}</bdi>
    );
  return (
    <div className="grid grid-cols-1 gap-6">
      <Charts stats={all.data.stats} range={range} domain={domain} captures={captures} />
      <Before now={all.data.stats} before={before.data?.stats} range={range} />
      {times.data !== undefined && <DeliveryTimes stats={times.data.stats} captures={captures} />}
      <Section
        title="Receiving providers"
        aside="counted when it happened; the lists go by when the mail was accepted"
      >
        <Breakdown
          answer={to}
          label="Receiving providers"
          of="Provider or domain"
          kinds={['Delivered', 'Bounced', 'Failed', 'Complained', 'Unsubscribed']}
          {...(captures ? { delivered: CAPTURED.name } : {})}
          count={({ Group, IsProvider }, kind, text) =>
            // The mail to a provider of many domains cannot be searched for; what was given up neither, as above.
            !IsProvider && (kind === 'Delivered' || kind === 'Bounced')
              ? messages(
                  words(
                    kind === 'Delivered' && captures ? CAPTURED.words : `status:${kind.toLowerCase()}`,
                    `@${Group}`,
                  ),
                  text,
                  `${kind === 'Delivered' && captures ? CAPTURED.name : kind} to ${Group}: ${text}`,
                )
              : text
          }
        />
      </Section>
      {domain === undefined ? (
        <Section title="Sender domains">
          <Breakdown
            answer={from}
            label="Sender domains"
            of="Domain"
            kinds={['Accepted', 'Bounced', 'Failed', 'Complained', 'Unsubscribed']}
            name={(group) => (
              <Link
                to="/overview"
                search={(before) => ({ ...before, domain: group })}
                className="block text-accent underline"
              >
                <bdi>{group}</bdi>
              </Link>
            )}
            count={({ Group }, kind, text) =>
              kind === 'Accepted' || kind === 'Bounced'
                ? messages(
                    words(...(kind === 'Bounced' ? ['status:bounced'] : []), `domain:${quoted(Group ?? '')}`),
                    text,
                    `${kind} from ${Group}: ${text}`,
                  )
                : text
            }
          />
        </Section>
      ) : (
        <Section title="Tags" aside="of its messages">
          <Breakdown
            answer={from}
            label="Tags"
            of="Tag"
            kinds={['Accepted', 'Bounced', 'Failed', 'Complained', 'Unsubscribed']}
            name={(group) =>
              group === '' ? (
                <span className="text-soft">without a tag</span>
              ) : (
                messages(words(`tag:${quoted(group)}`), group)
              )
            }
          />
        </Section>
      )}
    </div>
  );
}

const ofDomain = (domain: string | undefined) => (domain === undefined ? [] : [`domain:${domain}`]);

/** Compares with the period before. Shows nothing if no mail was accepted in that. */
function Before({
  now,
  before,
  range,
}: {
  now?: StatsAnswer;
  before: StatsAnswer | undefined;
  range: Range;
}) {
  const [was] = before?.Items ?? [];
  const [is] = now?.Items ?? [];
  const accepted = was?.Counts.Accepted ?? 0;
  if (was === undefined || accepted === 0) return null;
  const count = is?.Counts.Accepted ?? 0;
  return (
    <p className="text-soft">
      {is === undefined ? (
        `Accepted in ${range.before}: ${accepted.toLocaleString()}.`
      ) : (
        <>
          <Strong>{count.toLocaleString()}</Strong> accepted, {comparison(count, accepted)} in {range.before}{' '}
          ({accepted.toLocaleString()}).
        </>
      )}
      {is?.Rates.Bounced != null && was.Rates.Bounced !== null && (
        <>
          {' '}
          <Strong>{percent(is.Rates.Bounced)}</Strong> bounced, compared with {percent(was.Rates.Bounced)}.
        </>
      )}
    </p>
  );
}

function Strong({ children }: { children: ReactNode }) {
  return <span className="font-semibold text-ink tabular-nums">{children}</span>;
}

function DeliveryTimes({ stats, captures }: { stats: StatsAnswer; captures: boolean }) {
  const half = secondsFor(0.5, stats);
  const most = secondsFor(0.99, stats);
  if (half === null || most === null) return null;
  return (
    <p className="text-soft">
      Of what was {captures ? 'captured' : 'delivered'}, half took <Duration seconds={half} />, and{' '}
      {percent(0.99)} took <Duration seconds={most} />.
    </p>
  );
}

/** Beyond the longest time that is counted, mail has mostly been given up. */
function Duration({ seconds }: { seconds: number }) {
  const words = Number.isFinite(seconds) ? `at most ${durationText(seconds)}` : 'up to more than 3 days';
  return <Strong>{words}</Strong>;
}

function Charts(props: { stats: StatsAnswer; range: Range; domain: string | undefined; captures: boolean }) {
  const { stats, range, domain, captures } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const bars = barsOf(stats, range);
  const [all] = stats.Items;
  return (
    <div className="grid grid-cols-2 gap-x-4 gap-y-5 min-[44rem]:grid-cols-12 min-[44rem]:gap-x-6">
      {SHOWN.map(({ kind, width, to, ...others }) => ({
        ...{ kind, width, to, name: kind, ...others },
        ...(kind === 'Delivered' && captures ? CAPTURED : {}),
      })).map(({ kind, name, fill, width, to, words }) => (
        <figure key={kind} className={`grid min-w-0 grid-cols-[minmax(0,1fr)] content-end gap-1 ${width}`}>
          <Caption
            kind={kind}
            name={name}
            to={to}
            words={[words, ...ofDomain(domain), `since:${range.value}`].join(' ').trim()}
            total={all?.Counts[kind] ?? 0}
            rates={all?.Rates}
            bars={bars}
            pointed={pointed}
            range={range}
          />
          <BarChart
            label={`${name} in ${range.long}: ${all?.Counts[kind] ?? 0}`}
            counts={bars.counts(kind)}
            fill={fill}
            pointed={pointed}
            textOf={(place) =>
              `${(bars.counts(kind)[place] ?? 0).toLocaleString()}, ${barText(bars.at[place] ?? 0, range)}`
            }
            onPoint={setPointed}
          />
          <div
            className={`flex whitespace-nowrap text-xs tabular-nums ${pointed === null ? 'justify-between text-soft' : 'justify-center'}`}
            aria-hidden
          >
            {pointed === null ? (
              <>
                <span>{timeText(bars.at[0] ?? 0, range)}</span>
                <span>now</span>
              </>
            ) : (
              <span>{barText(bars.at[pointed] ?? 0, range)}</span>
            )}
          </div>
        </figure>
      ))}
    </div>
  );
}

function Caption(props: {
  kind: (typeof SHOWN)[number]['kind'];
  name: string;
  to: (typeof SHOWN)[number]['to'];
  /** What is looked for there. */
  words: string;
  total: number;
  rates: StatsAnswer['Items'][number]['Rates'] | undefined;
  bars: Bars;
  pointed: number | null;
  range: Range;
}) {
  const { kind, name, to, words, total, rates, bars, pointed, range } = props;
  const { data: me } = useQuery(ME);
  const mayFollow = to !== null && mayDo(me, to === '/messages' ? 'email:read' : 'suppressions:read');
  const rate = kind === 'Accepted' || kind === 'Deferred' ? null : (rates?.[kind] ?? null);
  return (
    <figcaption className="[word-spacing:0.25rem]">
      <span className="max-[44rem]:block">{name}</span>{' '}
      {pointed === null ? (
        <>
          {mayFollow && total > 0 ? (
            <Link
              to={to}
              search={{ q: words }}
              aria-label={`${name} in ${range.long}: ${total.toLocaleString()}`}
              className="font-semibold text-accent tabular-nums underline"
            >
              {total.toLocaleString()}
            </Link>
          ) : (
            <span className="font-semibold tabular-nums">{total.toLocaleString()}</span>
          )}
          {rate !== null && (
            <>
              {' '}
              <span className="whitespace-nowrap text-soft tabular-nums">{percent(rate)}</span>
            </>
          )}
        </>
      ) : (
        <span className="font-semibold tabular-nums">
          {(bars.counts(kind)[pointed] ?? 0).toLocaleString()}
        </span>
      )}
    </figcaption>
  );
}

const HOURS = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
/** A week begins and ends on the same day. */
const DATES = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
});
/** The server counts days of UTC. */
const DAYS = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
  timeZoneName: 'short',
});

function timeText(at: number, { value, interval }: Range): string {
  return (interval === 'day' ? DAYS : value === '24h' ? HOURS : DATES).format(at);
}

/** What time a bar counts: `Nov 23, 6:00 AM + 6 h`. */
function barText(at: number, range: Range): string {
  const text = timeText(at, range);
  return range.interval === 'day' ? text : `${text} + ${range.barMs / 3_600_000} h`;
}
