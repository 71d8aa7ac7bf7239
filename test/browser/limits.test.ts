/**
 * What open pages cost the server: half a minute of twenty that are looked at takes at most 5 % of a core. The server runs as a
 * program of its own, so that only its processor time is counted; the clocks of the pages are moved on, so that nobody waits.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, temporaryFolder, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage } from './browser.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGES = 20;
const WATCHED_MS = 30_000;
/** No page asks more often for the same. */
const STEP_MS = 5_000;
const TICKS_PER_SECOND = 100;

describe.skipIf(!hasBrowser || process.platform !== 'linux')('twenty open pages', () => {
  const scope = fileScope();
  let browser: Browser;
  let url: string;
  let pid: number;

  beforeAll(async () => {
    const folder = await temporaryFolder(scope);
    const settings = ['--http', '127.0.0.1:0', '--submission', '127.0.0.1:0', '--data', folder];
    const server = spawn(process.execPath, [join(ROOT, 'src', 'main.ts'), 'dev', ...settings], {
      stdio: 'ignore',
    });
    scope.defer(async () => {
      server.kill();
      await once(server, 'exit');
    });
    pid = server.pid ?? 0;
    browser = await openBrowser(scope);
    url = await until('the server listens', async () => {
      const note = await readFile(join(folder, 'server.json'), 'utf8').catch(() => null);
      return note === null ? null : (JSON.parse(note) as { url: string }).url;
    });
  });

  it.each(['overview', 'queue'])('of the place %s cost at most a twentieth of a core', async (place) => {
    const pages = await Promise.all(Array.from({ length: PAGES }, () => openPage(browser)));
    let underWay = 0;
    for (const { page } of pages) {
      await page.clock.install();
      page.on('request', () => (underWay += 1));
      page.on('requestfinished', () => (underWay -= 1));
      page.on('requestfailed', () => (underWay -= 1));
      await page.goto(`${url}/${place}`);
    }
    const answered = () => until('all is answered', () => underWay === 0);
    await answered();
    const asked = () => pages.reduce((sum, { requests }) => sum + requests.length, 0);
    const [askedBefore, before] = [asked(), await cpuMs()];
    for (let ms = 0; ms < WATCHED_MS; ms += STEP_MS) {
      await Promise.all(pages.map(({ page }) => page.clock.runFor(STEP_MS)));
      await answered();
    }
    const share = ((await cpuMs()) - before) / WATCHED_MS;
    expect(asked() - askedBefore).toBeGreaterThanOrEqual(2 * PAGES);
    expect(share).toBeLessThan(0.05);
  });

  /** Of all threads of the server. */
  async function cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return ((user + system) * 1_000) / TICKS_PER_SECOND;
  }
});
