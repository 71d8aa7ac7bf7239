/**
 * What open pages cost the server: twenty that are looked at take at most 5 % of a core. The server runs as a program of its
 * own, so that only its processor time is counted.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, temporaryFolder, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage } from './browser.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const WATCHED_MS = 30_000;
const TICKS_PER_SECOND = 100;

describe.skipIf(!hasBrowser || process.platform !== 'linux')('twenty open pages', () => {
  const scope = fileScope();
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
    url = await until('the server listens', async () => {
      const note = await readFile(join(folder, 'server.json'), 'utf8').catch(() => null);
      return note === null ? null : (JSON.parse(note) as { url: string }).url;
    });
  });

  it.each(['overview', 'queue'])('of the place %s cost at most a twentieth of a core', async (place) => {
    const browser = await openBrowser(scope);
    const pages = await Promise.all(Array.from({ length: 20 }, () => openPage(browser)));
    await Promise.all(pages.map(({ page }) => page.goto(`${url}/${place}`)));
    const before = await cpuMs();
    await pages[0]?.page.waitForTimeout(WATCHED_MS);
    const share = ((await cpuMs()) - before) / WATCHED_MS;
    await browser.close();
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
