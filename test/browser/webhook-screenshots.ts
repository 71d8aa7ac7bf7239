/**
 * Pictures of the webhooks, at four widths, light and dark: `node test/browser/webhook-screenshots.ts FOLDER`. Given a folder; starts
 * a server and a receiver that takes calls, refuses or hangs, and leaves the pictures, to be looked at.
 */
import { mkdir } from 'node:fs/promises';
import { startInstance } from '../scenarios/harness.ts';
import { launchChromium } from './chromium.ts';
import { startReceiver } from './receiver.ts';
import { everywhereIn } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const ends: (() => unknown)[] = [];
const scope = { defer: (end: () => unknown) => void ends.push(end) };

await mkdir(target, { recursive: true });
const receiver = await startReceiver(scope);
const server = await startInstance(scope, { mode: 'dev', settings: { 'log-level': 'error' } });
const browser = await launchChromium();
ends.push(() => browser.close());
const url = `${server.server.localUrl}/webhooks`;
const everywhere = everywhereIn(browser, target);

try {
  await everywhere('webhooks-empty', async (page) => {
    await page.goto(url);
    await page.getByText('No webhooks yet').waitFor();
  });
  await server.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
  const long = `/works/${'a-long-path-of-an-application/'.repeat(8)}`;
  const Events = ['delivery', 'bounce', 'accept', 'complaint', 'open', 'click'];
  for (const path of ['/works', '/broken', '/hangs', long])
    await server.call('POST', '/webhooks', {
      body: {
        WebhookURL: receiver.url + path,
        Domain: 'example.com',
        ...(path === '/works'
          ? { Event: 'all', Description: 'Orders and invoices of the shop' }
          : { Events }),
      },
    });
  for (let n = 0; n < 4; n += 1) await server.send({ To: [{ email: `reader${n}@example.net` }] });
  await server.call('PATCH', '/webhooks/3', { body: { Status: 'Disabled' } });
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  await everywhere('webhooks', async (page) => {
    await page.goto(url);
    await page.getByText('Failing').first().waitFor();
  });
  await everywhere('webhooks-new', async (page) => {
    await page.goto(url);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('All events').uncheck();
  });
  await everywhere('webhook', async (page) => {
    await page.goto(`${url}/2`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Answered 500').last().waitFor();
    await page.getByRole('list', { name: 'Calls' }).locator('summary').first().click();
    await page.getByText('webhook-id: evt_').waitFor();
  });
  await everywhere('webhook-long', async (page) => {
    await page.goto(`${url}/4`);
    await page.getByText('timingSafeEqual').first().waitFor();
  });
} finally {
  for (const end of ends.reverse()) await end();
}
