import { expect, it } from 'vitest';
import { connectionsInAll, httpConnections, submissionConnections } from './server-options.ts';

it.each([
  [Number.POSITIVE_INFINITY, 10_000, [10_000, 1_000], [500, 50]],
  [65_536, 10_000, [10_000, 1_000], [500, 50]],
  [4_096, 1984, [1024, 512], [500, 50]],
  [1_024, 448, [256, 128], [128, 50]],
  [1, 1, [32, 32], [32, 32]],
])('where %d files may be open, mail and clients have their parts', (files, out, http, submission) => {
  const figures = (of: typeof httpConnections) => Object.values(of(files));
  expect(connectionsInAll(files)).toBe(out);
  expect(figures(httpConnections)).toEqual(http);
  expect(figures(submissionConnections)).toEqual(submission);
});
