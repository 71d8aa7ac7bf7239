/** Groups by their events, the most first: how many, and how much of it was taken. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ME, mayDo } from '../../api/me.ts';
import type { Measured } from '../../api/overview.ts';
import { NotYet } from '../../components/page.tsx';
import type { Live } from '../../components/use-live.ts';

const SHOWN = 8;
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });

/**
 * `of`: what the groups are. `count`: what is counted in the first column. `age`: how far back, where the groups are sender
 * domains, whose messages can be looked for.
 */
export function Breakdown({
  answer,
  of,
  count,
  age = null,
}: {
  answer: Live<Measured>;
  of: string;
  count: 'Accepted' | 'Delivered';
  age?: string | null;
}) {
  const { data: me } = useQuery(ME);
  const mayFollow = age !== null && mayDo(me, 'email:read');
  if (answer.data === undefined) return <NotYet error={answer.error} onAgain={answer.again} />;
  const { Items } = answer.data.stats;
  const rows = Items.filter(({ Group }) => Group !== null).slice(0, SHOWN);
  if (rows.length === 0) return <p className="text-soft">Nothing was sent in this time.</p>;
  return (
    <table className="w-full border-collapse text-left tabular-nums">
      <thead className="border-line border-b text-soft text-xs">
        <tr>
          <th className="py-1.5 pr-3 font-normal">{of}</th>
          <th className="px-2 py-1.5 text-right font-normal">{count}</th>
          <th className="w-32 px-2 py-1.5 font-normal">Delivery rate</th>
          <th className="py-1.5 pl-2 text-right font-normal">Bounced</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ Group, Counts, Rates }) => (
          <tr key={Group} className="border-line border-b">
            <th scope="row" className="max-w-0 truncate py-1.5 pr-3 font-normal" title={Group ?? ''}>
              {mayFollow ? (
                <Link
                  to="/messages"
                  search={{ q: `domain:${Group} since:${age}` }}
                  className="text-accent underline"
                >
                  <bdi>{Group}</bdi>
                </Link>
              ) : (
                <bdi>{Group}</bdi>
              )}
            </th>
            <td className="w-20 px-2 py-1.5 text-right">{(Counts[count] ?? 0).toLocaleString()}</td>
            <td className="px-2 py-1.5">
              <Share share={Rates.Delivered} />
            </td>
            <td className={`w-18 py-1.5 pl-2 text-right ${(Counts.Bounced ?? 0) > 0 ? '' : 'text-soft'}`}>
              {mayFollow && (Counts.Bounced ?? 0) > 0 ? (
                <Link
                  to="/messages"
                  search={{ q: `domain:${Group} status:bounced since:${age}` }}
                  aria-label={`Bounced from ${Group}: ${Counts.Bounced}`}
                  className="text-accent underline"
                >
                  {Counts.Bounced?.toLocaleString()}
                </Link>
              ) : (
                (Counts.Bounced ?? 0).toLocaleString()
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Below this it is worth a look. */
const LOW = 0.9;

function Share({ share }: { share: number | null }) {
  if (share === null) return <span className="text-soft">none yet</span>;
  return (
    <span className="flex items-center gap-2">
      <span className="w-12 text-right">{PERCENT.format(share)}</span>
      <span aria-hidden className="h-1.5 min-w-0 flex-1 rounded-full bg-line">
        <span
          className={`block h-full rounded-full ${share < LOW ? 'bg-warn' : 'bg-good'}`}
          style={{ width: `${share * 100}%` }}
        />
      </span>
    </span>
  );
}
