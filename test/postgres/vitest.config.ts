/**
 * The scenarios on PostgreSQL instead of SQLite, what both engines answer, and tests of several nodes and of a database that goes
 * away, which take long. Apart from `npm test`, which runs the scenarios on SQLite: what differs is the engine, and that every server is a node among
 * others.
 */
import { defineConfig } from 'vitest/config';
import { common, maxWorkers, sharedKeys } from '../../vitest.config.ts';

/** About files of SQLite, about what no store takes part in, or a hundred servers' worth of work. */
const OTHERS = [
  ...[
    'backup',
    'client-package',
    'client-shapes',
    'client-testing',
    'command-table',
    'crowding',
    'debian-package',
  ],
  ...['delivery-hosts', 'demo', 'dev-clients', 'doctor', 'failure-words', 'first-ten-minutes', 'https'],
  ...['installed-package', 'peers-get-wrong', 'receive-webhooks', 'reference-page', 'refusals', 'rollback'],
  ...['sandbox-inboxes', 'setup', 'team-sandbox', 'test-mail-in-ci', 'tls-ladder'],
].map((name) => `test/scenarios/${name}.test.ts`);

export default defineConfig({
  test: {
    ...common,
    name: 'scenarios on postgres',
    include: ['test/scenarios/**/*.test.ts', 'test/postgres/**/*.test.ts'],
    exclude: OTHERS,
    globalSetup: [...sharedKeys.globalSetup, 'src/store/postgres/test-server.ts'],
    setupFiles: sharedKeys.setupFiles,
    isolate: true,
    maxWorkers,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
