/** The sender domains: how each stands, and what is wrong first. What is looked for stands in the address. */
import { useQuery } from '@tanstack/react-query';
import { Globe, Plus } from 'lucide-react';
import { useState } from 'react';
import { DOMAINS, listDomains } from '../../api/domains.ts';
import { ME, mayDo } from '../../api/me.ts';
import { Button } from '../../components/button.tsx';
import { Listing } from '../../components/more-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { AddDialog } from './add-dialog.tsx';
import { DomainList } from './domain-list.tsx';
import { worstFirst } from './domain-status.ts';

const EVERY_MS = 60_000;

export function DomainsPlace() {
  const search = useSearchBox('/domains');
  const { words: q } = search;
  const { data: me } = useQuery(ME);
  const [isAdding, setAdding] = useState(false);
  const list = usePages([...DOMAINS, 'list', q], (after, signal) => listDomains(q, after, signal), {
    everyMs: EVERY_MS,
    isSearch: true,
  });
  const { items } = list;
  const add = mayDo(me, 'domains:write') && (
    <Button look="main" onClick={() => setAdding(true)}>
      <Plus size={14} aria-hidden /> Add a domain
    </Button>
  );
  return (
    <Page title="Domains" error={list.error} tools={<div className="ml-auto">{add}</div>}>
      {((items !== undefined && items.length > 0) || q !== '' || list.isOld) && (
        <div className="flex max-w-md">
          <SearchBox {...search} label="Find a domain" placeholder="Part of a name" />
        </div>
      )}
      <Listing
        list={list}
        search={{ ...search, nothing: 'No domain matches', all: 'Show all domains' }}
        empty={
          <Notice title="No sender domain yet" icon={<Globe aria-hidden />}>
            <p>
              Mail is sent from a domain of yours. Add it and publish its DNS records, so that receivers can
              see that the mail is really from you.
            </p>
          </Notice>
        }
        more="Show more domains"
      >
        {(domains) => <DomainList domains={domains.toSorted(worstFirst)} isOld={list.isOld} />}
      </Listing>
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
