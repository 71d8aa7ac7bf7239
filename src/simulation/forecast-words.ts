/** Numbers, times and conclusions of a forecast in words, for the terminal and the page. Pure. */
import type { Forecast, GroupForecast } from './forecast.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `2,000,000`. */
export function number(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** `10:42`, or `day 2, 10:42` where there are several. */
export function time(atMs: number, { days }: Pick<Forecast, 'days'>): string {
  const day = Math.floor(atMs / DAY);
  const clock = new Date(Math.floor(atMs / MINUTE) * MINUTE).toISOString().slice(11, 16);
  return days === 1 && day === 0 ? clock : `day ${day + 1}, ${clock}`;
}

/** `380 ms`, `12 s`, `41 min`, `3.5 h`, `2.1 days`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE) return `${round(ms / SECOND)} s`;
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${round(ms / HOUR)} h`;
  return `${round(ms / DAY)} days`;
}

function round(value: number): number {
  return value >= 10 ? Math.round(value) : Math.round(value * 10) / 10;
}

function count(n: number, one: string): string {
  return `${number(n)} ${one}${n === 1 ? '' : 's'}`;
}

/** The size of the plan, and when everything is delivered. */
export function conclusion(forecast: Forecast): string {
  const { recipients, days, nodes, doneAtMs, groups, interrupted, untilMs } = forecast;
  const about = `${count(recipients, 'recipient')} on ${count(days, 'day')}, ${count(nodes, 'node')}`;
  if (interrupted)
    return `${about}: stopped at ${time(untilMs, forecast)} of the plan; this is what is known until then.`;
  const waiting = sum(groups, 'waiting');
  if (doneAtMs === null)
    return `${about}: at ${time(untilMs, forecast)} ${number(waiting)} still wait, so the plan does not come to an end.`;
  const lost = sum(groups, 'bounced') + sum(groups, 'expired') + sum(groups, 'refused');
  const all = lost === 0 ? 'everything is delivered' : 'everything has ended';
  const notAll = lost === 0 ? '' : `; ${number(lost)} are not delivered`;
  return `${about}: ${all} by ${time(doneAtMs, forecast)}${notAll}.`;
}

/** How it was simulated, and how exact that is. */
export function method({ simulated, recipients, weight, exactToMs, tookMs }: Forecast): string {
  const took = `It took ${duration(tookMs)}.`;
  if (weight === 1) return `Each of ${count(recipients, 'recipient')} was simulated. ${took}`;
  return `${number(simulated)} of ${number(recipients)} recipients were simulated, each for ${weight}, with rates and times scaled alike. So times are exact to ${duration(exactToMs)}, numbers to some ${number(weight)}, and shorter delivery times say nothing. --exact simulates everyone. ${took}`;
}

export function connectionsText(forecast: Forecast): string {
  const { peak, peakAtMs, places } = forecast.connections;
  if (peak === 0) return 'No connection was opened.';
  const each = places
    .filter((one) => one.peak > 0)
    .map((one) => `${one.place} ${one.peak}`)
    .join(', ');
  return `At most ${count(peak, 'connection')} at once, at ${time(peakAtMs, forecast)} (${each}).`;
}

export function memoryText({ memory, nodes }: Forecast): string {
  return `About ${memory.mebibytes} MiB${nodes === 1 ? '' : ' for each node'}, with at most ${number(memory.rows)} recipient${memory.rows === 1 ? '' : 's'} in memory (an estimate).`;
}

/** Columns of the table of mail; those that are 0 everywhere are left out. */
export function mailTable(forecast: Forecast): { head: string[]; rows: string[][] } {
  const { groups } = forecast;
  const several = new Set(groups.map(({ sender }) => sender)).size > 1;
  const columns: [string, (group: GroupForecast) => string, boolean][] = [
    ['MAIL', ({ provider, lane, sender }) => `${provider} ${lane}${several ? ` ${sender}` : ''}`, true],
    ['RECIPIENTS', ({ recipients }) => number(recipients), true],
    ['DELIVERED', ({ delivered }) => number(delivered), true],
    ['BOUNCED', ({ bounced }) => number(bounced), sum(groups, 'bounced') > 0],
    ['GIVEN UP', ({ expired }) => number(expired), sum(groups, 'expired') > 0],
    ['REFUSED', ({ refused }) => number(refused), sum(groups, 'refused') > 0],
    ['WAITING', ({ waiting }) => number(waiting), sum(groups, 'waiting') > 0],
    ['HALF IN', ({ delivery }) => (delivery === null ? '-' : duration(delivery.halfMs)), true],
    ['99 % IN', ({ delivery }) => (delivery === null ? '-' : duration(delivery.mostMs)), true],
    ['LAST AT', ({ lastAtMs }) => (lastAtMs === null ? '-' : time(lastAtMs, forecast)), true],
  ];
  const shown = columns.filter(([, , isShown]) => isShown);
  return {
    head: shown.map(([head]) => head),
    rows: groups.map((group) => shown.map(([, text]) => text(group))),
  };
}

/** Budgets of one source at one provider, day by day. */
export function warmupLines({ warmup }: Forecast): { who: string; budgets: string }[] {
  const found = Map.groupBy(warmup, ({ source, provider }) => `${source} at ${provider}`);
  return [...found].map(([who, days]) => ({
    who,
    budgets: days.map(({ budget }) => (budget === null ? 'no limit' : number(budget))).join(' · '),
  }));
}

/** When and how much waited. */
export function waitText(wait: Forecast['waits'][number], forecast: Forecast): string {
  const span =
    wait.fromMs === wait.untilMs
      ? ''
      : `, from ${time(wait.fromMs, forecast)} to ${time(wait.untilMs, forecast)}`;
  return `${number(wait.peak)} at ${time(wait.peakAtMs, forecast)}${span}`;
}

function sum(groups: readonly GroupForecast[], of: 'bounced' | 'expired' | 'refused' | 'waiting'): number {
  return groups.reduce((total, group) => total + group[of], 0);
}
