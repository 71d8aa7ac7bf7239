/** Limits in force, and where the value of each comes from. */
import type { PathLimit } from '../../../src/client/api-types.ts';
import { countText } from '../../components/count.ts';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { Until } from '../../components/time.tsx';

const FROM = {
  data: 'shipped data',
  user: 'shaping.json',
  config: 'configuration',
  override: 'learned',
} as const;

export function LimitsTable({ limits }: { limits: readonly PathLimit[] }) {
  return <DataTable label="Limits" columns={COLUMNS} rows={limits} keyOf={({ Name }) => Name} />;
}

const COLUMNS: Columns<PathLimit> = [
  { name: 'Limit', width: 'w-4/12', cell: ({ Name }) => <span className="font-mono text-xs">{Name}</span> },
  { name: 'Value', width: 'w-32', cell: ({ Name, Value }) => valueText(Name, Value) },
  {
    name: 'From',
    cell: ({ From, Detail, Until: until }) => (
      <span className="text-soft">
        {FROM[From]}
        {Detail !== '' && `: ${Detail}`}
        {until !== null && (
          <>
            , <Until at={until} before="ends" after="ended" />
          </>
        )}
      </span>
    ),
  },
];

/** Times are named by their unit. */
function valueText(name: string, value: number | string | null): string {
  if (value === null) return 'none';
  if (typeof value === 'string') return value;
  return name.endsWith('Ms') ? `${countText(value)} ms` : countText(value);
}
