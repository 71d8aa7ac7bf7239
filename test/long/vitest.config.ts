/**
 * What would double the time of `npm test`: crashes and outages under load, the 2,000 generated scenarios of the simulation,
 * the packages as they are installed, a crowd of senders, and every reader and regular expression before long texts.
 */
import { defineConfig } from 'vitest/config';
import { common, long, maxWorkers } from '../../vitest.config.ts';

export default defineConfig({
  test: {
    ...common,
    name: 'long',
    include: long,
    isolate: true,
    maxWorkers,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
