/**
 * The suppressions: who is not sent to, by which sender domain, why and until when. Taken off with ten seconds to undo it;
 * added by hand, imported, exported. What is looked for stands in the address.
 */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Ban, Plus, Upload } from 'lucide-react';
import { useMemo, useState } from 'react';
import { ME, mayDo } from '../../api/me.ts';
import { listSuppressions, SUPPRESSIONS } from '../../api/suppressions.ts';
import { Button } from '../../components/button.tsx';
import { Listing } from '../../components/more-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { AddDialog } from './add-dialog.tsx';
import { ExportButton } from './export-button.tsx';
import { ReasonMenu } from './reason-menu.tsx';
import { readSearch, SEARCH_EXAMPLES } from './search-words.ts';
import { SuppressionRows } from './suppression-rows.tsx';

export function SuppressionsPlace() {
  const search = useSearchBox('/suppressions');
  const { words: q, onWords } = search;
  const { data: me } = useQuery(ME);
  const mayChange = mayDo(me, 'suppressions:write');
  const [isAdding, setAdding] = useState(false);
  const { filters, problem } = useMemo(() => readSearch(q, Date.now()), [q]);
  const list = usePages(
    [...SUPPRESSIONS, 'list', q],
    (after, signal) => listSuppressions(filters, after, signal),
    { isSearch: true },
  );
  const tools = (
    <div className="ml-auto flex flex-wrap justify-end gap-2">
      <ExportButton filters={filters} />
      {mayChange && (
        <>
          <Link
            to="/suppressions/import"
            className="inline-flex min-h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 py-1 hover:bg-hover"
          >
            <Upload size={14} aria-hidden /> Import…
          </Link>
          <Button look="main" onClick={() => setAdding(true)}>
            <Plus size={14} aria-hidden /> Add…
          </Button>
        </>
      )}
    </div>
  );
  return (
    <Page title="Suppressions" error={list.error} tools={tools}>
      <div className="grid gap-2">
        <div className="flex max-w-2xl flex-wrap items-center gap-2">
          <SearchBox
            {...search}
            label="Find suppressions"
            placeholder={SEARCH_EXAMPLES}
            isWrong={problem !== null}
          />
          <ReasonMenu text={q} onText={onWords} />
        </div>
        {problem !== null && <p className="text-bad text-xs">{problem}</p>}
      </div>
      <Listing
        list={list}
        search={{ ...search, nothing: 'No suppression matches', all: 'Show all' }}
        empty={
          <Notice title="No suppressions yet" icon={<Ban aria-hidden />}>
            An address is added by itself when mail to it bounces permanently, or when its reader complains or
            unsubscribes.{mayChange && ' To add the list of another service, use Import.'}
          </Notice>
        }
        more={list.items?.length === 0 ? 'Search further' : 'Show older entries'}
      >
        {(items) => <SuppressionRows items={items} mayChange={mayChange} isOld={list.isOld} />}
      </Listing>
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
