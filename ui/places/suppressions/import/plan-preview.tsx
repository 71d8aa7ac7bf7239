/** The first rows as they would be stored, how many of each reason, and the rows that would be refused. */
import { Status } from '../../../components/status.tsx';
import { exactTime } from '../../../components/time.tsx';
import { reasonName } from '../reasons.ts';
import type { ShownPlan } from './open-file.ts';

/** Of the rows that are left out. */
const SHOWN = 100;

export function PlanPreview({ plan }: { plan: ShownPlan }) {
  const { count, first, wrongCount, wrong, expired, byReason } = plan;
  const counts = [...byReason].map(([reason, n]) => `${reasonName(reason)} ${n.toLocaleString()}`);
  return (
    <div className="grid gap-3">
      <p>
        <span className="font-semibold tabular-nums">
          {count.toLocaleString()} {count === 1 ? 'row' : 'rows'}
        </span>
        {counts.length > 0 && `: ${counts.join(', ')}`}
        {expired > 0 && `. Left out: ${expired.toLocaleString()} that have ended already`}
      </p>
      {count > 0 && (
        <div className="overflow-x-auto">
          <table aria-label="The first rows" className="w-full min-w-120 border-collapse text-left">
            <thead className="border-line border-b text-soft text-xs">
              <tr>
                <th className="py-1.5 pr-3 font-normal">Line</th>
                <th className="px-2 py-1.5 font-normal">Address</th>
                <th className="px-2 py-1.5 font-normal">Reason</th>
                <th className="px-2 py-1.5 font-normal">Note</th>
                <th className="px-2 py-1.5 font-normal">Ends</th>
              </tr>
            </thead>
            <tbody>
              {first.map(({ line, item }) => (
                <tr key={line} className="border-line border-b align-top">
                  <td className="py-1.5 pr-3 text-soft tabular-nums">{line}</td>
                  <td className="px-2 py-1.5">
                    <bdi>{item.Email}</bdi>
                  </td>
                  <td className="px-2 py-1.5">{reasonName(item.Reason ?? '')}</td>
                  <td className="px-2 py-1.5">
                    <bdi className="line-clamp-2">{item.Note}</bdi>
                  </td>
                  <td className="px-2 py-1.5">{endOf(item.ExpiresAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {wrongCount > 0 && <RefusedRows title="without an address" rows={wrong} count={wrongCount} />}
    </div>
  );
}

export function RefusedRows({
  title,
  rows,
  count = rows.length,
}: {
  title: string;
  rows: readonly { line: number; text: string; problem: string }[];
  /** Where `rows` has the first of them only. */
  count?: number;
}) {
  return (
    <div className="grid gap-1">
      <Status
        isSentence
        status="Warning"
        words={`${count.toLocaleString()} ${count === 1 ? 'row is' : 'rows are'} left out: ${title}`}
      />
      <ul aria-label="Rows that are left out" className="grid max-h-48 overflow-y-auto text-xs">
        {rows.slice(0, SHOWN).map(({ line, text, problem }) => (
          <li key={line} className="flex flex-wrap gap-x-3">
            <span className="w-18 text-soft tabular-nums">line {line}</span>
            <bdi className="font-mono">{text === '' ? '(empty)' : text.slice(0, 120)}</bdi>
            <span className="text-soft">{problem}</span>
          </li>
        ))}
        {count > SHOWN && <li className="text-soft">and {(count - SHOWN).toLocaleString()} more</li>}
      </ul>
    </div>
  );
}

function endOf(at: string | undefined): string {
  if (at === undefined) return 'as its reason';
  return Number.isNaN(Date.parse(at)) ? at : exactTime(at);
}
