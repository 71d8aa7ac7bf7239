/**
 * `npm run screenshots`: pictures of every place of the dashboard with the mail of the demonstration, into `docs/screenshots`:
 * on a desktop, and the first places also in the dark and on a phone. To be looked at before they are committed.
 * `ONLY=…` in the environment takes those whose names it matches.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium } from '../browser/chromium.ts';
import { startDemo } from './demo.ts';
import { ORDER_SAMPLE } from './templates.ts';

const [target = join(import.meta.dirname, '..', '..', 'docs', 'screenshots')] = process.argv.slice(2);
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };

const data = await mkdtemp(join(tmpdir(), 'postrider-screenshots-'));
const demo = await startDemo({ data, http: '127.0.0.1:0', days: 30, seed: 1 });
const browser = await launchChromium();
try {
  await mkdir(target, { recursive: true });
  const [bounced] = (await demo.call('GET', '/email?Status=Bounced&Limit=1')).Items as {
    MessageID: string;
  }[];
  const [mail] = (await demo.call('GET', '/sandbox/messages?Subject=order&Limit=1')).Items as {
    ID: string;
  }[];
  const first: Record<string, string> = {
    inbox: `/inbox/${mail?.ID}`,
    messages: `/messages/${bounced?.MessageID}`,
    overview: '/overview?range=30d',
    queue: '/queue',
  };
  const further = ['domains', 'webhooks', 'suppressions', 'access', 'system'];
  for (const [name, path] of Object.entries(first)) {
    await shot(name, path, DESKTOP, 'light');
    await shot(`${name}-dark`, path, DESKTOP, 'dark');
    await shot(`${name}-phone`, path, PHONE, 'light');
  }
  const [template] = (await demo.call('GET', '/templates?Name=order-shipped')).Items as {
    TemplateID: string;
  }[];
  await shot('templates', `/templates/${template?.TemplateID}`, DESKTOP, 'light', async (page) => {
    await page.getByRole('tab', { name: 'Sample data' }).click();
    const sample = page.getByRole('textbox', { name: 'Sample data' });
    await sample.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(JSON.stringify(ORDER_SAMPLE, null, 2));
    await page.getByRole('tab', { name: 'HTML' }).click();
    await page.evaluate('document.activeElement?.blur()');
  });
  await shot('domain', '/domains/club.example', DESKTOP, 'light');
  for (const name of further) await shot(name, `/${name}`, DESKTOP, 'light');
} finally {
  await browser.close();
  await demo.stop();
  await rm(data, { recursive: true, force: true });
}

async function shot(
  name: string,
  path: string,
  viewport: typeof DESKTOP,
  colorScheme: 'light' | 'dark',
  before?: (page: Page) => Promise<void>,
): Promise<void> {
  const only = process.env.ONLY;
  if (only !== undefined && !name.match(only)) return;
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  await page.goto(demo.server.localUrl + path);
  await settled(page);
  if (before !== undefined) {
    await before(page);
    await settled(page);
  }
  await page.screenshot({ path: join(target, `${name}.png`) });
  await context.close();
  process.stdout.write(`${name}.png\n`);
}

/** Nothing is loading, and what a frame shows is drawn. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading').first().waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(800);
}
