/** The sender domains: how each stands, and what is wrong first. What is looked for stands in the address. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Globe, Plus, SearchX } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import { DOMAINS, listDomains } from '../../api/domains.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Button } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { NotYet, Page } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { AddDialog } from './add-dialog.tsx';
import { DomainList } from './domain-list.tsx';

const EVERY_MS = 60_000;

export function DomainsPlace() {
  const { q = '' } = useSearch({ from: '/domains' });
  const navigate = useNavigate({ from: '/domains' });
  const { data: me } = useQuery(ME);
  const [isAdding, setAdding] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  const domains = useInfiniteQuery({
    queryKey: [...DOMAINS, 'list', q],
    queryFn: ({ pageParam, signal }) => listDomains(q, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.NextCursor ?? undefined,
    refetchOnWindowFocus: 'always',
    refetchInterval: EVERY_MS,
  });
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = domains;
  const items = data?.pages.flatMap((page) => page.Items) ?? [];
  const onWords = useCallback(
    (words: string) => void navigate({ search: words.trim() === '' ? {} : { q: words }, replace: true }),
    [navigate],
  );
  useKeys({ '/': () => box.current?.focus() });
  const add = mayDo(me, 'domains:write') && (
    <Button look="main" onClick={() => setAdding(true)}>
      <Plus size={14} aria-hidden /> Add a domain
    </Button>
  );
  return (
    <Page title="Domains" error={error} tools={<div className="ml-auto">{add}</div>}>
      {(items.length > 0 || q !== '') && (
        <div className="flex max-w-md">
          <SearchBox
            ref={box}
            words={q}
            label="Find a domain"
            placeholder="Part of a name"
            isWrong={false}
            onWords={onWords}
          />
        </div>
      )}
      {data === undefined ? (
        <NotYet error={error} onAgain={() => void refetch()} />
      ) : items.length > 0 ? (
        <DomainList domains={items} />
      ) : q !== '' ? (
        <Notice title="No domain is called like that" icon={<SearchX aria-hidden />}>
          <Button onClick={() => onWords('')}>Show all domains</Button>
        </Notice>
      ) : (
        <Notice title="No sender domain yet" icon={<Globe aria-hidden />}>
          <p className="mb-3">
            Mail is sent in the name of a domain of yours. Add it, publish its records, and receivers can tell
            that the mail is really from you.
          </p>
          {add}
        </Notice>
      )}
      {hasNextPage && (
        <Button
          className="justify-self-start"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Show more domains
        </Button>
      )}
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
