/**
 * The PostgreSQL server of the tests: the one that POSTRIDER_TEST_DATABASE names (a URL whose role may create
 * databases), or one from the programs of this machine, started once for all test files and removed afterwards. If
 * there is neither, the tests of this engine are reported as skipped; in CI (CI=true) that is an error.
 */
import type { TestProject } from 'vitest/node';
import { newestPrograms, OLDEST, startCluster } from './test-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a database of the server, or why there is none. */
    postgres: { url: string } | { missing: string };
  }
}

/** For vitest: starts the server, and returns the function that stops it. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.POSTRIDER_TEST_DATABASE;
  if (given !== undefined && given !== '') {
    project.provide('postgres', { url: given });
    return undefined;
  }
  if (newestPrograms() === null) {
    const missing = `PostgreSQL ${OLDEST} or newer is not installed, and POSTRIDER_TEST_DATABASE is not set`;
    if (process.env.CI === 'true') throw new Error(missing);
    process.stderr.write(`SKIPPED: all tests of the PostgreSQL engine, because ${missing}.\n`);
    project.provide('postgres', { missing });
    return undefined;
  }
  const server = await startCluster({ settings: { max_prepared_transactions: '1' } });
  project.provide('postgres', { url: server.url });
  return server.remove;
}
