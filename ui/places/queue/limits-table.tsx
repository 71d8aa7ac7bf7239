/** Limits in force, and where the value of each comes from. */
import type { PathLimit } from '../../../src/client/api-types.ts';
import { Until } from '../../components/time.tsx';
import { countText } from './reason-words.ts';

const FROM = {
  data: 'shipped data',
  user: 'shaping.json',
  config: 'configuration',
  override: 'learned',
} as const;

export function LimitsTable({ limits }: { limits: readonly PathLimit[] }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full min-w-100 border-collapse text-left tabular-nums">
        <thead className="border-line border-b text-soft text-xs">
          <tr>
            <th className="py-1.5 pr-3 font-normal">Limit</th>
            <th className="px-2 py-1.5 font-normal">Value</th>
            <th className="px-2 py-1.5 font-normal">From</th>
          </tr>
        </thead>
        <tbody>
          {limits.map(({ Name, Value, From, Detail, Until: until }) => (
            <tr key={Name} className="border-line border-b align-top">
              <th scope="row" className="whitespace-nowrap py-1.5 pr-3 font-mono font-normal text-xs">
                {Name}
              </th>
              <td className="whitespace-nowrap px-2 py-1.5">{valueText(Name, Value)}</td>
              <td className="px-2 py-1.5 text-soft">
                {FROM[From]}
                {Detail !== '' && `: ${Detail}`}
                {until !== null && (
                  <>
                    , ends <Until at={until} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Times are named by their unit. */
function valueText(name: string, value: number | string | null): string {
  if (value === null) return 'none';
  if (typeof value === 'string') return value;
  return name.endsWith('Ms') ? `${countText(value)} ms` : countText(value);
}
