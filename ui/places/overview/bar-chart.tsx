/**
 * Bars over time under a line at the height of the tallest, with its number, drawn by this page itself: what is pointed at is
 * told to whoever draws several of them side by side.
 */
import type { PointerEvent } from 'react';

const HEIGHT = 64;

export function BarChart({
  label,
  counts,
  fill,
  pointed,
  onPoint,
}: {
  label: string;
  counts: readonly number[];
  /** Class of the bars. */
  fill: string;
  /** Place of the bar that is pointed at, in any of the charts. */
  pointed: number | null;
  onPoint(place: number | null): void;
}) {
  const tallest = Math.max(0, ...counts);
  const most = Math.max(1, tallest);
  const onMove = (event: PointerEvent<SVGSVGElement>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * counts.length);
    onPoint(Math.min(counts.length - 1, Math.max(0, place)));
  };
  return (
    <div>
      <div
        aria-hidden
        className="border-line border-b border-dotted text-right text-soft text-xs tabular-nums"
      >
        {tallest === 0 ? '\u00a0' : `up to ${tallest.toLocaleString()}`}
      </div>
      <svg
        role="img"
        aria-label={label}
        viewBox={`0 0 ${counts.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="block h-16 w-full touch-pan-y border-line border-b"
        onPointerMove={onMove}
        onPointerLeave={() => onPoint(null)}
      >
        {pointed !== null && <rect x={pointed} y={0} width={1} height={HEIGHT} className="fill-hover" />}
        {counts.map((count, place) => {
          // A value above zero is always visible.
          const height = count === 0 ? 0 : Math.max(2, (count / most) * HEIGHT);
          return (
            <rect
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
              key={place}
              x={place + 0.1}
              y={HEIGHT - height}
              width={0.8}
              height={height}
              className={fill}
            />
          );
        })}
      </svg>
    </div>
  );
}
