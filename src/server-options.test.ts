import { expect, it } from 'vitest';
import { connectionsInAll, httpConnections } from './server-options.ts';

it.each([
  [Number.POSITIVE_INFINITY, 10_000, 10_000, 1_000],
  [65_536, 10_000, 10_000, 1_000],
  [4_096, 2048, 1024, 512],
  [1_024, 512, 256, 128],
  [1, 1, 64, 32],
])('where %d files may be open, mail and clients have their parts', (files, out, http, ofOne) => {
  expect(connectionsInAll(files)).toBe(out);
  expect(httpConnections(files)).toEqual({ maxConnections: http, maxConnectionsPerAddress: ofOne });
});
