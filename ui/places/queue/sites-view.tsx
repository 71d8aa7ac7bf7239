/** Sites by age, the most waiting first: a table, where there is less room a list. */
import { CheckCheck } from 'lucide-react';
import { useRef } from 'react';
import type { QueueAnswer } from '../../../src/client/api-types.ts';
import { WIDE_TABLE } from '../../components/data-table.tsx';
import { useMedia } from '../../components/media.ts';
import { NothingFound, Notice } from '../../components/notice.tsx';
import { SearchBox, useSearchBox } from '../../components/search-box.tsx';
import { useKeys } from '../../components/use-keys.ts';
import { SiteItem, SiteTableRow } from './site-row.tsx';
import { AGES, fits, sitesOf } from './sites.ts';

export function SitesView({ answer }: { answer: QueueAnswer }) {
  const search = useSearchBox('/queue');
  const { words: text, onWords } = search;
  const list = useRef<HTMLDivElement>(null);
  const isTable = useMedia(WIDE_TABLE);
  const all = sitesOf(answer.Queues);
  const rows = all.filter((row) => fits(row, text));
  useKeys({
    j: () => step(list.current, 1),
    k: () => step(list.current, -1),
  });
  if (all.length === 0)
    return (
      <Notice title="Nothing waits" icon={<CheckCheck aria-hidden />}>
        Mail that cannot be sent at once is listed here, with the reason and the time of the next attempt.
      </Notice>
    );
  return (
    <div ref={list} className="grid gap-2">
      <div className="flex max-w-md">
        <SearchBox
          {...search}
          onEnter={() => step(list.current, 1)}
          placeholder="Site, sender domain or reason"
          label="Find a site"
        />
      </div>
      {rows.length === 0 ? (
        <NothingFound title="Nothing found" words={text} all="Show all sites" onAll={() => onWords('')} />
      ) : isTable ? (
        <table className="w-full table-fixed border-collapse text-left tabular-nums">
          <thead className="border-line border-b text-soft text-xs">
            <tr>
              <th className="w-1/5 py-1.5 pr-3 font-normal">Site</th>
              <th className="w-20 px-2 py-1.5 text-right font-normal">Waiting</th>
              {AGES.map((name) => (
                <th key={name} className="w-17 whitespace-nowrap px-1.5 py-1.5 text-right font-normal">
                  {name}
                </th>
              ))}
              <th className="px-3 py-1.5 font-normal">Why</th>
              <th className="w-24 px-2 py-1.5 font-normal">Next try</th>
              <th className="w-18 py-1.5">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <SiteTableRow key={row.site} row={row} />
            ))}
          </tbody>
        </table>
      ) : (
        <ul aria-label="Sites" className="grid border-line border-t">
          {rows.map((row) => (
            <SiteItem key={row.site} row={row} />
          ))}
        </ul>
      )}
      {answer.More && (
        <p className="text-soft">More sites wait. These are the hundred queues that are due first.</p>
      )}
    </div>
  );
}

/** The focus goes to the next or the last link of a row. */
function step(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLElement>('a[data-row]') ?? [])];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}
