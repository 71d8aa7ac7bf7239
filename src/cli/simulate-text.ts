/** A forecast as the command prints it, for 80 columns. Pure, but for the width of the terminal. */
import type { Forecast } from '../simulation/forecast.ts';
import {
  conclusion,
  connectionsText,
  mailTable,
  memoryText,
  method,
  waitText,
  warmupLines,
} from '../simulation/forecast-words.ts';
import { printable, type Screen, styled, table, wrapped } from './terminal.ts';

export function forecastText(forecast: Forecast, stdout: Screen): string {
  const heading = (text: string) => styled(stdout, 'bold', text);
  const { head, rows } = mailTable(forecast);
  // Names are aligned left, figures right.
  const widths = head.map((text, i) => Math.max(text.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const aligned = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell : cell.padStart(widths[i] ?? 0)));
  const waits = forecast.waits.flatMap((wait) => [
    `  ${`${wait.place} ${wait.lane}`.padEnd(20)}  ${waitText(wait, forecast)}`,
    `      ${wrapped(stdout, 6, printable(wait.reason))}`,
  ]);
  const warmup = warmupLines(forecast).map(
    ({ who, budgets }) => `  ${who}\n      ${wrapped(stdout, 6, budgets)}`,
  );
  return [
    heading(wrapped(stdout, 0, conclusion(forecast))),
    table([aligned(head), ...rows.map(aligned)]).replace(/^.*/, heading),
    forecast.waits.length === 0
      ? 'Nothing waited for longer than its turn.'
      : [heading('What waited at most, and why'), ...waits].join('\n'),
    ...(warmup.length === 0 ? [] : [[heading('Warm-up: messages a day'), ...warmup].join('\n')]),
    [
      `${heading('Connections')}  ${wrapped(stdout, 13, connectionsText(forecast))}`,
      `${heading('Memory')}       ${wrapped(stdout, 13, memoryText(forecast))}`,
    ].join('\n'),
    wrapped(stdout, 0, method(forecast)),
  ].join('\n\n');
}
