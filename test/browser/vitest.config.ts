/** Tests of the built dashboard in Chromium before a real server. Apart from `npm test`: they need a build and a browser. */
import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.ts';

export default defineConfig({
  test: {
    name: 'browser',
    include: ['test/browser/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    execArgv: common.execArgv,
    // Loading the server anew for each file took longer than some of the files.
    isolate: false,
    // Two at once: a test waits for its browser as often as it works.
    maxWorkers: 2,
    globalSetup: 'test/browser/shared-browser.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: common.expect,
  },
});
