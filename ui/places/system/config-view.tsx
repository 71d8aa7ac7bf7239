/** The settings in force: value, where it comes from, what it means; what was set stands first. Secrets are never shown. */
import { useQuery } from '@tanstack/react-query';
import type { ConfigItem } from '../../../src/client/api-types.ts';
import { getConfig } from '../../api/system.ts';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { NothingFound } from '../../components/notice.tsx';
import { NotYet } from '../../components/page.tsx';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { Sentence } from '../../components/sentence.tsx';
import { found, sourceText } from './config-rows.ts';
import { CONFIG } from './keys.ts';

export function ConfigView() {
  const search = useSearchBox('/system');
  const { words: q, onWords } = search;
  const { data, error, refetch } = useQuery({ queryKey: CONFIG, queryFn: ({ signal }) => getConfig(signal) });
  if (data === undefined) return <NotYet error={error} onAgain={() => void refetch()} />;
  const rows = found(data.Items, q);
  return (
    <>
      <p className="max-w-prose text-soft">
        Settings are read at the start: from flags, the environment (POSTRIDER_…), postrider.json in the data
        folder, or defaults. They are changed there, not here.
      </p>
      <div className="flex max-w-md">
        <SearchBox {...search} label="Find a setting" placeholder="Key, value or meaning" />
      </div>
      {rows.length === 0 ? (
        <NothingFound title="Nothing found" words={q} all="Show all settings" onAll={() => onWords('')} />
      ) : (
        <DataTable label="Settings" columns={COLUMNS} rows={rows} keyOf={({ Key }) => Key} />
      )}
    </>
  );
}

const COLUMNS: Columns<ConfigItem> = [
  { name: 'Key', width: 'w-56', cell: ({ Key }) => <span className="font-mono text-xs">{Key}</span> },
  {
    name: 'Value',
    width: 'w-3/12',
    cell: ({ Value, Default, Source }) => (
      <>
        {Value === null || Value === '' ? (
          <span className="text-soft">not set</span>
        ) : (
          <bdi className="font-mono text-xs">{Value}</bdi>
        )}
        {Source !== 'default' && Default !== Value && (
          <span className="block text-soft text-xs">default: {Default || 'not set'}</span>
        )}
      </>
    ),
  },
  {
    name: 'From',
    width: 'w-32',
    cell: (item) => <span className={item.Source === 'default' ? 'text-soft' : ''}>{sourceText(item)}</span>,
  },
  { name: 'Meaning', cell: ({ Meaning }) => <Sentence text={Meaning} /> },
];
