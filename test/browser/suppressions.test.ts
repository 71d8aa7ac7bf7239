/**
 * The suppressions in a browser, before a real server: found by address, domain and reason; taken off with a way back; added by
 * hand; imported from a file with its columns chosen and its wrong rows named before anything is sent; exported. What a
 * stranger's server said stays text. On a desktop and on a phone.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  addDomain,
  fileScope,
  type Instance,
  startInstance,
  temporaryFolder,
  until,
} from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { signedIn } from './people-kit.ts';

describe.skipIf(!hasBrowser)('the suppressions', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let operator: BrowserContextOptions;
  let url: string;

  beforeAll(async () => {
    server = await startInstance(scope);
    await addDomain(server, 'example.com');
    await addDomain(server, 'other.example');
    browser = await openBrowser(scope);
    operator = await signedIn(server);
    url = `${server.server.localUrl}/suppressions`;
  });

  const table = (page: Page) => page.getByRole('table', { name: 'Suppressions' });
  const names = async (page: Page) => table(page).getByRole('rowheader').locator('> bdi').allInnerTexts();
  const stored = async (query = '') =>
    ((await server.call('GET', `/suppressions?${query}`)).json.Items as { Email: string }[]).map(
      ({ Email }) => Email,
    );

  it('says that nobody is suppressed yet, and adds by hand with what is refused at its field', async () => {
    const { page, errors } = await openPage(browser, operator);
    await page.goto(url);
    await page.getByText('No suppressions yet').waitFor();
    await page.getByRole('button', { name: 'Add…' }).click();
    const dialog = page.getByRole('dialog');
    // As a development build does with whatever it shows: it stays open.
    await page.evaluate("const one = document.querySelector('dialog'); one.close(); one.showModal()");
    await dialog.getByLabel('Sender domain').selectOption('example.com');
    await dialog.getByLabel('Addresses').fill('gone@example.net nobody');
    await dialog.getByLabel('Note').fill('<b>asked</b> by telephone');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('alert').getByText('nobody: ').waitFor();
    await dialog.getByLabel('Addresses').fill('gone@example.net, left@sub.example.net');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('2 addresses added').waitFor();
    await table(page).getByText('<b>asked</b> by telephone').first().waitFor();
    expect(errors.filter((one) => !one.includes('status of 422'))).toEqual([]);
  });

  it('finds by address, domain, reason and sender, and says what it did not understand', async () => {
    const Items = [
      { Email: 'spam@example.org', Reason: 'Complaint' },
      { Email: 'full@example.net', Reason: 'SoftBounces' },
    ];
    await server.call('POST', '/suppressions', { body: { Domain: 'other.example', Items } });
    const { page } = await openPage(browser, operator);
    await page.goto(url);
    const find = async (text: string, found: readonly string[]) => {
      await page.getByRole('searchbox').fill(text);
      await page.keyboard.press('Enter');
      await expect.poll(() => names(page)).toEqual(found);
    };
    await table(page).waitFor();
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/suppressions?*example.net*', (route) => held.then(() => route.continue()));
    await page.getByRole('searchbox').fill('example.net');
    // What was there stays until the answer comes.
    await table(page).and(page.locator('[aria-busy="true"]')).waitFor();
    expect((await names(page)).length).toBe(4);
    answer();
    await find('example.net', ['full@example.net', 'gone@example.net']);
    await find('LEFT@sub.example.net', ['left@sub.example.net']);
    await find('domain:other.example', ['full@example.net', 'spam@example.org']);
    await page.getByRole('button', { name: 'Any reason' }).click();
    await page.getByRole('menuitem', { name: 'Complained' }).click();
    await expect.poll(() => names(page)).toEqual(['spam@example.org']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('domain:other.example reason:complaint');
    await page.getByRole('searchbox').fill('reason:tired');
    await page.getByText('reason:tired is not known').waitFor();
  });

  it('takes off after ten seconds of doubt', async () => {
    const { page } = await openPage(browser, operator);
    await page.clock.install();
    await page.goto(url);
    const off = page.getByRole('button', { name: 'Remove spam@example.org' });
    // The second click would hit the button of the row below.
    await off.dblclick();
    await page.getByRole('button', { name: 'Undo' }).click();
    await off.waitFor();
    // Who uses keys alone can take it back, and is then where they were, or at the row below.
    await off.focus();
    await page.keyboard.press('Enter');
    await page.locator('button:focus', { hasText: 'Undo' }).waitFor();
    await page.clock.runFor(100);
    await page.keyboard.press('Enter');
    await off.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.clock.runFor(11_000);
    await page.locator('button:focus', { hasText: 'Remove' }).waitFor();
    await until('it is off', async () => !(await stored()).includes('spam@example.org'));
    await expect.poll(() => off.count()).toBe(0);
  });

  it('leads to the message that was the cause, and shows what its server said as text', async () => {
    const id = await server.send({ To: [{ email: 'bounced@simulator.test' }], Sandbox: false });
    await server.settled(id);
    const { page } = await openPage(browser, operator);
    await page.route('**/api/v1/suppressions?*', async (route) => {
      const answer = await (await route.fetch()).json();
      const [item] = answer.Items;
      const Reply = '550 5.1.1 <img src=x onerror="document.title=\'ran\'"> \u202Eno such user';
      await route.fulfill({
        json: { ...answer, Items: [{ ...item, Reason: 'Bounce', MessageID: id, Reply }] },
      });
    });
    await page.goto(url);
    await table(page).getByText('550 5.1.1 <img src=x').waitFor();
    expect(await page.title()).not.toBe('ran');
    await page.getByRole('link', { name: 'The message' }).click();
    await page.waitForURL(`**/messages/${id}`);
  });

  it('imports a file: columns chosen, words explained, wrong rows named, nothing sent before', async () => {
    const { page, errors } = await openPage(browser, operator);
    await page.goto(`${url}/import`);
    const rows = Array.from({ length: 2_500 }, (_, n) => `reader${n}@import.example;verzogen`);
    const text = ['Kontakt;Grund', 'no address;x', ...rows, 'a b@import.example;x', 'last@import.example;'];
    await page.getByLabel('File').setInputFiles({
      name: 'list.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(text.join('\r\n')),
    });
    await page.getByLabel('Address', { exact: true }).selectOption('Kontakt');
    await page.getByLabel('Reason', { exact: true }).selectOption('Grund');
    await page.getByLabel('verzogen (2,500)').selectOption('Bounced');
    await page.getByText('2,501 rows').waitFor();
    await page.getByText('Bounced 2,500').waitFor();
    const wrong = page.getByRole('list', { name: 'Rows that are left out' }).getByRole('listitem');
    await expect.poll(() => wrong.count()).toBe(2);
    await wrong.filter({ hasText: 'line 2503' }).getByText('a b@import.example').waitFor();
    // Beside the page, which goes on while a file of many megabytes is read.
    expect(page.workers().map((one) => one.url())).toEqual([expect.stringContaining('file-worker')]);
    expect(await stored('RecipientDomain=import.example')).toEqual([]);
    await page.getByLabel('Sender domain').selectOption('example.com');
    await page.getByRole('button', { name: 'Put 2,501 addresses on the list' }).click();
    await page.getByText('2,501 addresses added').waitFor();
    await page.getByRole('link', { name: 'Show the list' }).click();
    await expect.poll(() => page.workers().length).toBe(0);
    await table(page).getByText('last@import.example').waitFor();
    await page.getByRole('button', { name: 'Show older entries' }).click();
    await until('two pages are shown', async () => (await names(page)).length === 200);
    expect(errors).toEqual([]);
    await page.route('**/suppressions?*After=*', (route) =>
      route.fulfill({
        status: 500,
        contentType: 'application/problem+json',
        body: '{"detail":"Page 3 is broken"}',
      }),
    );
    const more = page.getByRole('button', { name: 'Show older entries' });
    await more.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Page 3 is broken').waitFor();
    expect((await names(page)).length).toBe(200);
    // Who uses keys alone is still where they were.
    const focused = () => page.locator(':focus').textContent();
    expect(await focused()).toBe('Show older entries');
    await page.route('**/suppressions?*After=*', async (route) => {
      const { Items } = await (await route.fetch()).json();
      await route.fulfill({ json: { Items, HasMore: false, NextCursor: null } });
    });
    await page.keyboard.press('Enter');
    await page.getByText('That is all.').waitFor();
    expect(await focused()).toBe('That is all.');
    // What was read is in sight, not its end.
    expect((await names(page)).length).toBeGreaterThan(250);
    const end = await page.getByText('That is all.').boundingBox();
    expect(end?.y).toBeGreaterThan(page.viewportSize()?.height ?? 0);
  });

  it('exports what is found, as the import reads it again', async () => {
    const { page } = await openPage(browser, operator);
    await page.goto(`${url}?q=example.net`);
    await table(page).getByText('gone@example.net').waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const file = join(await temporaryFolder(scope), 'saved.csv');
    await (await download).saveAs(file);
    const lines = (await readFile(file, 'utf8')).trim().split('\r\n');
    expect(lines[0]).toBe('Email,Reason,Note,ExpiresAt,Domain,CreatedAt,MessageID,Reply,Rule');
    expect(lines.map((line) => line.split(',')[0])).toEqual([
      'Email',
      'full@example.net',
      'gone@example.net',
    ]);
    await page.goto(`${url}/import`);
    await page.getByLabel('File').setInputFiles(file);
    await page.getByText('2 rows: Soft bounces 1, By hand 1').waitFor();
  });

  it('is used on a phone, and offers a viewer nothing that is refused', async () => {
    const wide = (page: Page) =>
      page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
    const { page, errors } = await openPage(browser, { ...operator, viewport: PHONE, hasTouch: true });
    await page.goto(url);
    await page.getByRole('list', { name: 'Suppressions' }).getByRole('listitem').first().waitFor();
    expect(await wide(page)).toBe(false);
    await page.getByRole('link', { name: 'Import…' }).click();
    await page.getByLabel('File').setInputFiles({
      name: 'list.json',
      mimeType: 'application/json',
      buffer: Buffer.from(
        JSON.stringify([{ email: `${'long'.repeat(15)}@example.net`, note: 'n'.repeat(200) }]),
      ),
    });
    await page.getByRole('list', { name: 'The first rows' }).waitFor();
    expect(await wide(page)).toBe(false);
    const vera = await openPage(browser, await signedIn(server, { Role: 'viewer', Domains: ['*'] }));
    await vera.page.goto(url);
    await table(vera.page)
      .getByText('gone@example.net')
      .or(table(vera.page).getByText('last@'))
      .first()
      .waitFor();
    for (const name of ['Add…', 'Take'])
      await expect.poll(() => vera.page.getByRole('button', { name }).count(), { message: name }).toBe(0);
    await expect.poll(() => vera.page.getByRole('link', { name: 'Import…' }).count()).toBe(0);
    expect([...errors, ...vera.errors]).toEqual([]);
  });
});
