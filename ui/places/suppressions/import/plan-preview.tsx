/** The first rows as they would be stored, how many of each reason, and the rows that would be refused. */
import type { InvalidRow } from '../../../../src/policy/suppressions/import-file.ts';
import { countOf } from '../../../components/count.ts';
import { type Columns, DataTable } from '../../../components/data-table.tsx';
import { Status } from '../../../components/status.tsx';
import { exactTime } from '../../../components/time.tsx';
import { reasonName } from '../reasons.ts';
import type { ShownPlan } from './open-file.ts';

type FirstRow = ShownPlan['first'][number];

/** Of the rows that are left out. */
const SHOWN = 100;

export function PlanPreview({ plan }: { plan: ShownPlan }) {
  const { count, first, wrongCount, wrong, expired, byReason } = plan;
  const counts = [...byReason].map(([reason, n]) => `${reasonName(reason)} ${n.toLocaleString()}`);
  return (
    <div className="grid gap-3">
      <p>
        <span className="font-semibold tabular-nums">{countOf(count, 'row')}</span>
        {counts.length > 0 && `: ${counts.join(', ')}`}
        {expired > 0 && `. Left out: ${expired.toLocaleString()} that have ended already`}
      </p>
      {count > 0 && (
        <DataTable label="The first rows" columns={COLUMNS} rows={first} keyOf={({ line }) => String(line)} />
      )}
      {wrongCount > 0 && <RefusedRows title="without an address" rows={wrong} count={wrongCount} />}
    </div>
  );
}

const COLUMNS: Columns<FirstRow> = [
  { name: 'Line', width: 'w-20', cell: ({ line }) => <span className="text-soft">{line}</span> },
  { name: 'Address', cell: ({ item }) => <bdi>{item.Email}</bdi> },
  { name: 'Reason', width: 'w-36', cell: ({ item }) => reasonName(item.Reason ?? '') },
  { name: 'Note', cell: ({ item }) => (item.Note ? <bdi className="line-clamp-2">{item.Note}</bdi> : null) },
  { name: 'Ends', width: 'w-52', cell: ({ item }) => endOf(item.ExpiresAt) },
];

export function RefusedRows({
  title,
  rows,
  count = rows.length,
}: {
  title: string;
  rows: readonly InvalidRow[];
  /** Where `rows` has the first of them only. */
  count?: number;
}) {
  return (
    <div className="grid gap-1">
      <Status
        isSentence
        status="Warning"
        words={`${countOf(count, 'row is', 'rows are')} left out: ${title}`}
      />
      <ul aria-label="Rows that are left out" className="grid max-h-48 overflow-y-auto text-xs">
        {rows.slice(0, SHOWN).map(({ line, text, problem }) => (
          <li key={line} className="flex flex-wrap gap-x-3">
            <span className="w-18 text-soft tabular-nums">line {line}</span>
            <bdi className="font-mono">{text === '' ? '(empty)' : text.slice(0, 120)}</bdi>
            <span className="text-soft">{problem}</span>
          </li>
        ))}
        {count > SHOWN && <li className="text-soft">and {(count - SHOWN).toLocaleString()} more</li>}
      </ul>
    </div>
  );
}

function endOf(at: string | undefined): string {
  if (at === undefined) return 'as its reason';
  return Number.isNaN(Date.parse(at)) ? at : exactTime(at);
}
