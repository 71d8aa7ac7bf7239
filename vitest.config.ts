import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Six projects: `unit` beside the code, `docs` (documentation and architecture held against the code),
// `store` and `postgres` (what any store engine must do, and the engines) and `system` (real listeners and far ends).
// `parts` are tests beside the code that run over a real store and real sockets: right, but not quick.
const parts = [
  'src/pipeline/events/**/*.test.ts',
  'src/policy/domains/domains.test.ts',
  'src/policy/limits/guard-rails.test.ts',
  'src/pipeline/accept/accept.test.ts',
  'src/pipeline/queue/{create-queue,claims}.test.ts',
  'src/pipeline/notices/notices.test.ts',
  'src/pipeline/webhooks/sender.test.ts',
  'src/policy/limits/shaping/overrides.test.ts',
  'src/listeners/http/{hostile,operations,secure-port}.test.ts',
  'src/listeners/http/operations/**/*.test.ts',
];
/** Minutes of processor time each: `npm run test:long`. */
export const long = [
  'test/chaos/**/*.test.ts',
  'test/growth/{expressions,readers}.test.ts',
  'test/scenarios/{crowding,debian-package,installed-package}.test.ts',
  'test/simulation/{capacity,engine,nodes-worlds,real-server,webhooks-worlds,worlds-*}.test.ts',
];
/** Many tests wait for sockets and processes: one more than there are cores; more than four gain little. */
export const maxWorkers = Math.min(4, availableParallelism() + 1);
export const common = {
  environment: 'node',
  // For machines that do other things too; nothing here needs more than a few seconds of its own.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // What answers in its own time (a thread, a socket, a page after a click) is asked until it is true.
  expect: { poll: { timeout: 20_000 } },
  pool: 'forks',
  // As the launcher says it (bin/postrider).
  execArgv: ['--no-wasm-code-gc'] as string[],
  // Files of one process share the modules they load, which hold no state of their own; loading them anew for each
  // file was more than half of the work of the unit tests.
  isolate: false,
  env: {
    // What tests start outside their own module loader (threads of the store, commands) is compiled once.
    NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/postrider', import.meta.url)),
    TMPDIR: temporaryPlace(),
  },
} as const;

/** Memory, where there is plenty: every test syncs what it stores, and a slow disk would make each of them wait. */
function temporaryPlace(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize >= 4 * 1024 ** 3) return '/dev/shm';
  } catch {
    // There is none here.
  }
  return tmpdir();
}

/** Whole servers, which make keys for every domain: a few pairs serve all of them. */
export const sharedKeys = {
  globalSetup: ['test/fakes/rsa-keys.ts'],
  setupFiles: ['test/fakes/shared-rsa-keys.ts'],
};

export default defineConfig({
  test: {
    maxWorkers,
    // Files and failures, and what took unusually long: CI keeps every line.
    slowTestThreshold: 5_000,
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: ['src/**/*.test.ts', 'ui/**/*.test.ts', 'test/corpus/**/*.test.ts'],
          exclude: ['src/store/**', ...parts],
        },
      },
      { test: { ...common, ...sharedKeys, name: 'parts', include: parts } },
      {
        test: {
          ...common,
          name: 'store',
          include: ['src/store/**/*.test.ts'],
          exclude: ['src/store/postgres/**'],
        },
      },
      {
        test: {
          ...common,
          name: 'postgres',
          // Whole servers on it: `npm run test:postgres`.
          include: ['src/store/postgres/**/*.test.ts'],
          globalSetup: ['src/store/postgres/test-server.ts'],
        },
      },
      {
        test: {
          ...common,
          name: 'docs',
          include: ['test/docs/**/*.test.ts', 'test/*.test.ts', 'test/growth/reader-list.test.ts'],
        },
      },
      {
        test: {
          ...common,
          ...sharedKeys,
          // A process for each file: in shared ones the heap grows, and files that measure or move much took two to three
          // times as long, which was more than loading the program anew costs.
          isolate: true,
          name: 'system',
          include: ['test/{scenarios,dialogues,fuzz,growth,interop,simulation}/**/*.test.ts'],
          exclude: ['test/growth/reader-list.test.ts', ...long],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
