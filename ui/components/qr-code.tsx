/** A QR code, black on white in both themes, so that every camera reads it. */
import { encode } from 'uqr';

const BORDER = 2;

export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: BORDER });
  const squares = data.flatMap((row, y) =>
    row.flatMap((isBlack, x) => (isBlack ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      className="size-44 bg-white"
      shapeRendering="crispEdges"
    >
      <path d={squares.join('')} className="fill-black" />
    </svg>
  );
}
