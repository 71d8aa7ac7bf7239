/**
 * Pictures of the dashboard in every state that matters, at four widths, light and dark: `node test/browser/screenshots.ts
 * FOLDER`. Given a folder; starts a development server of its own with mail of all kinds, and leaves the pictures, to be
 * looked at.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { LONG_MAILS, SHOWN_MAILS } from './mails.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const WIDTHS = [360, 768, 1280, 1920] as const;
const ROOT = join(import.meta.dirname, '..', '..');

await mkdir(target, { recursive: true });
const data = await mkdtemp(join(tmpdir(), 'postrider-screens-'));
const server = spawn(
  join(ROOT, 'bin', 'postrider'),
  ['dev', '--http', '127.0.0.1:0', '--submission', '127.0.0.1:0', '--data', data],
  { stdio: 'ignore' },
);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});
try {
  const url = await addressOf(data);
  const token = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
  const send = async (mail: object): Promise<void> => {
    const answer = await fetch(`${url}/api/v1/email`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(mail),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  };
  await everywhere('empty', async (page) => page.goto(`${url}/inbox`));
  for (const mail of SHOWN_MAILS) await send(mail);
  await everywhere('inbox', (page) => open(page, url, 'Your sign-in code'));
  for (const mail of [...LONG_MAILS, ...SHOWN_MAILS]) await send(mail);
  await everywhere('list', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().waitFor();
  });
  await everywhere('mail', (page) => open(page, url, 'Your sign-in code'));
  await everywhere('long', (page) => open(page, url, 'Donaudampf'));
  await everywhere('rtl', (page) => open(page, url, 'تأكيد'));
  for (const view of ['Source', 'Headers', 'Links', 'Attachments', 'Checks', 'Test code', 'Text']) {
    await everywhere(`view-${view.toLowerCase().replaceAll(' ', '-')}`, async (page) => {
      await open(page, url, 'Your order');
      await page.getByRole('tab', { name: view }).click();
      await page.waitForTimeout(300);
    });
  }
  await everywhere('phone-width', async (page) => {
    await open(page, url, 'Your order');
    await page.getByRole('radio', { name: '375' }).click();
  });
  await everywhere('keys', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).waitFor();
    await page.keyboard.press('?');
  });
  await everywhere('selected', async (page) => {
    await page.goto(`${url}/inbox`);
    await page.getByRole('list', { name: 'Captured mail' }).getByRole('link').first().waitFor();
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  });
  await everywhere('nothing-found', (page) => page.goto(`${url}/inbox?q=from:nobody@example.com`));
  await everywhere('release', async (page) => {
    await open(page, url, 'Your sign-in code');
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('button', { name: 'Release', exact: true }).last().click();
    await page.waitForTimeout(300);
  });
  await everywhere('offline', async (page) => {
    await open(page, url, 'Your sign-in code');
    await page.route('**/api/**', (route) => route.abort());
    // Hidden and shown again: the stream is begun anew.
    for (const hidden of [true, false])
      await page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await page.getByRole('alert').first().waitFor();
  });
} finally {
  await browser.close();
  server.kill();
  await new Promise((resolve) => server.once('exit', resolve));
  await rm(data, { recursive: true });
}

async function everywhere(name: string, show: (page: Page) => Promise<unknown>): Promise<void> {
  for (const width of WIDTHS) {
    for (const colorScheme of ['light', 'dark'] as const) {
      if (process.env.ONLY !== undefined && !`${name}-${width}-${colorScheme}`.match(process.env.ONLY))
        continue;
      const height = width === 360 ? 740 : width === 768 ? 1024 : 800;
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      const page = await context.newPage();
      await show(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(target, `${name}-${width}-${colorScheme}.png`) });
      await context.close();
    }
  }
}

async function open(page: Page, url: string, subject: string): Promise<void> {
  await page.goto(`${url}/inbox`);
  await page
    .getByRole('list', { name: 'Captured mail' })
    .getByRole('link', { name: subject })
    .first()
    .click();
  await page.getByRole('tab', { name: 'Preview' }).waitFor();
}

async function addressOf(folder: string): Promise<string> {
  for (;;) {
    const note = await readFile(join(folder, 'server.json'), 'utf8').catch(() => null);
    if (note !== null) return (JSON.parse(note) as { url: string }).url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
