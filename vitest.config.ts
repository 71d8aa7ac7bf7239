import { defineConfig } from 'vitest/config';

// Five projects: `unit` beside the code, `docs` (documentation and architecture held against the code),
// `store` (what any store engine must do, and the engines) and `system` (real listeners, far ends, crashes).
// `parts` are tests beside the code that run over a real store and real sockets: right, but not quick.
const parts = [
  'src/pipeline/events/**/*.test.ts',
  'src/policy/limits/guard-rails.test.ts',
  'src/pipeline/queue/queue.test.ts',
  'src/pipeline/notices/notices.test.ts',
  'src/pipeline/webhooks/sender.test.ts',
  'src/policy/limits/shaping/overrides.test.ts',
  'src/listeners/http/{hostile,operations}.test.ts',
  'src/listeners/http/operations/**/*.test.ts',
];
// Real sockets, threads and processes on a machine that does other things too: what fails is tried once more and named as
// such in the report. A test that needs it is a bug to be found; it does not stop everybody meanwhile.
const patient = { retry: 1 } as const;
const common = { environment: 'node', testTimeout: 20_000, hookTimeout: 30_000, pool: 'forks' } as const;
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/corpus/**/*.test.ts'],
          exclude: ['src/store/**', ...parts],
        },
      },
      { test: { ...common, ...patient, name: 'parts', include: parts } },
      { test: { ...common, name: 'store', include: ['src/store/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { ...common, name: 'docs', include: ['test/docs/**/*.test.ts', 'test/*.test.ts'] } },
      {
        test: {
          ...common,
          ...patient,
          name: 'system',
          include: ['test/{scenarios,dialogues,chaos,fuzz,interop,simulation}/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
