/** How long requests and far ends keep the event loop. Apart from `npm test`: they take a minute and a half of CPU time. */
import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.ts';

export default defineConfig({
  test: {
    ...common,
    name: 'event-loop',
    include: ['test/event-loop/**/*.test.ts'],
    isolate: true,
    // One after the other: what another process does to the caches of the machine is measured too.
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 240_000,
  },
});
