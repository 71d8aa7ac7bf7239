/**
 * A chart over time as HTML with an SVG inside. The drawing is stretched to the width of the page; labels are HTML
 * text beside it, so that they keep their size on a phone. Pure.
 */

import { escapeHtml } from '../lib/escape-html.ts';
import { number } from './forecast-words.ts';

export interface Chart {
  title: string;
  /** The content of the chart in words, for screen readers too. */
  says: string;
  /** `stacked`: areas one above the other. */
  kind: 'stacked' | 'lines';
  atMs: readonly number[];
  lines: readonly { name: string; counts: readonly number[] }[];
  /** Shaded. */
  faults: readonly { fromMs: number; untilMs: number }[];
  time(ms: number): string;
}

const DAY_MS = 86_400_000;
const WIDTH = 1000;
const HEIGHT = 300;
const COLOURS = 8;
const STEPS = 4;
const LABELS = 5;
/** Points that a line has at most. */
const MOST_POINTS = 500;

export function chartHtml(chart: Chart): string {
  const { title, says, lines, kind, atMs, time } = chart;
  const every = Math.max(1, Math.ceil(atMs.length / MOST_POINTS));
  const places = atMs.map((_, i) => i).filter((i) => i % every === 0 || i === atMs.length - 1);
  const fromMs = 0;
  const untilMs = roundTime(atMs.at(-1) ?? 1);
  const tops = stacked(chart, places);
  const most = roundUp(Math.max(1, ...tops.flat()));
  const x = (ms: number) => round(((ms - fromMs) / Math.max(1, untilMs - fromMs)) * WIDTH);
  const y = (count: number) => round(HEIGHT - (count / most) * HEIGHT);
  const label = (ms: number) =>
    untilMs > 4 * DAY_MS ? `day ${Math.round(ms / DAY_MS) + 1}` : time(ms).replace('day ', 'd');
  const colour = (i: number) => `var(--c${i % COLOURS})`;
  const path = (counts: readonly number[]) =>
    counts.map((count, i) => `${x(atMs[places[i] ?? 0] ?? 0)},${y(count)}`).join(' L');
  const drawn = tops
    .map((top, i) =>
      kind === 'lines'
        ? `<path class="curve" stroke="${colour(i)}" d="M${path(top)}"/>`
        : `<path fill="${colour(i)}" d="M0,${HEIGHT} L${path(top)} V${HEIGHT} Z"/>`,
    )
    // The highest area is drawn first, so that those below it stay visible.
    .reverse();
  const bands = chart.faults
    .filter((fault) => fault.fromMs < untilMs && fault.untilMs > fromMs)
    .map((fault) => {
      const [left, right] = [x(Math.max(fromMs, fault.fromMs)), x(Math.min(untilMs, fault.untilMs))];
      return `<rect class="band" x="${left}" y="0" width="${round(right - left)}" height="${HEIGHT}"/>`;
    });
  const steps = Array.from({ length: STEPS + 1 }, (_, i) => (most * (STEPS - i)) / STEPS);
  const grid = steps.slice(0, -1).map((count) => `<path class="grid" d="M0,${y(count)} H${WIDTH}"/>`);
  const along = Array.from({ length: LABELS }, (_, i) => fromMs + ((untilMs - fromMs) * i) / (LABELS - 1));
  const names = [
    ...lines.map(({ name }, i) => [name, colour(i)]),
    ...(bands.length > 0 ? [['a fault', 'var(--band)']] : []),
  ];
  return `<figure>
<figcaption>${escapeHtml(title)}</figcaption>
<p>${escapeHtml(says)}</p>
<div class="plot">
<div class="up" aria-hidden="true">${steps.map((count) => `<span>${number(count)}</span>`).join('')}</div>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(`${title}. ${says}`)}">${grid.join('')}${drawn.join('')}${bands.join('')}</svg>
<div class="along" aria-hidden="true">${along.map((ms) => `<span>${escapeHtml(label(ms))}</span>`).join('')}</div>
</div>
<ul class="key">${names.map(([name = '', fill = '']) => `<li><i style="background:${fill}"></i>${escapeHtml(name)}</li>`).join('')}</ul>
</figure>`;
}

/** The upper edge of every line; of stacked lines above the sum of the earlier ones. */
function stacked({ lines, kind }: Chart, places: readonly number[]): number[][] {
  const tops: number[][] = [];
  for (const { counts } of lines) {
    const below = kind === 'stacked' ? tops.at(-1) : undefined;
    tops.push(places.map((place, i) => (counts[place] ?? 0) + (below?.[i] ?? 0)));
  }
  return tops;
}

/** The next number that divides well: 4, 8, 12, 20, 40, … */
function roundUp(count: number): number {
  if (count <= 40) return Math.ceil(count / STEPS) * STEPS;
  const unit = 10 ** Math.floor(Math.log10(count));
  const found = [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].map((n) => n * unit).find((n) => n >= count) ?? count;
  return found;
}

/** The next time that can be divided by four into round times. */
function roundTime(ms: number): number {
  if (ms > 4 * DAY_MS) return Math.ceil(ms / (4 * DAY_MS)) * 4 * DAY_MS;
  const unit = ms > 3 * 3_600_000 ? 4 * 3_600_000 : ms > 600_000 ? 1_200_000 : 240_000;
  return Math.ceil(ms / unit) * unit;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
