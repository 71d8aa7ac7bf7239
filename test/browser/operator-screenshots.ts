/**
 * Pictures of the overview and the queue, at four widths, light and dark: `node test/browser/operator-screenshots.ts FOLDER`.
 * Given a folder; starts a server with receivers that defer, refuse and bounce, and leaves the pictures, to be looked at.
 */
import { mkdir } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { LONG_DOMAIN, openOperatorWorld } from './operator-kit.ts';
import { everywhereIn } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const ends: (() => unknown)[] = [];

await mkdir(target, { recursive: true });
const { server, send } = await world();
const browser = await launchChromium();
ends.push(() => browser.close());
const url = server.server.localUrl;
const everywhere = everywhereIn(browser, target);
try {
  await shot('overview-empty', '/overview', (page) => page.getByText('Nothing needs').waitFor());
  await shot('queue-empty', '/queue', (page) => page.getByText('Nothing waits').waitFor());
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
  await shot('overview', '/overview', (page) => page.getByText('Receiving providers').waitFor());
  await shot('overview-week', '/overview?range=7d', (page) =>
    page.getByText('Receiving providers').waitFor(),
  );
  await shot('queue', '/queue', (page) => page.getByText('slow.example').first().waitFor());
  await shot('queue-causes', '/queue?view=causes', (page) =>
    page.getByText('DMARC policy').first().waitFor(),
  );
  await shot('queue-holds', '/queue?view=holds', (page) => page.getByText('wrong price').first().waitFor());
  await shot('queue-hold', '/queue', async (page) => {
    await page.getByRole('button', { name: 'Hold mail…' }).click();
  });
  await shot('site', '/queue/closed.example', async (page) => {
    await page.getByText('Limits now').click();
  });
  await shot('site-slow', '/queue/slow.example', (page) => page.getByText('Limits now').waitFor());
  await shot('site-long', `/queue/${LONG_DOMAIN}`, (page) => page.getByText('Closed and opened').waitFor());
  await shot('site-none', '/queue/nobody', (page) =>
    page.getByRole('button', { name: 'Try again' }).waitFor(),
  );
} finally {
  for (const end of ends.reverse()) await end();
}

async function world() {
  const opened = await openOperatorWorld({ defer: (end) => void ends.push(end) }, '127.82');
  return {
    ...opened,
    send: (to: string, more: object = {}) => opened.server.send({ To: [{ email: to }], CC: [], ...more }),
  };
}

/** What `show` brings about at an address. */
async function shot(name: string, path: string, show: (page: Page) => Promise<unknown>): Promise<void> {
  await everywhere(name, async (page) => {
    await page.goto(url + path);
    await show(page);
  });
}
