/** The templates, newest first: their names, whose mail they are for, and when they were changed. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { FileText, Plus, SearchX } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import type { TemplateSummary } from '../../../src/client/api-types.ts';
import { ME, mayDo } from '../../api/me.ts';
import { listTemplates, TEMPLATES } from '../../api/templates.ts';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { Time } from '../../components/time.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { useLeaving } from '../../components/use-removal.ts';
import { NewTemplateDialog } from './new-template-dialog.tsx';

/** More are not read: `listTemplates`. */
const MOST = 1_000;
const AT_ONCE = 100;

export function TemplatesPlace() {
  const { q = '' } = useSearch({ from: '/templates' });
  const navigate = useNavigate({ from: '/templates' });
  const { data: me } = useQuery(ME);
  const [isMaking, setMaking] = useState(false);
  const [most, setMost] = useState(AT_ONCE);
  const box = useRef<HTMLInputElement>(null);
  const leaving = useLeaving<string>(TEMPLATES);
  const { data, error, refetch } = useQuery({
    queryKey: [...TEMPLATES, 'list'],
    queryFn: ({ signal }) => listTemplates(signal),
    refetchOnMount: 'always',
    refetchOnWindowFocus: 'always',
  });
  const onWords = useCallback(
    (words: string) => void navigate({ search: words.trim() === '' ? {} : { q: words }, replace: true }),
    [navigate],
  );
  useKeys({ '/': () => box.current?.focus() });
  const all = (data ?? []).filter(({ TemplateID }) => !leaving.has(TemplateID));
  const found = all.filter((one) => isFound(one, q));
  const add = mayDo(me, 'templates:write') && (
    <Button look="main" onClick={() => setMaking(true)}>
      <Plus size={14} aria-hidden /> New template
    </Button>
  );
  return (
    <Page title="Templates" error={error} tools={<div className="ml-auto">{add}</div>}>
      {data === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : all.length === 0 ? (
        <Notice title="No templates yet" icon={<FileText aria-hidden />}>
          <p className="mb-3">
            A template is a mail with placeholders, such as{' '}
            <code className="font-mono text-ink">{'Hello {{name}}'}</code>. Your program names it and gives
            the values; its text is changed here, without a new version of the program.
          </p>
          {add}
        </Notice>
      ) : (
        <>
          <div className="flex max-w-2xl">
            <SearchBox
              ref={box}
              words={q}
              label="Find templates"
              placeholder="Name, domain or id"
              isWrong={false}
              onWords={onWords}
            />
          </div>
          {found.length === 0 ? (
            <Notice title="No template is called like that" icon={<SearchX aria-hidden />}>
              <Button onClick={() => onWords('')}>Show all</Button>
            </Notice>
          ) : (
            <DataTable
              label="Templates"
              columns={COLUMNS}
              rows={found.slice(0, most)}
              keyOf={({ TemplateID }) => TemplateID}
            />
          )}
          {found.length > most && (
            <Button className="justify-self-start" onClick={() => setMost(most + AT_ONCE)}>
              Show more templates
            </Button>
          )}
          {data.length >= MOST && (
            <p className="text-soft text-xs">These are the newest {MOST.toLocaleString()} templates.</p>
          )}
        </>
      )}
      {isMaking && <NewTemplateDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

function isFound({ Name, Domain, TemplateID }: TemplateSummary, q: string): boolean {
  const text = `${Name} ${Domain} ${TemplateID}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const COLUMNS: readonly [Column<TemplateSummary>, ...Column<TemplateSummary>[]] = [
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
  { name: 'Changed', width: 'w-40', cell: ({ UpdatedAt }) => <Time at={UpdatedAt} /> },
];
