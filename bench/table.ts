// The printed result: medians of each product's runs as one Markdown table, and a line that says what was run.
import type { Cost, Figures } from './measure.ts';

/** One product's runs. */
export type Row = { readonly name: string; readonly runs: readonly Figures[] };

type Column = { readonly title: string; readonly cell: (runs: readonly Figures[]) => string };

/** The table, one row a product. `oneAtATime` adds the times from acceptance to the sink; `tls` and several recipients what they are about. */
export function markdownTable(
  rows: readonly Row[],
  { oneAtATime, recipients, tls }: { oneAtATime: boolean; recipients: number; tls: boolean },
): string {
  const hasServer = rows.some(({ runs }) => runs.some(({ cost }) => cost.databasePer1000 !== null));
  const columns: Column[] = [
    median('accepted/s', (f) => f.acceptedPerS, 0),
    median('delivered/s', (f) => f.deliveredPerS, 0),
    median('CPU s/1000', (f) => f.cost.per1000, 3),
    median('cold', (f) => f.cold?.per1000 ?? Number.NaN, 3),
    ...(hasServer ? [median('database CPU s/1000', (f) => f.cost.databasePer1000 ?? Number.NaN, 3)] : []),
    median('CPU ÷ source and sink', (f) => f.cost.per1000 / f.cost.farPer1000, 2),
    median('cold', (f) => (f.cold === null ? Number.NaN : f.cold.per1000 / f.cold.farPer1000), 2),
    median('idle MiB', (f) => f.idleMiB, 0),
    median('peak MiB', (f) => f.peakMiB, 0),
    median('accept p50 ms', (f) => f.acceptP50, 2),
    median('accept p99 ms', (f) => f.acceptP99, 2),
    ...(oneAtATime
      ? [median('to sink p50 ms', (f) => f.deliverP50, 2), median('to sink p99 ms', (f) => f.deliverP99, 2)]
      : []),
    // Never a median: one lost message in one run is one too many.
    total('lost', (f) => f.lost),
    total('duplicates', (f) => f.duplicates),
    total('refused', (f) => f.refused + f.failed),
    total('signed', (f) => f.signed),
    ...(tls ? [total('over TLS', (f) => f.overTls)] : []),
    median('bytes at sink', (f) => f.meanBytes, 0),
    median('connections at sink', (f) => f.sinkConnections, 0),
    ...(recipients > 1 ? [median('deliveries a transaction', (f) => f.perTransaction, 1)] : []),
    ...(tls ? [median('deliveries a connection', (f) => f.perConnection, 1)] : []),
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return (
    line(['', ...columns.map((column) => column.title)]) +
    line(['---', ...columns.map(() => '---:')]) +
    rows.map((row) => line([row.name, ...columns.map((column) => column.cell(row.runs))])).join('')
  );
}

/** What a message of ours costs each thread, in µs, as medians of the runs. */
export function threadTable(rows: readonly Row[]): string {
  const ours = rows.filter(({ name, runs }) => name.startsWith('postrider') && runs.length > 0);
  const names = [
    ...new Set(ours.flatMap(({ runs }) => runs.flatMap(({ cost }) => [...cost.threads.keys()]))),
  ];
  const costs = ours.flatMap(({ name, runs }) => [
    { title: name, of: runs.map(({ cost }) => cost) },
    { title: `${name}, cold`, of: runs.flatMap(({ cold }) => (cold === null ? [] : [cold])) },
  ]);
  if (names.length === 0) return '';
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return (
    `\n${line(['µs a message', ...names, 'source and sink'])}${line(['---', ...names.map(() => '---:'), '---:'])}` +
    costs
      .filter(({ of }) => of.length > 0)
      .map(({ title, of }) => {
        const cell = (value: (cost: Cost) => number): string => (medianOf(of.map(value)) * 1000).toFixed(0);
        return line([
          title,
          ...names.map((name) => cell(({ threads }) => threads.get(name) ?? 0)),
          cell((c) => c.farPer1000),
        ]);
      })
      .join('')
  );
}

/** One run in one line, for the progress on stderr. */
export function summary(f: Figures): string {
  const text = [
    `accepted ${f.acceptedPerS.toFixed(0)}/s`,
    `delivered ${f.deliveredPerS.toFixed(0)}/s`,
    `CPU ${f.cost.per1000.toFixed(3)} s/1000 (${(f.cost.per1000 / f.cost.farPer1000).toFixed(2)} of source and sink)`,
    ...(f.cost.databasePer1000 === null ? [] : [`database CPU ${f.cost.databasePer1000.toFixed(3)}`]),
    `cold ${f.cold?.per1000.toFixed(3) ?? '–'}`,
    `${f.idleMiB.toFixed(0)}–${f.peakMiB.toFixed(0)} MiB`,
    `accept p50 ${f.acceptP50.toFixed(2)} p99 ${f.acceptP99.toFixed(2)} ms`,
    `to sink p50 ${f.deliverP50.toFixed(2)} p99 ${f.deliverP99.toFixed(2)} ms`,
    `lost ${f.lost}, duplicates ${f.duplicates}, refused ${f.refused}, failed ${f.failed}, signed ${f.signed}, over TLS ${f.overTls}`,
    `${f.perTransaction.toFixed(1)} deliveries a transaction, ${f.perConnection.toFixed(1)} a connection`,
  ].join(', ');
  return f.failures.length === 0 ? text : `${text}\n    ${f.failures.join('\n    ')}`;
}

/** The middle value; the mean of the two middle ones for an even number; NaN for none. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  return (low + high) / 2;
}

function median(title: string, of: (f: Figures) => number, digits: number): Column {
  return {
    title,
    cell(runs) {
      const middle = medianOf(runs.map(of));
      return Number.isNaN(middle) ? '–' : middle.toFixed(digits);
    },
  };
}

function total(title: string, of: (f: Figures) => number): Column {
  return {
    title,
    cell: (runs) => (runs.length === 0 ? '–' : String(runs.reduce((sum, f) => sum + of(f), 0))),
  };
}
