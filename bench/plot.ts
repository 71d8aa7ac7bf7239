// A line of points as an SVG file, readable on a light and a dark page: x in powers of ten, y from zero.

export interface Plot {
  readonly title: string;
  /** What x counts. */
  readonly x: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** Where the line should stay. */
  readonly band: { readonly from: number; readonly to: number; readonly name: string };
}

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 50;
const RIGHT = 40;
const TOP = 40;
const BOTTOM = 50;

export function plot({ title, x: unit, points, band }: Plot): string {
  const [low, high] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
  const most = Math.max(band.to, ...points.map(({ y }) => y)) * 1.15;
  const across = (value: number): number =>
    LEFT + ((WIDTH - LEFT - RIGHT) * Math.log10(value / low)) / Math.max(1, Math.log10(high / low));
  const up = (value: number): number => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most;
  const text = (x: number, y: number, anchor: string, words: string): string =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${words}</text>`;
  const line = points.map(({ x, y }) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(' ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#777">`,
    `<title>${title}</title>`,
    text(LEFT, 20, 'start', title),
    `<rect x="${LEFT}" y="${up(band.to).toFixed(1)}" width="${WIDTH - LEFT - RIGHT}" height="${(up(band.from) - up(band.to)).toFixed(1)}" fill="#3b82f6" fill-opacity="0.15"/>`,
    text(WIDTH - RIGHT, up(band.to) - 5, 'end', band.name),
    `<path d="M${LEFT} ${TOP}V${up(0)}H${WIDTH - RIGHT}" fill="none" stroke="#777"/>`,
    ...[0, most / 2.3, most / 1.15].map((y) => text(LEFT - 6, up(y) + 4, 'end', y.toFixed(1))),
    ...points.map(({ x }) => text(across(x), HEIGHT - BOTTOM + 18, 'middle', x.toLocaleString('en'))),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, 'middle', unit),
    `<polyline points="${line}" fill="none" stroke="#3b82f6" stroke-width="2"/>`,
    ...points.map(
      ({ x, y }) => `<circle cx="${across(x).toFixed(1)}" cy="${up(y).toFixed(1)}" r="3.5" fill="#3b82f6"/>`,
    ),
    '</svg>',
    '',
  ].join('\n');
}
