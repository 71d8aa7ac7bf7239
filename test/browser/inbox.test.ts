/**
 * The inbox in a browser, before a real server: mail as it comes, the keys, reading, marking, deleting with a way back,
 * searching, on a desktop and on a phone; and a server that goes away and comes back.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fileScope, type Instance, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';
import { DESKTOP, hasBrowser, openBrowser, openPage, PHONE, setHidden } from './browser.ts';
import { SHOWN_MAILS } from './mails.ts';

const rows = (page: Page) => page.getByRole('list', { name: 'Captured mail' }).getByRole('link');
const subjects = async (page: Page) =>
  (await rows(page).allInnerTexts()).map((text) => text.replace(/^Unread:\s+/, 'Unread: ').split('\n')[0]);

describe.skipIf(!hasBrowser)('the inbox', () => {
  const scope = fileScope();
  let server: Instance;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    server = await startInstance(scope, { mode: 'dev' });
    browser = await openBrowser(scope);
    url = `${server.server.localUrl}/inbox`;
  });
  beforeEach(async () => {
    await server.call('DELETE', '/sandbox/messages');
  });

  it('says how to send the first mail, and shows it as it comes', async () => {
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Send the first mail').waitFor();
    const pasted = await page.locator('pre').first().innerText();
    const [port] = (await server.call('GET', '/me')).json.Submission;
    await page.getByText(`SMTP_PORT=${port.Port}`).waitFor();
    await promisify(execFile)('sh', ['-c', pasted]);
    await rows(page).first().waitFor();
    expect(await subjects(page)).toEqual(['Unread: It works']);
    expect(errors).toEqual([]);
  });

  it('is used by keys alone: through the list, read, select, delete and take back, search', async () => {
    for (const n of [1, 2, 3]) await server.send({ Subject: `Mail ${n}`, Tags: [`tag-${n}`] });
    const { page } = await openPage(browser);
    await page.goto(url);
    await until('three mails are listed', async () => (await rows(page).count()) === 3);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Mail 3' }).waitFor();
    await page.getByRole('definition').getByText('tag-3', { exact: true }).waitFor();
    await until('it is read', async () => (await subjects(page))[0] === 'Mail 3');
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Mail 2' }).waitFor();
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('#');
    await until('it is gone from the list', async () => (await rows(page).count()) === 2);
    await page.getByRole('button', { name: 'Undo' }).click();
    await until('it is back', async () => (await rows(page).count()) === 3);
    expect((await server.call('GET', '/sandbox/messages')).json.Items).toHaveLength(3);
    await page.keyboard.press('u');
    await until('the list has the address', () => page.url() === url);
    await page.keyboard.press('/');
    await page.keyboard.type('tag:tag-2');
    await expect.poll(() => page.url()).toContain('tag-2');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('1');
    await until('one is found', async () => (await rows(page).count()) === 1);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('tag:tag-1');
    // All typing is one step, however many pauses it has.
    await page.goBack();
    expect(page.url()).toBe(url);
    await page.getByRole('searchbox').fill('no such words');
    await page.getByText('Nothing found').waitFor();
    expect(await page.getByText('Choose a mail').count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys and search' }).waitFor();
  });

  it('marks as read for every tab, and back', async () => {
    await server.send({ Subject: 'Seen by all' });
    const one = await openPage(browser);
    await one.page.goto(url);
    await rows(one.page).first().click();
    await until('the store knows', async () => {
      const { Items } = (await server.call('GET', '/sandbox/messages')).json;
      return Items[0].SeenAt !== null;
    });
    const other = await openPage(browser);
    await other.page.goto(url);
    await until('another browser sees it', async () => (await subjects(other.page))[0] === 'Seen by all');
    await one.page.getByRole('button', { name: 'Mark as unread' }).click();
    await until('it is new again', async () => (await subjects(one.page))[0] === 'Unread: Seen by all');
  });

  it('leads the keyboard from Delete of the open mail to Undo, and back', async () => {
    for (const n of [1, 2]) await server.send({ Subject: `Mail ${n}` });
    const { page } = await openPage(browser);
    await page.goto(url);
    await until('both are listed', async () => (await rows(page).count()) === 2);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Mail 2' }).waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('main').getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Mail 1' }).waitFor();
    await page.locator('button:focus', { hasText: 'Undo' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('main button[aria-label=Delete]:focus').waitFor();
  });

  it('finds one of many inboxes, which stand in the order of their numbers', async () => {
    const Messages = Array.from({ length: 21 }, (_, n) => ({
      ...SHOWN_MAILS[0],
      To: [{ email: `user+test-${n}@example.net` }],
      Inbox: `test-${n}`,
    }));
    await server.call('POST', '/email/batch', { body: { Messages } });
    const { page } = await openPage(browser, { viewport: { width: 1440, height: 900 } });
    await page.goto(url);
    const inboxes = page.getByRole('navigation', { name: 'Inboxes' });
    await inboxes.getByRole('link', { name: 'test-20' }).waitFor();
    expect(
      (await inboxes.getByRole('link').allInnerTexts()).map((text) => text.split('\n')[0]).slice(0, 4),
    ).toEqual(['All mail', 'test-0', 'test-1', 'test-2']);
    await inboxes.getByRole('searchbox').fill('t-20');
    await expect.poll(() => inboxes.getByRole('link').count()).toBe(2);
  });

  it('marks and deletes a whole inbox, with a sign before the answer, in every tab', async () => {
    for (const n of [1, 2]) await server.send({ Subject: `Mail ${n}` });
    const { page } = await openPage(browser);
    await page.goto(url);
    const tab = await page.context().newPage();
    await tab.goto(url);
    for (const shown of [page, tab]) await shown.getByRole('link', { name: 'All mail 2 unread' }).waitFor();
    for (const key of ['j', 'x']) await page.keyboard.press(key);
    await page.getByText('1 selected').waitFor();
    const gone = (await server.call('GET', '/sandbox/messages')).json.Items[0].ID;
    await server.call('DELETE', `/sandbox/messages/${gone}`);
    await page.evaluate(`new BroadcastChannel('postrider.captures').postMessage('changed')`);
    const more = page.getByRole('button', { name: 'More', exact: true });
    await more.waitFor();
    const held: (() => Promise<void>)[] = [];
    await page.route(/\/sandbox\/messages(\?|$)/, async (route) => {
      if (route.request().method() !== 'GET') await new Promise<void>((go) => held.push(async () => go()));
      await route.continue();
    });
    const answer = () =>
      expect
        .poll(() => held.length)
        .toBe(1)
        .then(() => held.pop()?.());
    await more.click();
    await page.getByRole('menuitem', { name: 'Mark all as read' }).click();
    await expect.poll(() => subjects(page)).toEqual(['Mail 1']);
    await answer();
    await expect.poll(() => subjects(tab)).toEqual(['Mail 1']);
    for (const shown of [page, tab])
      await shown.getByRole('link', { name: 'All mail', exact: true }).waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Delete all…' }).click();
    const yes = page.getByRole('button', { name: 'Delete all' });
    await yes.click();
    await expect.poll(() => yes.getAttribute('aria-disabled')).toBe('true');
    await answer();
    await page.getByText('1 mail deleted').waitFor();
    await expect.poll(async () => (await rows(page).count()) + (await rows(tab).count())).toBe(0);
  });

  it('deletes all that was selected when the page is left', async () => {
    for (const n of [1, 2, 3]) await server.send({ Subject: `To be deleted ${n}` });
    const { page } = await openPage(browser);
    await page.goto(url);
    await expect.poll(() => rows(page).count()).toBe(3);
    for (const key of ['j', 'x', 'j', 'x', 'j', 'x']) await page.keyboard.press(key);
    await page.getByText('3 selected').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).first().click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.goto('about:blank');
    await until(
      'it is gone',
      async () => (await server.call('GET', '/sandbox/messages')).json.Items.length === 0,
    );
  });

  it('shows of a selection again only what could not be deleted', async () => {
    for (const n of [1, 2, 3]) await server.send({ Subject: `Mail ${n}` });
    const [stays] = (await server.call('GET', '/sandbox/messages')).json.Items;
    const { page } = await openPage(browser);
    await page.clock.install();
    await page.goto(url);
    await expect.poll(() => rows(page).count()).toBe(3);
    await page.route(`**/sandbox/messages/${stays.ID}`, (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({
            status: 500,
            contentType: 'application/problem+json',
            body: '{"detail":"The disk is full"}',
          })
        : route.continue(),
    );
    for (const key of ['j', 'x', 'j', 'x', 'j', 'x', '#']) await page.keyboard.press(key);
    await page.getByText('3 mails deleted').waitFor();
    await page.clock.runFor(10_000);
    await page.getByText('Not done: The disk is full').waitFor();
    expect(await rows(page).allInnerTexts()).toEqual([expect.stringContaining('Mail 3')]);
    expect((await server.call('GET', '/sandbox/messages')).json.Items).toHaveLength(1);
  });

  it('shows all of a mail: preview, text, source, headers, links, files, checks, test code', async () => {
    await server.call('POST', '/email', { body: SHOWN_MAILS[2] });
    const { page, errors, requests } = await openPage(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(`${url}?q=subject:order`);
    await rows(page).first().click();
    const frame = page.frameLocator('iframe');
    await frame.getByText('On its way').waitFor();
    for (const [view, words] of [
      ['Text', 'Your order leaves today'],
      ['Source', 'multipart/alternative'],
      ['Headers', 'MIME-Version'],
      ['Links', 'https://example.com/track/4711'],
      ['Attachments', 'delivery-note.pdf'],
      ['Checks', '1 link leads to this machine'],
      ['Test code', 'sandbox wait --to ada@example.net'],
    ] as const) {
      await page.getByRole('tab', { name: view }).click();
      await page.getByRole('tabpanel', { name: view }).getByText(words).first().waitFor();
    }
    await page.getByRole('tab', { name: 'Checks' }).click();
    await page.getByText('SpamAssassin is not configured on this server').waitFor();
    await page.getByRole('heading', { name: 'What mail programs do not show' }).waitFor();
    await page.getByRole('link', { name: 'border-radius' }).waitFor();
    expect(errors).toEqual([]);
    expect(requests.filter((one) => !one.startsWith(server.server.localUrl))).toEqual([]);
    // Whoever gets the link did not search for it.
    await page.getByRole('button', { name: 'More about this mail' }).click();
    await page.getByRole('menuitem', { name: 'Copy link' }).click();
    const [address, words] = page.url().split('?');
    expect(words).toContain('order');
    await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(address);
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByRole('alert').getByText('stays in the sandbox').waitFor();
  });

  it('lets the next mail to the same address bounce, once, and takes that back', async () => {
    const outcome = async () => {
      const id = await server.send({ To: [{ email: 'eve@example.net' }] });
      await server.settled(id);
      return (await server.call('GET', `/email/${id}`)).json.Recipients[0].Status;
    };
    expect(await outcome()).toBe('Delivered');
    const { page, errors } = await openPage(browser);
    await page.goto(url);
    await rows(page).first().click();
    const set = async (result: string, words: string) => {
      await page.getByRole('button', { name: 'More about this mail' }).click();
      await page.getByRole('menuitem', { name: 'Another result next time' }).click();
      await page.getByRole('dialog').getByLabel('What happens to it').selectOption(result);
      await page.getByRole('dialog').getByRole('button', { name: 'Set the result' }).click();
      await page.getByText(`The next mail to eve@example.net: ${words}`).waitFor();
    };
    await set('Bounce', 'it bounces');
    expect([await outcome(), await outcome()]).toEqual(['Bounced', 'Delivered']);
    await server.call('DELETE', '/sandbox/rules');
    await set('Fail', 'it is given up');
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await until('it is taken back', async () => {
      const { Items } = (await server.call('GET', '/sandbox/rules')).json;
      return Items.length === 0;
    });
    expect(errors).toEqual([]);
  });

  it('is one pane after the other on a phone, nothing wider than it', async () => {
    await server.send({ Subject: `On a phone ${'Donaudampfschifffahrt'.repeat(9)}` });
    const { page } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(url);
    await rows(page).first().tap();
    await page.getByRole('tab', { name: 'Preview' }).waitFor();
    await expect.poll(() => rows(page).count()).toBe(0);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE.width);
    await page.getByRole('button', { name: 'Back to the list' }).tap();
    await rows(page).first().waitFor();
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  it('begins a long subject that is written from right to left at its right, read or not', async () => {
    await server.send({ Subject: `مرحبا ${'بالعالم '.repeat(30)}` });
    const { page } = await openPage(browser, { viewport: PHONE, hasTouch: true });
    await page.goto(url);
    const direction = () =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('[aria-label="Captured mail"] [dir=auto]')).direction`,
      );
    await rows(page).first().getByText('Unread:').waitFor({ state: 'attached' });
    expect(await direction()).toBe('rtl');
    await rows(page).first().tap();
    await page.getByRole('button', { name: 'Back to the list' }).tap();
    await expect.poll(direction).toBe('rtl');
  });

  it('does not move what is read while mail pours in above', async () => {
    const mails = Array.from({ length: 60 }, (_, n) => ({ ...SHOWN_MAILS[0], Subject: `Old ${n}` }));
    await server.call('POST', '/email/batch', { body: { Messages: mails } });
    const { page } = await openPage(browser);
    await page.goto(url);
    await until('they are listed', async () => (await rows(page).count()) > 10);
    await page.mouse.move(400, 400);
    await page.mouse.wheel(0, 1_500);
    const place = async () => (await page.getByRole('link', { name: 'Old 30' }).boundingBox())?.y;
    await until('the place is reached', async () => (await place()) !== undefined);
    const before = await place();
    await server.call('POST', '/email/batch', {
      body: { Messages: mails.slice(0, 20).map((mail) => ({ ...mail, Subject: 'New' })) },
    });
    await page.getByRole('button', { name: '20 new' }).waitFor();
    expect(await place()).toBe(before);
    await page.getByRole('button', { name: '20 new' }).click();
    await until('the top is shown', async () => (await subjects(page))[0] === 'Unread: New');
  });

  it('holds only the rows in sight, however much there is, down to the oldest', async () => {
    for (let n = 0; n < 5; n += 1) {
      const mails = Array.from({ length: 100 }, (_, m) => ({
        ...SHOWN_MAILS[0],
        Subject: `Number ${100 * n + m}`,
      }));
      await server.call('POST', '/email/batch', { body: { Messages: mails } });
    }
    await until('all are captured', async () => {
      const { Items } = (await server.call('GET', '/sandbox/inboxes')).json;
      return Items[0]?.Count === 500;
    });
    const { page } = await openPage(browser);
    await page.goto(url);
    await rows(page).first().waitFor();
    const atEnd = `(() => {
      const list = document.querySelector('ul[aria-label="Captured mail"]');
      list.parentElement.scrollTo(0, list.parentElement.scrollHeight);
      return list.clientHeight === 500 * 64;
    })()`;
    await until('the end is reached', () => page.evaluate<boolean>(atEnd));
    await page.getByRole('link', { name: /Number 0 / }).waitFor();
    await page.locator('li[aria-posinset="500"][aria-setsize="500"]', { hasText: 'Number 0' }).waitFor();
    await expect.poll(() => rows(page).count()).toBeLessThan(40);

    // A list keeps its position, also if an open mail was shown in its place.
    const phone = (await openPage(browser, { viewport: PHONE })).page;
    const place = () =>
      phone.evaluate<number>(`document.querySelector('ul[aria-label]')?.parentElement.scrollTop ?? -1`);
    await phone.goto(url);
    await rows(phone).first().waitFor();
    // The list need not have the focus.
    await phone.keyboard.press('PageDown');
    await expect.poll(place).toBeGreaterThan(300);
    const before = await place();
    await rows(phone).nth(12).click();
    await phone.getByRole('button', { name: 'Back to the list' }).click();
    await expect.poll(place).toBe(before);

    // The rows of the table are lower than those beside a message: the open one stays in sight.
    await page.goto(`${new URL(url).origin}/messages`);
    await page.getByRole('link', { name: /Number 484/ }).click();
    await page.getByRole('heading', { name: 'Number 484' }).waitFor();
    const isInSight = async (subject: string) => {
      const { y = 0, height = 0 } = (await page.getByRole('link', { name: subject }).boundingBox()) ?? {};
      return y > 80 && y + height <= DESKTOP.height;
    };
    await expect.poll(() => isInSight('Number 484')).toBe(true);
    await page.keyboard.press('u');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Number 483' }).waitFor();
  });

  it('says that it may not be read any more, and goes on when it may', async () => {
    const { page } = await openPage(browser);
    await page.goto(url);
    await page.getByText('Send the first mail').waitFor();
    const refuse = async () => {
      await page.route('**/sandbox/stream', (route) =>
        route.fulfill({
          status: 403,
          contentType: 'application/problem+json',
          body: '{"detail":"This needs email:read"}',
        }),
      );
      await setHidden(page, true);
      await setHidden(page, false);
      await page.getByRole('alert').getByText('This needs email:read').waitFor();
      await page.unrouteAll();
      await server.send({ Subject: 'Meanwhile' });
      await page.getByRole('button', { name: 'Try again' }).click();
      await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    };
    await refuse();
    await rows(page).first().waitFor();
    await refuse();
    await server.send({ Subject: 'As it comes' });
    await expect.poll(() => rows(page).count()).toBe(3);
  });

  it('says that the server is gone, and heals when it is back', { timeout: 180_000 }, async () => {
    const folder = await temporaryFolder(scope);
    const first = await startInstance(scope, { mode: 'dev', folder });
    const address = new URL(first.server.localUrl).host;
    await first.send({ Subject: 'Before' });
    const { page } = await openPage(browser);
    await page.goto(`${first.server.localUrl}/inbox`);
    await rows(page).first().waitFor();
    await first.stop();
    await page.getByRole('alert').getByText('The server does not answer').waitFor();
    expect(await subjects(page)).toEqual(['Unread: Before']);
    const second = await startInstance(scope, { mode: 'dev', folder, settings: { http: address } });
    await second.send({ Subject: 'After' });
    await until('what was missed is there', async () => (await rows(page).count()) === 2);
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });
});
