/** The templates, newest first: their names, whose mail they are for, and when they were changed. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileText, Plus } from 'lucide-react';
import { useState } from 'react';
import type { TemplateSummary } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { listTemplates, TEMPLATES } from '../../api/templates.ts';
import { Button } from '../../components/button.tsx';
import { type Columns, DataTable } from '../../components/data-table.tsx';
import { Listing } from '../../components/more-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { Ago } from '../../components/time.tsx';
import { useLeaving } from '../../components/use-removal.ts';
import { NewTemplateDialog } from './new-template-dialog.tsx';

export function TemplatesPlace() {
  const search = useSearchBox('/templates');
  const { words: q } = search;
  const { data: me } = useQuery(ME);
  const [isMaking, setMaking] = useState(false);
  const leaving = useLeaving<string>(TEMPLATES);
  const list = usePages([...TEMPLATES, 'list', q], (after, signal) => listTemplates(q, after, signal), {
    isSearch: true,
  });
  const found = list.items?.filter(({ TemplateID }) => !leaving.has(TemplateID));
  const add = mayDo(me, 'templates:write') && (
    <Button look="main" onClick={() => setMaking(true)}>
      <Plus size={14} aria-hidden /> New template
    </Button>
  );
  return (
    <Page title="Templates" error={list.error} tools={<div className="ml-auto">{add}</div>}>
      {(found?.length !== 0 || q !== '' || list.isOld || list.hasMore) && (
        <div className="flex max-w-md">
          <SearchBox {...search} label="Find templates" placeholder="Name, domain or id" />
        </div>
      )}
      <Listing
        list={list}
        found={found}
        search={{ ...search, nothing: 'No template matches', all: 'Show all' }}
        empty={
          <Notice title="No templates yet" icon={<FileText aria-hidden />}>
            <p>
              A template is a mail with placeholders, such as{' '}
              <code className="font-mono text-ink">{'Hello {{name}}'}</code>. Your program names it and gives
              the values. You can change the text here, without a new version of the program.
            </p>
          </Notice>
        }
        more="Show more templates"
      >
        {(rows) => (
          <DataTable
            label="Templates"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ TemplateID }) => TemplateID}
            isOld={list.isOld}
          />
        )}
      </Listing>
      {isMaking && <NewTemplateDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

const COLUMNS: Columns<TemplateSummary> = [
  {
    name: 'Name',
    cell: ({ TemplateID, Name }) => (
      <Link
        to="/templates/$id"
        params={{ id: TemplateID }}
        className="line-clamp-3 text-accent hover:underline"
        title={Name}
      >
        <bdi>{Name}</bdi>
      </Link>
    ),
  },
  { name: 'Domain', width: 'w-4/12', cell: ({ Domain }) => <bdi>{Domain}</bdi> },
  { name: 'Version', width: 'w-24', isNumber: true, cell: ({ Version }) => Version },
  { name: 'Changed', width: 'w-40', cell: ({ UpdatedAt }) => <Ago at={UpdatedAt} /> },
];
