/** One site of the queue: a row of the table, or an item of the list on a phone. */
import { Link } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import { useState } from 'react';
import { Address } from '../../components/addresses.tsx';
import { IconButton } from '../../components/button.tsx';
import { countText } from '../../components/count.ts';
import { MoreMenu } from '../../components/menu.tsx';
import { Ago, NextTry } from '../../components/time.tsx';
import { HoldDialog } from './hold-dialog.tsx';
import type { SiteRow } from './sites.ts';
import { useTry } from './use-try.ts';

export function SiteTableRow({ row }: { row: SiteRow }) {
  return (
    <tr className="border-line border-b align-top hover:bg-hover">
      <th scope="row" className="py-2 pr-3 font-normal">
        <SiteLink site={row.site} />
        <Senders row={row} />
      </th>
      <td className="px-2 py-2 text-right font-semibold">{countText(row.waiting, row.isAll)}</td>
      {row.ages.map((count, place) => (
        <td
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          key={place}
          className={`px-1.5 py-2 text-right ${count === 0 ? 'text-line-strong' : place > 2 ? 'text-warn' : ''}`}
        >
          {count === 0 ? '·' : countText(count)}
        </td>
      ))}
      <td className="px-3 py-2">
        <Reasons row={row} />
      </td>
      <td className="whitespace-nowrap px-2 py-2">
        <Next row={row} />
      </td>
      <td className="w-18 whitespace-nowrap py-1 text-right">
        <Actions row={row} />
      </td>
    </tr>
  );
}

export function SiteItem({ row }: { row: SiteRow }) {
  return (
    <li className="flex gap-2 border-line border-b py-2.5">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <div className="flex items-baseline gap-2">
          <SiteLink site={row.site} />
          <span className="ml-auto shrink-0 font-semibold tabular-nums">
            {countText(row.waiting, row.isAll)}
          </span>
        </div>
        <Senders row={row} />
        <Reasons row={row} />
        <p className="text-soft text-xs">
          {row.nextAt === null ? 'Held' : 'Next try '}
          {row.nextAt !== null && <NextTry at={row.nextAt} />} · oldest <Ago at={row.oldestAt} />
        </p>
      </div>
      <Actions row={row} />
    </li>
  );
}

function SiteLink({ site }: { site: string }) {
  return (
    <Link data-row to="/queue/$site" params={{ site }} className="min-w-0 text-accent hover:underline">
      <Address text={site} />
    </Link>
  );
}

function Senders({ row: { senders } }: { row: SiteRow }) {
  const [first, ...others] = senders;
  return (
    <p className="text-soft text-xs" title={senders.join(', ')}>
      from <Address text={first ?? ''} />
      {others.length > 0 && ` and ${countText(others.length)} more`}
    </p>
  );
}

const SHOWN = 2;

function Reasons({ row: { reasons } }: { row: SiteRow }) {
  return (
    <ul className="grid gap-0.5">
      {reasons.slice(0, SHOWN).map(({ text, count, reply }) => (
        <li key={text} className="line-clamp-3" title={reply ?? text}>
          {text}
          {reasons.length > 1 && <span className="text-soft"> ({countText(count)})</span>}
          {reply !== null && <span className="text-soft">: {reply}</span>}
        </li>
      ))}
      {reasons.length > SHOWN && (
        <li className="text-soft text-xs">and {reasons.length - SHOWN} other reasons</li>
      )}
    </ul>
  );
}

function Next({ row: { nextAt } }: { row: SiteRow }) {
  return nextAt === null ? <span className="text-warn">held</span> : <NextTry at={nextAt} />;
}

function Actions({ row: { site } }: { row: SiteRow }) {
  const [isHolding, setHolding] = useState(false);
  const { tryNow, isTrying } = useTry(site);
  return (
    <span className="inline-flex shrink-0">
      <IconButton label={`Try ${site} now`} onClick={tryNow} isBusy={isTrying}>
        <Zap size={16} aria-hidden />
      </IconButton>
      <MoreMenu
        label={`More about ${site}`}
        entries={[
          { name: 'Try now', run: tryNow },
          { name: 'Hold its mail…', run: () => setHolding(true) },
        ]}
      />
      {isHolding && <HoldDialog to={site} onClose={() => setHolding(false)} />}
    </span>
  );
}
