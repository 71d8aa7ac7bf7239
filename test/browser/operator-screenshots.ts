/**
 * Pictures of the overview and the queue, at four widths, light and dark: `node test/browser/operator-screenshots.ts FOLDER`.
 * Given a folder; starts a server with receivers that defer, refuse and bounce, and leaves the pictures, to be looked at.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { LONG_DOMAIN, openOperatorWorld } from './operator-kit.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const WIDTHS = [360, 768, 1280, 1920] as const;
const ends: (() => unknown)[] = [];

await mkdir(target, { recursive: true });
const { server, send } = await world();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});
ends.push(() => browser.close());
const url = server.server.localUrl;
try {
  await everywhere('overview-empty', '/overview', (page) => page.getByText('Nothing needs').waitFor());
  await everywhere('queue-empty', '/queue', (page) => page.getByText('Nothing waits').waitFor());
  for (let n = 0; n < 40; n += 1) await send(`reader${n}@example.net`);
  for (let n = 0; n < 7; n += 1) await send(`reader${n}@slow.example`);
  for (let n = 0; n < 3; n += 1) await send(`reader${n}@closed.example`);
  for (let n = 0; n < 4; n += 1) await send(`gone${n}@gone.example`);
  for (let n = 0; n < 2; n += 1) await send(`reader${n}@strict.example`);
  await send(`someone@${LONG_DOMAIN}`, { Priority: 'bulk' });
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  await server.call('POST', '/queue/hold', {
    body: { SenderDomain: 'example.com', Priority: 'bulk', Reason: 'wrong price in the newsletter' },
  });
  await everywhere('overview', '/overview', (page) => page.getByText('Receiving domains').waitFor());
  await everywhere('overview-week', '/overview?range=7d', (page) =>
    page.getByText('Receiving domains').waitFor(),
  );
  await everywhere('queue', '/queue', (page) => page.getByText('slow.example').first().waitFor());
  await everywhere('queue-causes', '/queue?view=causes', (page) =>
    page.getByText('DMARC policy').first().waitFor(),
  );
  await everywhere('queue-holds', '/queue?view=holds', (page) =>
    page.getByText('wrong price').first().waitFor(),
  );
  await everywhere('queue-hold', '/queue', async (page) => {
    await page.getByRole('button', { name: 'Hold mail…' }).click();
  });
  await everywhere('site', '/queue/closed.example', async (page) => {
    await page.getByText('Limits now').click();
  });
  await everywhere('site-slow', '/queue/slow.example', (page) => page.getByText('Limits now').waitFor());
  await everywhere('site-long', `/queue/${LONG_DOMAIN}`, (page) =>
    page.getByText('Closed and opened').waitFor(),
  );
  await everywhere('site-none', '/queue/nobody', (page) =>
    page.getByRole('button', { name: 'Try again' }).waitFor(),
  );
} finally {
  for (const end of ends.reverse()) await end();
}

async function world() {
  const folders: string[] = [];
  const scope = {
    defer: (end: () => unknown) => void ends.push(end),
    async folder() {
      const made = await mkdtemp(join(process.env.TMPDIR ?? '/tmp', 'postrider-screens-'));
      folders.push(made);
      return made;
    },
  };
  const folder = await scope.folder();
  ends.push(() => Promise.all(folders.map((one) => rm(one, { recursive: true }))));
  const opened = await openOperatorWorld(scope, '127.82', folder);
  return {
    ...opened,
    send: (to: string, more: object = {}) => opened.server.send({ To: [{ email: to }], CC: [], ...more }),
  };
}

async function everywhere(name: string, path: string, show: (page: Page) => Promise<unknown>): Promise<void> {
  for (const width of WIDTHS) {
    for (const colorScheme of ['light', 'dark'] as const) {
      if (process.env.ONLY !== undefined && !`${name}-${width}-${colorScheme}`.match(process.env.ONLY))
        continue;
      const height = width === 360 ? 740 : width === 768 ? 1024 : 800;
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      const page = await context.newPage();
      await page.goto(url + path);
      await show(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(target, `${name}-${width}-${colorScheme}.png`) });
      await context.close();
    }
  }
}
