/** Before the first file and after the last: one Chromium for all of them, because starting it costs as much as a short test. */
import type { TestProject } from 'vitest/node';
import { hasBrowser, launchSharedChromium } from './chromium.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the shared Chromium is; '' = there is none. */
    browser: string;
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!hasBrowser) {
    process.stderr.write('SKIPPED: the dashboard in a browser (apt-get install chromium-headless-shell)\n');
    project.provide('browser', '');
    return undefined;
  }
  const browser = await launchSharedChromium();
  project.provide('browser', browser.wsEndpoint());
  return () => browser.close();
}
