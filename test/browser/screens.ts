/**
 * What the scripts that take pictures of the dashboard share: a development server of their own, and one picture at each of
 * four widths, light and dark. `ONLY=…` in the environment takes those whose names it matches.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { setHidden } from './browser.ts';
import { launchChromium } from './chromium.ts';

const WIDTHS = [360, 768, 1280, 1920] as const;
const ROOT = join(import.meta.dirname, '..', '..');

export interface Screens {
  url: string;
  /** A request below /api/v1, as the administrator; throws where it is refused. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Pictures of what `show` brings about. */
  everywhere(name: string, show: (page: Page) => Promise<unknown>): Promise<void>;
}

/** Runs `take` with a server and a browser that end with it. `settings`: flags of the server. */
export async function withScreens(
  target: string,
  settings: readonly string[],
  take: (screens: Screens) => Promise<void>,
): Promise<void> {
  await mkdir(target, { recursive: true });
  const data = await mkdtemp(join(tmpdir(), 'postrider-screens-'));
  const server = spawn(
    join(ROOT, 'bin', 'postrider'),
    ['dev', '--http', '127.0.0.1:0', '--submission', '127.0.0.1:0', '--data', data, ...settings],
    { stdio: 'ignore' },
  );
  const browser = await launchChromium();
  try {
    const url = await addressOf(data);
    const token = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    await take({
      url,
      async call(method, path, body) {
        const answer = await fetch(`${url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
        return answer.json();
      },
      everywhere: everywhereIn(browser, target),
    });
  } finally {
    await browser.close();
    server.kill();
    await new Promise((resolve) => server.once('exit', resolve));
    await rm(data, { recursive: true });
  }
}

/** Takes pictures into a folder that exists. `cookies`: of who is signed in. */
export function everywhereIn(
  browser: Browser,
  target: string,
  { cookies = [] }: { cookies?: Parameters<BrowserContext['addCookies']>[0] } = {},
): Screens['everywhere'] {
  return async (name, show) => {
    for (const width of WIDTHS) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const only = process.env.ONLY;
        if (only !== undefined && !`${name}-${width}-${colorScheme}`.match(only)) continue;
        const height = width === 360 ? 740 : width === 768 ? 1024 : 800;
        const context = await browser.newContext({ viewport: { width, height }, colorScheme });
        await context.addCookies(cookies);
        const page = await context.newPage();
        await show(page);
        await page.waitForTimeout(400);
        await page.screenshot({ path: join(target, `${name}-${width}-${colorScheme}.png`) });
        await context.close();
      }
    }
  };
}

/** As in a server that went away: everything is refused, and the streams begin anew. */
export async function goOffline(page: Page): Promise<void> {
  await page.route('**/api/**', (route) => route.abort());
  // Hidden and shown again: the stream is begun anew.
  for (const hidden of [true, false]) await setHidden(page, hidden);
  await page.getByRole('alert').first().waitFor();
}

async function addressOf(folder: string): Promise<string> {
  for (;;) {
    const note = await readFile(join(folder, 'server.json'), 'utf8').catch(() => null);
    if (note !== null) return (JSON.parse(note) as { url: string }).url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
