import { expect, it } from 'vitest';
import { type Chart, chartHtml } from './chart.ts';

const CHART: Chart = {
  ...{ title: 'Waiting <mail>', says: 'Most: 8.', kind: 'stacked', atMs: [0, 120_000, 240_000], faults: [] },
  lines: [
    { name: 'google', counts: [0, 4, 0] },
    { name: 'yahoo', counts: [0, 4, 2] },
  ],
  time: (ms) => `${ms / 60_000} min`,
};
const paths = (html: string) => [...html.matchAll(/ d="(M[^"]* L[^"]*)"/g)].map(([, d]) => d);

it('stacked lines are areas above each other, the highest first', () => {
  expect(paths(chartHtml(CHART))).toEqual([
    'M0,300 L0,300 L500,0 L1000,225 V300 Z',
    'M0,300 L0,300 L500,150 L1000,300 V300 Z',
  ]);
});

it('other lines are drawn from zero', () => {
  expect(paths(chartHtml({ ...CHART, kind: 'lines' }))).toEqual([
    'M0,300 L500,0 L1000,150',
    'M0,300 L500,0 L1000,300',
  ]);
});

it('faults are shaded as far as they are within the time', () => {
  const bands = (faults: Chart['faults']) =>
    [...chartHtml({ ...CHART, faults }).matchAll(/class="band" x="([\d.]+)" y="0" width="([\d.]+)"/g)].map(
      ([, x, width]) => [Number(x), Number(width)],
    );
  expect(
    bands([
      { fromMs: 120_000, untilMs: 900_000 },
      { fromMs: 240_000, untilMs: 900_000 },
      { fromMs: -5, untilMs: 0 },
    ]),
  ).toEqual([[500, 500]]);
});

it('has its title and its sentence as text', () => {
  expect(chartHtml(CHART)).toContain('aria-label="Waiting &lt;mail&gt;. Most: 8."');
});
