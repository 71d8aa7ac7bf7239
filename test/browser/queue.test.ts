/**
 * The queue in a browser, before a real server and receivers that defer mail or take no connection: what waits and why, a
 * site's page, trying it now, holding and releasing, causes; on a desktop, by keys, and on a phone.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, until } from '../scenarios/harness.ts';
import { hasBrowser, openBrowser, openPage, PHONE } from './browser.ts';
import { type OperatorWorld, openOperatorWorld } from './operator-kit.ts';

/** What is used of the page's own global object. */
interface Styles {
  getComputedStyle(one: unknown): { color: string };
}

describe.skipIf(!hasBrowser)('the queue', () => {
  const scope = fileScope();
  let world: OperatorWorld;
  let browser: Browser;
  let url: string;

  const send = (to: string, more: object = {}) => world.server.send({ To: [{ email: to }], ...more });
  const row = (page: Page, site: string) => page.getByRole('row').filter({ hasText: site });
  const holds = async () => (await world.server.call('GET', '/queue/holds')).json.Items as object[];

  beforeAll(async () => {
    world = await openOperatorWorld(scope, '127.81');
    browser = await openBrowser(scope);
    url = `${world.server.server.localUrl}/queue`;
  });

  it('says that nothing waits', async () => {
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Nothing waits').waitFor();
    expect(errors).toEqual([]);
  });

  it('shows what waits, where, why and until when', async () => {
    await send('a@slow.example');
    await send('b@slow.example');
    await send('a@closed.example');
    await until('all wait', async () => {
      const { Queues } = (await world.server.call('GET', '/queue')).json;
      return Queues.length === 2 && Queues.every((one: { Due: number }) => one.Due === 0);
    });
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await row(page, 'slow.example').getByText('Greylisted').waitFor();
    expect(await row(page, 'slow.example').getByRole('cell').first().innerText()).toBe('2');
    await row(page, 'closed.example').getByText('Too many connections').first().waitFor();
    await row(page, 'closed.example').getByText(/^in /).waitFor();
    await page.goto(`${url}/slow.example`);
    await page.getByRole('link', { name: '2', exact: true }).click();
    await page.getByText('b@slow.example').first().waitFor();
    expect(await page.getByText('a@slow.example').count()).toBeGreaterThan(0);
    expect(await page.getByText('a@closed.example').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  it('is used by keys: find a site, open it, go back', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await row(page, 'slow.example').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('no such word');
    await page.getByText('Nothing found').waitFor();
    await page.getByRole('searchbox').fill('closed');
    await until('one site is found', async () => (await page.getByRole('row').count()) === 2);
    expect(page.url()).toContain('q=closed');
    await page.keyboard.press('Enter');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'closed.example', level: 1 }).waitFor();
    await page.getByText('Nothing goes').waitFor();
    const sender = page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: 'example.com' });
    expect(await sender.getAttribute('href')).toBe('/domains/example.com');
    await page.getByRole('list', { name: 'Closed and opened' }).getByText('Too many connections').waitFor();
    await page.keyboard.press('u');
    await row(page, 'closed.example').waitFor();
  });

  it('shows the limits of a site and where each comes from, and tries it now', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${url}/closed.example`);
    await page.getByText('Limits now, and where each comes from').click();
    await page.getByRole('rowheader', { name: 'connections', exact: true }).waitFor();
    world.mend();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('is tried now with one message').waitFor();
    await page.getByText('0 waiting').waitFor();
    await page.getByText('Mail goes').waitFor();
  });

  it('holds mail, takes it back, and releases it after ten seconds of doubt', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.getByRole('button', { name: 'More about slow.example' }).click();
    await page.getByRole('menuitem', { name: 'Hold its mail…' }).click();
    await page.locator('[name=RecipientDomain]:focus').waitFor();
    await page.getByLabel('Reason').fill('their maintenance');
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    const said = page.getByRole('status').filter({ hasText: 'Held: their maintenance' });
    const colourOf = (part: Locator) =>
      part.evaluate((one) => (globalThis as unknown as Styles).getComputedStyle(one).color);
    const colour = await colourOf(said.getByText('Held: their maintenance'));
    expect(colour).toMatch(/^(?:rgb|oklch|color)/);
    expect(await colourOf(said.getByRole('button', { name: 'Close' }))).toBe(colour);
    expect(await holds()).toMatchObject([{ RecipientDomain: 'slow.example' }]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await until('the hold is gone', async () => (await holds()).length === 0);

    await page.getByRole('button', { name: 'Hold mail…' }).click();
    await page.getByLabel('From domain').fill('not a domain');
    await page.getByLabel('Reason').fill('wrong price');
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await page.getByRole('textbox', { name: 'From domain', description: /must be a domain name/ }).waitFor();
    await page.getByLabel('From domain').fill('example.com');
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await page.getByRole('radio', { name: /Holds/ }).click();
    const list = page.getByRole('list', { name: 'Holds' });
    await list.getByText('Mail from example.com').waitFor();
    await list.getByRole('button', { name: 'Release' }).click();
    await page
      .getByText('No mail is held')
      .or(list.getByText('nothing'))
      .first()
      .waitFor({ state: 'detached' });
    expect(await holds()).toHaveLength(1);
    await page.getByText('Mail from example.com is released').waitFor();
    // Whoever closes the page means it.
    await page.close({ runBeforeUnload: false });
    await until('the hold is released', async () => (await holds()).length === 0);
  });

  it('says at once that there is no network, and keeps what was filled in', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.getByRole('button', { name: 'Hold mail…' }).click();
    await page.getByLabel('From domain').fill('example.com');
    await page.getByLabel('Reason').fill('wrong price');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await page.getByRole('alert').getByText('The server does not answer').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('wrong price');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await holds()).toEqual([]);
  });

  it('sends again what failed for one cause, after it asked', async () => {
    for (const name of ['a', 'b']) await world.server.settled(await send(`${name}@strict.example`));
    const { page } = await openPage(browser);
    await page.goto(`${url}?view=causes`);
    const cause = page.getByRole('listitem').filter({ hasText: 'DMARC policy' });
    await cause.getByRole('button', { name: 'Resend all…' }).click();
    await page.getByText('2 recipients are queued again').waitFor();
    await page.getByRole('button', { name: 'Resend', exact: true }).click();
    await page.getByText('queued again').last().waitFor();
  });

  it('is a table only where the reasons have room beside the ages', async () => {
    const { page } = await openPage(browser, { viewport: { width: 1024, height: 768 } });
    await page.goto(url);
    await page.getByRole('list', { name: 'Sites' }).getByText('from example.com').first().waitFor();
    await page.setViewportSize({ width: 1200, height: 768 });
    await page.getByRole('columnheader', { name: 'Why' }).waitFor();
  });

  it('is read on a phone without scrolling sideways', async () => {
    const { page, errors } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(url);
    const list = page.getByRole('list', { name: 'Sites' });
    await list.getByRole('link', { name: 'slow.example' }).waitFor();
    const wide = () => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
    expect(await wide()).toBe(false);
    await list.getByRole('link', { name: 'slow.example' }).click();
    await page.getByRole('heading', { name: 'slow.example', level: 1 }).waitFor();
    await page.getByText('451 4.7.1 Greylisted').first().waitFor();
    expect(await wide()).toBe(false);
    expect(errors).toEqual([]);
  });
});
