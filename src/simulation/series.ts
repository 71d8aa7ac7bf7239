/**
 * The curves of a forecast: one point for each sample of the simulated engine. When there are too many points, every second one
 * is dropped, and samples are taken half as often.
 */
import type { Forecast } from './forecast.ts';

type Curves = Forecast['series'];

interface Point {
  atMs: number;
  accepted: number;
  ended: number;
  connections: number;
}

const FIRST_LOOKS_MS = 10_000;
const MOST_LOOKS = 1_200;

export function createSeries(providers: readonly string[]) {
  let everyMs = FIRST_LOOKS_MS;
  let points: (Point & { waiting: number[] })[] = [];

  return {
    /** The time between two samples. */
    everyMs: () => everyMs,
    add(point: Point, waitingAt: (provider: string) => number): void {
      points.push({ ...point, waiting: providers.map(waitingAt) });
      if (points.length <= MOST_LOOKS) return;
      points = points.filter((_, i) => i % 2 === 0);
      everyMs *= 2;
    },
    list: (): Curves => ({
      atMs: points.map(({ atMs }) => atMs),
      accepted: points.map(({ accepted }) => accepted),
      ended: points.map(({ ended }) => ended),
      connections: points.map(({ connections }) => connections),
      waiting: providers.map((provider, i) => ({
        provider,
        counts: points.map(({ waiting }) => waiting[i] ?? 0),
      })),
    }),
  };
}
