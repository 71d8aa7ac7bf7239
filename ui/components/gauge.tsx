/** How much of a limit is used: a bar, and the figures in words. */

import { countText } from './count.ts';

const FILLS = { good: 'bg-good', warn: 'bg-warn', bad: 'bg-bad' } as const;

export function Gauge({
  label,
  value,
  limit,
  mark,
  tone: fixed,
  text = (figure) => countText(figure),
  children,
}: {
  label: string;
  value: number;
  limit: number;
  /** A first limit below the last one, shown as a line. */
  mark?: number;
  /** Left out: by how much is used. */
  tone?: keyof typeof FILLS;
  /** A figure as it is shown. */
  text?: (figure: number) => string;
  /** What stands beside the figures. */
  children?: React.ReactNode;
}) {
  const share = limit === 0 ? 1 : Math.min(1, value / limit);
  const tone = fixed ?? (share >= 1 ? 'bad' : value > (mark ?? 0.8 * limit) ? 'warn' : 'good');
  return (
    <div className="grid gap-1">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span>{label}</span>
        <span className="text-soft tabular-nums">
          {text(value)} of {text(limit)}
          {children}
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter looks different in every browser */}
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(value, limit)}
        className="relative h-2 overflow-hidden rounded-full bg-line forced-color-adjust-none"
      >
        <div className={`h-full ${FILLS[tone]}`} style={{ width: `${share * 100}%` }} />
        {mark !== undefined && limit > 0 && (
          <div
            className="absolute inset-y-0 w-0.5 bg-ink"
            style={{ left: `${Math.min(100, (mark / limit) * 100)}%` }}
          />
        )}
      </div>
    </div>
  );
}
