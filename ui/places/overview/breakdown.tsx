/** Groups by their events, the most first: how many, and what became of them. */
import type { ReactNode } from 'react';
import type { StatsAnswer } from '../../../src/client/api-types.ts';
import type { Measured } from '../../api/overview.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { NotYet } from '../../components/page.tsx';
import type { Live } from '../../components/use-live.ts';
import { percent } from './ranges.ts';

const SHOWN = 8;
/** Below this it is worth a look. */
const LOW = 0.9;

type Row = StatsAnswer['Items'][number];
export type Kind = 'Accepted' | 'Delivered' | 'Bounced' | 'Failed' | 'Complained' | 'Unsubscribed';

/**
 * `of`: what the groups are. `kinds`: what is counted, in this order. `delivered`: what the column of deliveries is
 * called. `name`, `count`: what leads further; without them it is text.
 */
export function Breakdown({
  answer,
  label,
  of,
  kinds,
  delivered = 'Delivered',
  name = (group) => <bdi>{group}</bdi>,
  count = (_row, _kind, text) => text,
}: {
  answer: Live<Measured>;
  label: string;
  of: string;
  kinds: readonly [Kind, ...Kind[]];
  delivered?: string;
  name?(group: string): ReactNode;
  count?(row: Row, kind: Kind, text: string): ReactNode;
}) {
  if (answer.data === undefined) return <NotYet error={answer.error} onAgain={answer.again} />;
  const rows = answer.data.stats.Items.filter(({ Group }) => Group !== null).slice(0, SHOWN);
  if (rows.length === 0) return <p className="text-soft">Nothing was sent in this time.</p>;
  const [first, ...others] = kinds.map(
    (kind): Column<Row> => ({
      name: kind === 'Delivered' ? delivered : kind,
      width: 'w-28',
      isNumber: true,
      cell(row) {
        const events = row.Counts[kind] ?? 0;
        if (events === 0) return kind === kinds[0] ? '0' : null;
        return count(row, kind, events.toLocaleString());
      },
    }),
  );
  return (
    <DataTable
      label={label}
      rows={rows}
      keyOf={({ Group }) => Group ?? ''}
      columns={[
        { name: of, cell: ({ Group }) => name(Group ?? '') },
        ...(first === undefined ? [] : [first]),
        {
          name: 'Delivery rate',
          width: 'w-28',
          isNumber: true,
          cell: ({ Rates: { Delivered } }) =>
            Delivered === null ? null : (
              <span className={Delivered < LOW ? 'text-warn' : ''}>{percent(Delivered)}</span>
            ),
        },
        ...others,
      ]}
    />
  );
}
