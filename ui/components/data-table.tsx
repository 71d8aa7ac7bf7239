/**
 * Rows of facts: a table where there is room for its columns, on a phone a list whose facts have their column's name before
 * them. The first column names the row; what can be done with it stands at the end.
 */
import type { ReactNode } from 'react';
import { useMedia } from './media.ts';

const TABLE = '(min-width: 58rem)';
/** For so many columns that those without a width would be too narrow to read. */
export const WIDE_TABLE = '(min-width: 72rem)';

export interface Column<Row> {
  name: string;
  /** null: nothing to say; on a phone the line is left out. */
  cell(row: Row): ReactNode;
  /** Class of its width in the table; the others share what is left. */
  width?: string;
  isNumber?: true;
}

/** The first names the row. */
export type Columns<Row> = readonly [Column<Row>, ...Column<Row>[]];

export function DataTable<Row>({
  label,
  columns,
  rows,
  keyOf,
  isOld = false,
  isWide = false,
  actions = false,
  actionsWidth = 'w-12',
}: {
  label: string;
  columns: Columns<Row>;
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** What is looked for now is not here yet. */
  isOld?: boolean;
  /** It has many columns: a table only where there is room for them. */
  isWide?: boolean;
  actions?: ((row: Row) => ReactNode) | false;
  /** Class of the width of their column: by itself one icon wide. */
  actionsWidth?: string;
}) {
  const isTable = useMedia(isWide ? WIDE_TABLE : TABLE);
  const [title, ...facts] = columns;
  if (!isTable)
    return (
      <ul
        aria-label={label}
        aria-busy={isOld}
        className={`grid border-line border-t ${isOld ? 'opacity-60' : ''}`}
      >
        {rows.map((row) => (
          <li key={keyOf(row)} className="flex items-start gap-2 border-line border-b py-2.5">
            <div className="grid min-w-0 flex-1 gap-0.5">
              <div className="font-semibold">{title.cell(row)}</div>
              {facts.map((column) => {
                const fact = column.cell(row);
                return fact === null ? null : (
                  <div key={column.name} className="flex gap-2">
                    <span className="w-24 shrink-0 text-soft text-xs leading-5">{column.name}</span>
                    <div className="min-w-0 flex-1">{fact}</div>
                  </div>
                );
              })}
            </div>
            {actions !== false && actions(row)}
          </li>
        ))}
      </ul>
    );
  return (
    <table
      aria-label={label}
      aria-busy={isOld}
      className={`w-full table-fixed border-collapse text-left tabular-nums ${isOld ? 'opacity-60' : ''}`}
    >
      <thead className="border-line border-b text-soft text-xs">
        <tr>
          {columns.map(({ name, width = '', isNumber }) => (
            <th
              key={name}
              scope="col"
              className={`px-2 py-1.5 font-normal first:pl-0 ${width} ${isNumber ? 'text-right' : ''}`}
            >
              {name}
            </th>
          ))}
          {actions !== false && (
            <th scope="col" className={`py-1.5 ${actionsWidth}`}>
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} className="border-line border-b align-top">
            <th scope="row" className="py-2 pr-2 font-normal">
              {title.cell(row)}
            </th>
            {facts.map((column) => (
              <td key={column.name} className={`px-2 py-2 ${column.isNumber ? 'text-right' : ''}`}>
                {column.cell(row)}
              </td>
            ))}
            {actions !== false && <td className="py-1 text-right">{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
