/**
 * Bars over time under a line at the height of the tallest, with its number, drawn by this page itself: the bar that is pointed
 * at, or that arrow keys go to, is told to whoever draws several of them side by side.
 */
import type { KeyboardEvent, PointerEvent } from 'react';

const HEIGHT = 64;

export function BarChart({
  label,
  counts,
  fill,
  pointed,
  textOf,
  onPoint,
}: {
  label: string;
  counts: readonly number[];
  /** Class of the bars. */
  fill: string;
  /** Place of the bar that is pointed at, in any of the charts. */
  pointed: number | null;
  /** What a bar says. */
  textOf(place: number): string;
  onPoint(place: number | null): void;
}) {
  const tallest = Math.max(0, ...counts);
  const most = Math.max(1, tallest);
  const onMove = (event: PointerEvent<HTMLElement>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * counts.length);
    onPoint(Math.min(counts.length - 1, Math.max(0, place)));
  };
  const last = counts.length - 1;
  const onKey = (event: KeyboardEvent): void => {
    const from = pointed ?? last;
    const place = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
    if (place === undefined) return;
    event.preventDefault();
    onPoint(Math.min(last, Math.max(0, place)));
  };
  return (
    <div>
      <div
        aria-hidden
        className="border-line border-b border-dotted text-right text-soft text-xs tabular-nums"
      >
        {tallest === 0 ? '\u00a0' : `up to ${tallest.toLocaleString()}`}
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-readonly
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={pointed ?? last}
        aria-valuetext={textOf(pointed ?? last)}
        className="touch-pan-y border-line border-b"
        onPointerDown={onMove}
        onPointerMove={onMove}
        onPointerLeave={() => onPoint(null)}
        onFocus={() => onPoint(pointed ?? last)}
        onBlur={() => onPoint(null)}
        onKeyDown={onKey}
      >
        <svg
          aria-hidden
          viewBox={`0 0 ${counts.length} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="block h-16 w-full"
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
    </div>
  );
}
