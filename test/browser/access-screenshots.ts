/**
 * Pictures of Access and System, at four widths, light and dark: `node test/browser/access-screenshots.ts FOLDER`. Given a
 * folder; starts a production server with tokens, logins and people of long names, and leaves the pictures, to be looked at.
 */
import { mkdir } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { addDomain, startInstance } from '../scenarios/harness.ts';
import { launchChromium } from './chromium.ts';
import { addPerson, sessionCookie } from './people-kit.ts';
import { everywhereIn } from './screens.ts';

const [target = 'screenshots'] = process.argv.slice(2);
const LONG = 'a-rather-long-name-of-an-organisation.department.example';
const ADA = 'ada@example.com';
const ends: (() => unknown)[] = [];

await mkdir(target, { recursive: true });
const settings = { submission: '127.0.0.1:0', 'submission-tls': '127.0.0.1:0' };
const server = await startInstance({ defer: (end) => void ends.push(end) }, { settings });
const browser = await launchChromium();
ends.push(() => browser.close());
const make = async (path: string, body: object, token = server.token) =>
  (await server.call('POST', path, { body, token })).json;
const url = server.server.localUrl;
try {
  await addPerson(server, ADA);
  const everywhere = everywhereIn(browser, target, {
    cookies: await Promise.all([sessionCookie(server, ADA)]),
  });
  const shot = (name: string, path: string, show: (page: Page) => Promise<unknown>) =>
    everywhere(name, async (page) => {
      await page.goto(url + path);
      await show(page);
    });
  const click = (name: string) => (page: Page) => page.getByRole('button', { name }).first().click();
  await shot('smtp-empty', '/access?tab=smtp', (page) => page.getByText('No SMTP').waitFor());
  await addDomain(server, 'example.com');
  await addDomain(server, LONG);
  const shop = await make('/tokens', { Name: 'shop', Domains: ['example.com'], Preset: 'Full' });
  const below = await make(
    '/tokens',
    { Name: 'shop, checkout', Domains: ['example.com'], Preset: 'Full' },
    shop.Token,
  );
  await make(
    '/tokens',
    { Name: 'receipts', Domains: ['example.com'], Preset: 'Send', RateLimit: 5 },
    below.Token,
  );
  await make('/tokens', {
    ...{ Name: 'Nachrichtenversandbestaetigungsdienstprogramm der Abteilung', Preset: 'Default' },
    ...{ Domains: ['example.com', LONG, 'third.example', 'fourth.example'], Sandbox: true },
    ...{ IPAllowList: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'], ExpiresIn: 7_000 },
  });
  await make('/tokens', {
    Name: 'تطبيق المتجر',
    Domains: ['example.com'],
    Scopes: ['stats:read', 'templates:write'],
  });
  await make('/smtp-credentials', { Name: 'printer', Domain: 'example.com' });
  await make('/smtp-credentials', {
    Name: 'a very long name of a program on the fourth floor',
    Domain: LONG,
    Sandbox: true,
  });
  await addPerson(server, `bob.with.a.long.name@${LONG}`, {
    Role: 'member',
    Domains: ['example.com', LONG],
    Preset: 'Full',
  });
  await addPerson(server, 'vera@example.com', { Role: 'viewer', Domains: ['*'] });
  await shot('tokens', '/access', (page) => page.getByText('receipts').first().waitFor());
  await shot('token-new', '/access', click('New token'));
  await shot('token-menu', '/access', click('Actions for shop'));
  await shot('token-revoke', '/access', async (page) => {
    await page.getByRole('button', { name: 'Actions for Nach' }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
  });
  const makeToken = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('from a picture');
    await page.getByLabel('example.com', { exact: true }).check();
    await page.getByLabel('Ends', { exact: true }).selectOption('never');
    await page.getByRole('button', { name: 'Make the token' }).click();
  };
  await shot('token-made', '/access', async (page) => {
    await makeToken(page);
    await page.getByText('Try it').waitFor();
  });
  await shot('proof', '/access', async (page) => {
    // As long after the sign-in.
    const body = JSON.stringify({ type: '/problems/proof-required', title: 'Prove again who you are' });
    await page.route('**/api/v1/tokens', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 403, body }) : route.fallback(),
    );
    await makeToken(page);
    await page.getByRole('dialog', { name: 'Prove that it is you' }).waitFor();
  });
  await shot('smtp', '/access?tab=smtp', (page) => page.getByText('printer').first().waitFor());
  await shot('smtp-made', '/access?tab=smtp', async (page) => {
    await page.getByRole('button', { name: 'New SMTP' }).click();
    await page.getByRole('button', { name: 'Make the credential' }).click();
    await page.getByText('Settings for').waitFor();
  });
  await shot('people', '/access?tab=people', (page) => page.getByText('vera@example.com').first().waitFor());
  await shot('person-new', '/access?tab=people', click('Add a person'));
  await shot('person-remove', '/access?tab=people', async (page) => {
    await page.getByRole('button', { name: 'Actions for bob' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
  });
  await shot('audit', '/access?tab=audit', (page) => page.getByText('added the domain').first().waitFor());
  await shot('audit-none', '/access?tab=audit&who=nobody', (page) =>
    page.getByText('No change is').waitFor(),
  );
  await shot('checks-none', '/system', (page) => page.getByText('Nothing was checked').waitFor());
  await shot('checks', '/system', async (page) => {
    await page.getByRole('button', { name: 'Check everything' }).click();
    await page.getByRole('button', { name: 'Check again' }).waitFor();
  });
  await shot('server', '/system?tab=server', (page) => page.getByText('This process').waitFor());
  await shot('warmup-none', '/system?tab=warmup', (page) => page.getByText('No source is').waitFor());
  await shot('settings', '/system?tab=config', (page) => page.getByText('hostname').first().waitFor());
  for (let n = 0; n < 3; n += 1) await server.call('GET', '/me', { token: 'none' });
  await server.call('POST', '/email', { token: below.Token, body: {} });
  await shot('refused', '/system?tab=refused', (page) => page.getByText('3 times').first().waitFor());
} finally {
  for (const end of ends.reverse()) await end();
}
