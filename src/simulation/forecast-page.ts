/**
 * A forecast as an HTML page: one file with its charts, without scripts or external content, for light and dark
 * themes and for phones. Each chart is described by a sentence, and its figures are in tables. Pure.
 */

import { escapeHtml } from '../lib/escape-html.ts';
import { type Chart, chartHtml } from './chart.ts';
import type { Forecast } from './forecast.ts';
import {
  conclusion,
  connectionsText,
  mailTable,
  memoryText,
  method,
  number,
  time,
  waitText,
  warmupLines,
} from './forecast-words.ts';

/** Rows of the table of figures over time. */
const MOST_ROWS = 36;

export function forecastPage(forecast: Forecast): string {
  const { series } = forecast;
  const { head, rows } = mailTable(forecast);
  const base = { atMs: series.atMs, faults: forecast.faults, time: (ms: number) => time(ms, forecast) };
  const most = (counts: readonly number[]) => number(Math.max(0, ...counts));
  const charts: Chart[] = [
    {
      ...base,
      title: 'Recipients that wait',
      says: `By provider, stacked. Most waited for: ${series.waiting.map(({ provider, counts }) => `${provider} ${most(counts)}`).join(', ')}.`,
      kind: 'stacked',
      lines: series.waiting.map(({ provider, counts }) => ({ name: provider, counts })),
    },
    {
      ...base,
      title: 'Recipients accepted and ended',
      says: `Accepted ${most(series.accepted)}, delivered or ended otherwise ${most(series.ended)}.`,
      kind: 'lines',
      lines: [
        { name: 'accepted', counts: series.accepted },
        { name: 'ended', counts: series.ended },
      ],
    },
    {
      ...base,
      title: 'Open connections',
      says: connectionsText(forecast),
      kind: 'stacked',
      lines: [{ name: 'connections', counts: series.connections }],
    },
  ];
  const waits = forecast.waits.map((wait) => [
    `${wait.place} ${wait.lane}`,
    waitText(wait, forecast),
    wait.reason,
  ]);
  const warmup = warmupLines(forecast).map(({ who, budgets }) => [who, budgets]);
  const faults = forecast.faults.map(({ at, what, fromMs, untilMs }) => [
    ...[at, what, time(fromMs, forecast), time(untilMs, forecast)],
  ]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>postrider simulate</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Simulated delivery</h1>
<p class="conclusion">${escapeHtml(conclusion(forecast))}</p>
${charts.map(chartHtml).join('\n')}
<h2>Mail</h2>
${tableHtml(head, rows, 'figures')}
<h2>What waited at most, and why</h2>
${waits.length === 0 ? '<p>Nothing waited for longer than its turn.</p>' : tableHtml(['MAIL', 'RECIPIENTS', 'WHY'], waits, 'words')}
${warmup.length === 0 ? '' : `<h2>Warm-up: messages a day</h2>\n${tableHtml(['SOURCE', 'FROM THE FIRST DAY ON'], warmup, 'words')}`}
${faults.length === 0 ? '' : `<h2>Faults of the plan</h2>\n${tableHtml(['AT', 'WHAT', 'FROM', 'UNTIL'], faults, 'words')}`}
<h2>Memory</h2>
<p>${escapeHtml(memoryText(forecast))}</p>
<h2>How it was simulated</h2>
<p>${escapeHtml(method(forecast))} Times are in UTC.</p>
<details>
<summary>Figures over time</summary>
${seriesTable(forecast)}
</details>
</main>
</body>
</html>
`;
}

function seriesTable(forecast: Forecast): string {
  const { atMs, accepted, ended, connections, waiting } = forecast.series;
  const every = Math.max(1, Math.ceil(atMs.length / MOST_ROWS));
  const rows = atMs.flatMap((ms, i) =>
    i % every === 0
      ? [
          [
            time(ms, forecast),
            ...[accepted[i], ended[i], connections[i]].map((n) => number(n ?? 0)),
            ...waiting.map(({ counts }) => number(counts[i] ?? 0)),
          ],
        ]
      : [],
  );
  const head = [
    'AT',
    'ACCEPTED',
    'ENDED',
    'CONNECTIONS',
    ...waiting.map(({ provider }) => `WAITING: ${provider}`),
  ];
  return tableHtml(head, rows, 'figures');
}

/** `figures`: every column except the first contains numbers. */
function tableHtml(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  kind: 'figures' | 'words',
): string {
  const cells = (row: readonly string[]) =>
    row
      .map((cell, i) =>
        i === 0 ? `<th scope="row">${escapeHtml(cell)}</th>` : `<td>${escapeHtml(cell)}</td>`,
      )
      .join('');
  return `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="${kind}">
<thead><tr>${head.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join('')}</tr></thead>
<tbody>
${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}
</tbody>
</table></div>`;
}

const STYLE = `
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #57606a; --line: #d4d9df; --band: #b4232318;
  --c0: #1f6feb; --c1: #d9730d; --c2: #1a8754; --c3: #9a4fc4; --c4: #c2366b; --c5: #0e8aa0; --c6: #7d6608; --c7: #6b7280; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12151a; --text: #e8eaed; --soft: #a0a8b3; --line: #363d47; --band: #ff7b7226;
    --c0: #6ea8ff; --c1: #ffa657; --c2: #4cc38a; --c3: #c79bf2; --c4: #ff86ae; --c5: #56c8dc; --c6: #d9bf4d; --c7: #9aa4b2; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.125rem; margin: 2.25rem 0 .5rem; }
.conclusion { font-size: 1.125rem; margin: 0 0 1rem; }
figure { margin: 2rem 0 0; } figcaption { font-weight: 600; } figure p { margin: .25rem 0 .5rem; color: var(--soft); font-size: .9375rem; }
.plot { display: grid; grid-template-columns: auto 1fr; column-gap: .5rem; font-size: .8125rem; color: var(--soft); }
.plot svg { width: 100%; height: 13rem; display: block; border: 1px solid var(--line); border-width: 0 0 1px 1px; }
.up { display: flex; flex-direction: column; justify-content: space-between; text-align: right; font-variant-numeric: tabular-nums; }
.along { grid-column: 2; display: flex; justify-content: space-between; margin-top: .25rem; font-variant-numeric: tabular-nums; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: .5rem 0 0; padding: 0; font-size: .875rem; }
.key i { display: inline-block; width: .75rem; height: .75rem; border-radius: 2px; margin-right: .375rem; }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; } .band { fill: var(--band); }
.curve { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--c0); }
table { border-collapse: collapse; font-size: .875rem; min-width: 100%; }
th, td { padding: .375rem .75rem .375rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); font-size: .75rem; white-space: nowrap; } tbody th { white-space: nowrap; }
.figures td, .figures th { white-space: nowrap; font-variant-numeric: tabular-nums; }
.figures td, .figures thead th + th { text-align: right; padding: .375rem 0 .375rem .75rem; }
.words td { min-width: 9rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  .words, .words tbody, .words tr, .words th, .words td { display: block; } .words thead { display: none; }
  .words tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } .words tbody th { font-weight: 600; }
  .words th, .words td { border: 0; padding: 0; }
}
details { margin-top: 2rem; } summary { cursor: pointer; font-weight: 600; margin-bottom: .5rem; }
`;
